-- What the balances beside the lines of statements say, by account and currency: whether lines lack
-- between them. A file is read from the oldest line to the newest. Lines whose balances lead from one
-- to the next are a run; a run goes on where another one ended, be it in another file. Several wallets
-- or accounts of a bank may be given at once: each has its own balances, and a run that begins before
-- any other one ended is one of them. Files without balances say nothing.
CREATE TEMP TABLE balances AS
WITH in_period AS (
    SELECT * FROM moves WHERE is_completed AND day BETWEEN {first_day} AND {last_day}
),

-- A file says its lines from the oldest to the newest, or the other way round.
directions AS (
    SELECT
        input,
        account,
        currency,
        CASE
            WHEN min(moved_at) FILTER (WHERE line_no = first_line) <= min(moved_at) FILTER (WHERE line_no = last_line)
                THEN 1
            ELSE -1
        END AS direction
    FROM (
        SELECT
            m.input,
            m.account,
            m.currency,
            m.line_no,
            m.at AS moved_at,
            min(m.line_no) OVER (PARTITION BY m.input, m.account, m.currency) AS first_line,
            max(m.line_no) OVER (PARTITION BY m.input, m.account, m.currency) AS last_line
        FROM moves AS m
    ) AS numbered
    GROUP BY input, account, currency
),

summed AS (
    SELECT
        m.input,
        m.account,
        m.currency,
        m.leg,
        m.at AS moved_at,
        m.day,
        m.balance,
        d.direction * m.line_no AS place,
        sum(m.amount) OVER in_file AS moved,
        sum(coalesce(m.fee, 0)) OVER in_file AS fees
    FROM in_period AS m
    INNER JOIN directions AS d
        ON d.input = m.input AND d.account = m.account AND d.currency = m.currency
    WINDOW in_file AS (
        PARTITION BY m.input, m.account, m.currency ORDER BY d.direction * m.line_no
        ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
    )
),

steps AS (
    SELECT
        *,
        balance - lag(balance) OVER in_file AS step,
        moved - lag(moved) OVER in_file AS moved_step,
        fees - lag(fees) OVER in_file AS fees_step,
        row_number() OVER in_file = 1 AS is_first
    FROM summed
    WHERE balance IS NOT NULL
    WINDOW in_file AS (PARTITION BY input, account, currency ORDER BY place)
),

-- The fee beside a line is taken from the balance too, or it is not: most steps of all files say it.
ways AS (
    SELECT
        account,
        currency,
        count(*) FILTER (WHERE fees_step <> 0 AND step = moved_step - fees_step)
        > count(*) FILTER (WHERE fees_step <> 0 AND step = moved_step) AS has_fees
    FROM steps
    GROUP BY account, currency
),

placed AS (
    SELECT
        s.input,
        s.account,
        s.currency,
        s.leg,
        s.moved_at,
        s.day,
        s.place,
        s.balance,
        s.step,
        s.is_first,
        s.moved,
        CASE WHEN w.has_fees THEN s.fees ELSE 0 END AS fees,
        CASE WHEN s.is_first THEN s.moved ELSE s.moved_step END
        - CASE
            WHEN NOT w.has_fees THEN 0
            WHEN s.is_first THEN s.fees
            ELSE s.fees_step
        END AS said
    FROM steps AS s
    INNER JOIN ways AS w ON w.account = s.account AND w.currency = s.currency
),

marked AS (
    SELECT *, CASE WHEN is_first OR step <> said THEN 1 ELSE 0 END AS begins_run
    FROM placed
),

numbered AS (
    SELECT
        *,
        sum(begins_run) OVER (
            PARTITION BY input, account, currency ORDER BY place
            ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
        ) AS run
    FROM marked
),

ends_of_runs AS (
    SELECT *, max(place) OVER (PARTITION BY input, account, currency, run) AS last_place
    FROM numbered
),

runs AS (
    SELECT
        account,
        currency,
        input,
        run,
        leg,
        min(moved_at) AS begins,
        max(moved_at) AS ends,
        min(day) AS first_day,
        max(day) AS last_day,
        sum(CASE WHEN begins_run = 1 THEN balance - said ELSE 0 END) AS opening,
        sum(CASE WHEN place = last_place THEN balance ELSE 0 END) AS closing
    FROM ends_of_runs
    GROUP BY account, currency, input, run, leg
),

sums_said AS (
    SELECT account, currency, sum(moved) AS moved, sum(fees) AS fees
    FROM (
        SELECT
            account,
            currency,
            moved,
            fees,
            row_number() OVER (PARTITION BY input, account, currency ORDER BY place DESC) AS place_back
        FROM placed
    ) AS last_lines
    WHERE place_back = 1
    GROUP BY account, currency
),

