-- Which days the lines of a settlement statement pay. A provider that pays n days later dates its
-- lines by the payout: n is the number of days, up to those agreed, with which most days agree to
-- the shilling; where several do the one of the close before, else the smallest. Where none does, as
-- in a night without a payment, it is that of the close before. A line that then still differs pays
-- for its day and all days before it that have no line, back to some day, where exactly that sum was
-- earned: it is split into those days. A statement with a line for each collection needs none of this.
-- A line below zero takes something back: it pays no day.

-- What the provider itself charges pays nothing: see `charges`.
CREATE TEMP VIEW payments AS
SELECT * FROM statement WHERE kind = 'payment';

-- A statement that names no channel is of all of them together.
CREATE TEMP VIEW debts AS
SELECT
    w.business_day::DATE AS day,
    CASE WHEN g.by_channel THEN coalesce(w.channel, '') ELSE '' END AS channel,
    w.currency,
    w.collection_id,
    w.net
FROM owed AS w
CROSS JOIN granularity AS g;

CREATE TEMP VIEW earners AS
SELECT
    c.id,
    c.business_day,
    CASE WHEN g.by_channel THEN coalesce(c.channel, '') ELSE '' END AS channel,
    c.currency,
    c.amount,
    c.fee,
    g.item
FROM collections AS c
CROSS JOIN granularity AS g
ANTI JOIN paid_by_operators AS o ON o.channel = c.channel AND o.currency = c.currency
WHERE c.status IN {paid} AND c.business_day IS NOT NULL;

-- What an earlier period left open of a day, where lines are for collections of a day as a whole.
CREATE TEMP VIEW days_open AS
SELECT w.day, w.channel, w.currency, sum(w.net)::BIGINT AS net
FROM debts AS w
CROSS JOIN granularity AS g
WHERE w.day < {first_day} AND (w.collection_id IS NULL OR NOT g.item)
GROUP BY w.day, w.channel, w.currency;

CREATE TEMP VIEW successes AS
SELECT c.* EXCLUDE (item), c.item AND w.day IS NULL AS item
FROM earners AS c
LEFT JOIN days_open AS w
    ON w.day = c.business_day::DATE AND w.channel = c.channel AND w.currency = c.currency;

-- The lines that an earlier period read.
CREATE TEMP VIEW read_again AS
SELECT s.line_no
FROM statement AS s
INNER JOIN read_before AS k
    ON k.business_day = s.business_day
    AND k.currency = s.currency
    AND k.net = s.net
    AND k.channel = coalesce(s.channel, '')
    AND k.batch_id = coalesce(s.batch_id, '')
    AND k.collection_id = coalesce(s.collection_id, '');

-- What takes back of a collection as much as the books give its order back is that refund: each of
-- their lines is one's. Those before the period may have been an earlier line's.
CREATE TEMP TABLE refunds AS
WITH orders AS (
    SELECT id, currency, lower(trim(reference)) AS reference_key FROM collections
    UNION
    SELECT id, currency, lower(trim(reference)) AS reference_key FROM outside
),

backs AS (
    SELECT
        s.line_no,
        o.currency,
        o.reference_key,
        -abs(coalesce(nullif(s.gross, 0), s.net)) AS amount
    FROM payments AS s
    INNER JOIN orders AS o ON o.id = s.collection_id AND o.currency = s.currency
    ANTI JOIN read_again AS k ON k.line_no = s.line_no
    WHERE s.net < 0
),

counted AS (
    SELECT
        *,
        row_number() OVER (PARTITION BY reference_key, currency, amount ORDER BY line_no) AS place
    FROM backs
),

before AS (
    SELECT o.reference_key, k.currency, count(*) AS rows
    FROM read_before AS k
    INNER JOIN orders AS o ON o.id = k.collection_id AND o.currency = k.currency
    WHERE k.net < 0
    GROUP BY o.reference_key, k.currency
)

SELECT b.line_no
FROM counted AS b
INNER JOIN refunds_booked AS r
    ON r.reference_key = b.reference_key
    AND r.currency = b.currency
    AND r.amount = b.amount
LEFT JOIN before AS w ON w.reference_key = b.reference_key AND w.currency = b.currency
WHERE b.place <= r.rows - least(r.rows_before, coalesce(w.rows, 0));

-- A line for a collection of such a day is for the day.
CREATE TEMP TABLE paid_lines AS
SELECT
    s.line_no,
    s.batch_id,
    s.collection_id AS named,
    CASE WHEN c.id IS NULL THEN s.collection_id END AS collection_id,
    coalesce(c.business_day, s.business_day) AS business_day,
    coalesce(c.channel, s.channel, '') AS channel,
    s.currency,
    s.gross,
    s.fee,
    s.net,
    s.count,
    s.net < 0 AS is_back,
    r.line_no IS NOT NULL AS is_refund,
    k.line_no IS NOT NULL AS is_again
FROM payments AS s
LEFT JOIN refunds AS r ON r.line_no = s.line_no
LEFT JOIN successes AS c ON c.id = s.collection_id AND c.currency = s.currency AND NOT c.item
LEFT JOIN read_again AS k ON k.line_no = s.line_no;

CREATE TEMP TABLE days_earned AS
SELECT
    c.business_day::DATE AS day,
    c.channel,
    c.currency,
    sum(c.amount)::BIGINT AS gross,
    sum(c.fee)::BIGINT AS fee,
    sum(c.amount - c.fee)::BIGINT AS net
FROM successes AS c
CROSS JOIN granularity AS g
WHERE NOT g.item
GROUP BY c.business_day::DATE, c.channel, c.currency;

-- What an earlier period has settled, or was paid too much, waits for no line any more.
CREATE TEMP VIEW days_waiting AS
SELECT e.*
FROM days_earned AS e
WHERE e.day >= {first_day}
    OR NOT EXISTS (SELECT 1 FROM settled_before AS b WHERE b.channel IN ('', e.channel))
    OR EXISTS (
        SELECT 1
        FROM days_open AS w
        WHERE w.day = e.day
            AND w.currency = e.currency
            AND w.channel IN ('', e.channel)
            AND w.net > 0
    );

CREATE TEMP TABLE days_paid AS
SELECT s.business_day::DATE AS day, s.channel, s.currency, sum(s.net)::BIGINT AS net
FROM paid_lines AS s
WHERE NOT s.is_back
GROUP BY s.business_day::DATE, s.channel, s.currency;

CREATE TEMP TABLE shifts AS
WITH agreeing AS (
    SELECT p.channel, p.currency, date_diff('day', e.day, p.day) AS days, count(*) AS many
    FROM days_paid AS p
    INNER JOIN days_waiting AS e ON e.channel = p.channel AND e.currency = p.currency
    LEFT JOIN settle_days_of AS d ON d.channel = p.channel
    WHERE abs(p.net - e.net) <= {amount_tolerance}
        AND date_diff('day', e.day, p.day) BETWEEN 0 AND coalesce(d.days, {settle_days})
    GROUP BY p.channel, p.currency, date_diff('day', e.day, p.day)
),

known AS (
    SELECT a.channel, a.currency, a.days, a.many, b.days IS NOT NULL AS as_before
    FROM agreeing AS a
    LEFT JOIN dated_before AS b ON b.channel = a.channel AND b.days = a.days
    UNION ALL
    SELECT DISTINCT p.channel, p.currency, b.days, 0::BIGINT AS many, TRUE AS as_before
    FROM days_paid AS p
    INNER JOIN dated_before AS b ON b.channel = p.channel
    LEFT JOIN settle_days_of AS d ON d.channel = p.channel
    WHERE b.days <= coalesce(d.days, {settle_days})
),

ranked AS (
    SELECT
        *,
        row_number() OVER (
            PARTITION BY channel, currency ORDER BY many DESC, as_before DESC, days
        ) AS place
    FROM known
)

SELECT channel, currency, days FROM ranked WHERE place = 1;