-- Each end leads to one beginning of the same balance, the latest to the latest. A run that comes to
-- nothing goes on with itself: it counts only where no other one has its balance.
edges AS (
    SELECT account, currency, input, run, leg, 0 AS is_end, begins AS moment, first_day, last_day, opening AS balance
    FROM runs
    WHERE opening <> closing
    UNION ALL
    SELECT account, currency, input, run, leg, 1 AS is_end, ends AS moment, first_day, last_day, closing AS balance
    FROM runs
    WHERE opening <> closing
),

ranked AS (
    SELECT
        *,
        row_number() OVER (
            PARTITION BY account, currency, balance, is_end
            ORDER BY moment DESC, input DESC, run DESC
        ) AS place_back,
        sum(1 - is_end) OVER (PARTITION BY account, currency, balance) AS starts,
        sum(is_end) OVER (PARTITION BY account, currency, balance) AS stops
    FROM edges
),

still AS (
    SELECT
        r.*,
        row_number() OVER (
            PARTITION BY r.account, r.currency, r.opening ORDER BY r.begins, r.input, r.run
        ) AS place
    FROM runs AS r
    LEFT JOIN (SELECT DISTINCT account, currency, balance FROM edges) AS e
        ON e.account = r.account AND e.currency = r.currency AND e.balance = r.opening
    WHERE r.opening = r.closing AND e.balance IS NULL
),

-- Where nothing goes on exactly, a run goes on with what ended last before it began: lines lack.
loose AS (
    SELECT account, currency, input, run, leg, is_end, moment, first_day, last_day, balance
    FROM ranked
    WHERE place_back > CASE WHEN is_end = 1 THEN starts ELSE stops END
    UNION ALL
    SELECT account, currency, input, run, leg, 0 AS is_end, begins AS moment, first_day, last_day, opening
    FROM still
    WHERE place = 1
    UNION ALL
    SELECT account, currency, input, run, leg, 1 AS is_end, ends AS moment, first_day, last_day, closing
    FROM still
    WHERE place = 1
),

in_order AS (
    SELECT
        *,
        row_number() OVER (
            PARTITION BY account, currency ORDER BY moment, input, run, is_end
        ) AS place
    FROM loose
),

-- Of its own file first.
in_file AS (
    SELECT
        *,
        max(CASE WHEN is_end = 1 THEN place END) OVER (
            PARTITION BY account, currency, input ORDER BY place
            ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
        ) AS end_in_file
    FROM in_order
),

left_over AS (
    SELECT f.*
    FROM in_file AS f
    LEFT JOIN (
        SELECT DISTINCT account, currency, end_in_file FROM in_file WHERE is_end = 0
    ) AS u
        ON u.account = f.account AND u.currency = f.currency AND u.end_in_file = f.place
    WHERE CASE WHEN f.is_end = 1 THEN u.end_in_file ELSE f.end_in_file END IS NULL
),

across_files AS (
    SELECT
        *,
        max(CASE WHEN is_end = 1 THEN place END) OVER (
            PARTITION BY account, currency ORDER BY place
            ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
        ) AS end_before
    FROM left_over
),

-- Two statements of one day alone are of two wallets or accounts; a bank writes those into one file.
starts AS (
    SELECT
        s.account,
        s.currency,
        s.balance,
        CASE
            WHEN (s.leg = 'bank' OR s.end_in_file IS NULL)
                AND e.first_day = s.last_day
                AND e.last_day = s.last_day
                AND s.first_day = s.last_day
                THEN NULL
            ELSE e.balance
        END AS balance_before
    FROM in_file AS s
    LEFT JOIN across_files AS a
        ON a.account = s.account AND a.currency = s.currency AND a.place = s.place
    LEFT JOIN in_order AS e
        ON e.account = s.account
        AND e.currency = s.currency
        AND e.place = coalesce(s.end_in_file, a.end_before)
    WHERE s.is_end = 0
)

SELECT
    m.account,
    m.currency,
    m.moved::BIGINT AS moved,
    m.fees::BIGINT AS fees,
    coalesce(s.opening, 0)::BIGINT AS opening,
    coalesce(s.denied, 0)::BIGINT AS denied
FROM sums_said AS m
LEFT JOIN (
    SELECT
        account,
        currency,
        sum(CASE WHEN balance_before IS NULL THEN balance ELSE 0 END) AS opening,
        sum(balance - balance_before) AS denied
    FROM starts
    GROUP BY account, currency
) AS s
    ON s.account = m.account AND s.currency = m.currency;