CREATE TEMP TABLE shifted AS
SELECT
    s.line_no,
    s.batch_id,
    s.named,
    s.collection_id,
    CASE
        WHEN f.days IS NULL OR s.is_back THEN s.business_day
        ELSE s.business_day - f.days * INTERVAL 1 DAY
    END AS business_day,
    s.channel,
    s.currency,
    s.gross,
    s.fee,
    s.net,
    s.count,
    s.is_back,
    s.is_refund,
    s.is_again
FROM paid_lines AS s
LEFT JOIN shifts AS f ON f.channel = s.channel AND f.currency = s.currency;

-- Days with one line, which is not what was earned on that day, and since when no line was paid.
CREATE TEMP TABLE open_lines AS
WITH days AS (
    SELECT
        business_day::DATE AS day, channel, currency, count(*) AS lines, sum(net)::BIGINT AS net,
        min(line_no) AS line_no
    FROM shifted
    WHERE collection_id IS NULL AND NOT is_back
    GROUP BY business_day::DATE, channel, currency
),

followed AS (
    SELECT
        *,
        lag(day) OVER (PARTITION BY channel, currency ORDER BY day) AS day_before
    FROM days
)

SELECT f.*
FROM followed AS f
LEFT JOIN days_earned AS e
    ON e.day = f.day AND e.channel = f.channel AND e.currency = f.currency
WHERE f.lines = 1 AND coalesce(abs(f.net - e.net) > {amount_tolerance}, TRUE);

CREATE TEMP TABLE split_days AS
WITH runs AS (
    SELECT
        l.line_no,
        l.net AS net_line,
        l.day AS day_line,
        e.day,
        e.gross,
        e.fee,
        e.net,
        sum(e.net) OVER (
            PARTITION BY l.line_no, l.channel, l.currency ORDER BY e.day DESC
        )::BIGINT AS net_since
    FROM open_lines AS l
    INNER JOIN days_waiting AS e
        ON e.channel = l.channel
        AND e.currency = l.currency
        AND e.day <= l.day
        AND (l.day_before IS NULL OR e.day > l.day_before)
),

found AS (
    SELECT r.line_no, max(r.day) AS from_day
    FROM runs AS r
    WHERE r.day < r.day_line AND abs(r.net_line - r.net_since) <= {amount_tolerance}
    GROUP BY r.line_no
)

SELECT
    r.line_no,
    r.day,
    r.gross,
    r.fee,
    r.net,
    r.day = max(r.day) OVER (PARTITION BY r.line_no) AS is_last
FROM runs AS r
INNER JOIN found AS f ON f.line_no = r.line_no AND r.day >= f.from_day;

-- The days before the last take what they earned; the last one takes what is left of the line.
CREATE TEMP TABLE placed AS
WITH before AS (
    SELECT
        line_no,
        sum(CASE WHEN is_last THEN 0 ELSE gross END)::BIGINT AS gross,
        sum(CASE WHEN is_last THEN 0 ELSE fee END)::BIGINT AS fee,
        sum(CASE WHEN is_last THEN 0 ELSE net END)::BIGINT AS net
    FROM split_days
    GROUP BY line_no
)

SELECT s.*, NULL::VARCHAR AS group_key, 1 AS lines
FROM shifted AS s
ANTI JOIN split_days AS d ON d.line_no = s.line_no
UNION ALL
SELECT
    s.line_no,
    s.batch_id,
    s.named,
    s.collection_id,
    d.day::TIMESTAMP AS business_day,
    s.channel,
    s.currency,
    CASE WHEN d.is_last THEN s.gross - b.gross WHEN s.gross IS NOT NULL THEN d.gross END AS gross,
    CASE WHEN d.is_last THEN s.fee - b.fee WHEN s.fee IS NOT NULL THEN d.fee END AS fee,
    CASE WHEN d.is_last THEN s.net - b.net ELSE d.net END AS net,
    NULL::BIGINT AS count,
    s.is_back,
    s.is_refund,
    s.is_again,
    'line ' || s.line_no AS group_key,
    CASE WHEN d.is_last THEN 1 ELSE 0 END AS lines
FROM shifted AS s
INNER JOIN split_days AS d ON d.line_no = s.line_no
INNER JOIN before AS b ON b.line_no = s.line_no;
