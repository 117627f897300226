-- Which line of the bank's statements is which payout: by the receipt or batch that the line names,
-- by equal amounts in the order of their days, then by exact sums. Each pass works on what the
-- earlier ones left; what fits more than one way is not matched.
CREATE TEMP TABLE moves AS
SELECT
    row_number() OVER (
        ORDER BY m.input, m.line_no, m.at, m.receipt, m.kind, m.amount
    ) AS move,
    m.*,
    '' AS account,
    m.business_day::DATE AS day,
    m.status = 'completed' AS is_completed,
    m.status = 'completed'
    AND m.receipt IS NOT NULL
    AND row_number() OVER (
        PARTITION BY
            m.currency, m.receipt, m.kind, m.status, m.amount, m.business_day, m.at, m.balance,
            m.details
        ORDER BY m.input, m.line_no
    ) > 1 AS is_copied,
    ' ' || trim(
        regexp_replace(
            upper(concat_ws(' ', m.details, m.reference, m.receipt)), '[^A-Z0-9]+', ' ', 'g'
        )
    ) || ' ' AS narrative
FROM movements AS m
WHERE m.leg = 'bank';

CREATE TEMP TABLE credits AS
SELECT *
FROM moves
WHERE is_completed
    AND NOT is_copied
    AND amount > 0
    AND kind IN ('payout', 'payment', 'other');

-- The payouts of the operator's statements; of a channel without any, the settlement statement's
-- batches, or its days where a line has no batch.
CREATE TEMP TABLE payouts AS
WITH of_operator AS (
    SELECT DISTINCT
        m.channel, m.currency, m.business_day::DATE AS day, m.receipt, m.reference, m.amount,
        m.at,
        CASE WHEN m.receipt IS NULL THEN 'line ' || m.line_no || ' of ' || m.input END AS line
    FROM movements AS m
    WHERE m.leg = 'operator' AND m.kind = 'payout' AND m.status = 'completed'
),

of_batches AS (
    SELECT
        s.channel,
        s.currency,
        -- Lines of collections may say no day.
        coalesce(max(s.business_day)::DATE, {last_day}) AS day,
        s.batch_id,
        sum(s.net)::BIGINT AS amount
    FROM statement AS s
    WHERE NOT EXISTS (
        SELECT 1
        FROM of_operator AS o
        WHERE coalesce(o.channel, '') = coalesce(s.channel, '') AND o.currency = s.currency
    )
    GROUP BY
        s.channel,
        s.currency,
        s.batch_id,
        CASE WHEN s.batch_id IS NULL THEN s.business_day END
),

listed AS (
    SELECT
        'operator' AS source, channel, currency, day, coalesce(receipt, line) AS payout,
        receipt AS key, reference AS second_key, -amount AS amount
    FROM of_operator
    UNION ALL
    SELECT
        'statement' AS source, channel, currency, day,
        coalesce(batch_id, concat_ws(' ', channel, day::VARCHAR)) AS payout, batch_id AS key,
        NULL AS second_key, amount
    FROM of_batches
)

SELECT
    row_number() OVER (ORDER BY source, day, channel, currency, payout, amount) AS id,
    listed.*
FROM listed;

-- A key stands in a narrative as a word of its own, in any case; of fewer than four characters it
-- would stand there by chance.
CREATE TEMP TABLE named AS
WITH keys AS (
    SELECT id, currency, key FROM payouts WHERE length(key) >= 4
    UNION
    SELECT id, currency, second_key AS key FROM payouts WHERE length(second_key) >= 4
),

words AS (
    SELECT
        id, currency, ' ' || trim(regexp_replace(upper(key), '[^A-Z0-9]+', ' ', 'g')) || ' ' AS word
    FROM keys
),

edges AS (
    SELECT DISTINCT c.move, w.id
    FROM credits AS c
    INNER JOIN words AS w ON w.currency = c.currency AND contains(c.narrative, w.word)
)

SELECT
    e.move,
    e.id,
    count(*) OVER (PARTITION BY e.move) AS payouts,
    count(*) OVER (PARTITION BY e.id) AS credits,
    row_number() OVER (PARTITION BY e.id ORDER BY c.day, c.move) AS place,
    c.amount AS amount_bank,
    p.amount AS amount_payout
FROM edges AS e
INNER JOIN credits AS c ON c.move = e.move
INNER JOIN payouts AS p ON p.id = e.id;

-- One payout that is named by several credits: where the first one alone pays it, the others pay it
-- once more.
CREATE TEMP TABLE paid_at_once AS
SELECT DISTINCT n.id
FROM named AS n
WHERE n.credits > 1
    AND n.place = 1
    AND abs(n.amount_bank - n.amount_payout) <= {amount_tolerance};

CREATE TEMP TABLE seconds AS
SELECT n.move
FROM named AS n
SEMI JOIN paid_at_once AS o ON o.id = n.id
WHERE n.payouts = 1 AND n.place > 1;

CREATE TEMP TABLE by_name AS
WITH clean AS (
    SELECT n.move, n.id, n.payouts, CASE WHEN o.id IS NULL THEN n.credits ELSE 1 END AS credits
    FROM named AS n
    LEFT JOIN paid_at_once AS o ON o.id = n.id
    WHERE o.id IS NULL OR n.place = 1
),

mixed AS (
    SELECT move AS move, id AS id FROM clean WHERE payouts > 1 AND credits > 1
)

SELECT
    c.move,
    c.id,
    CASE
        WHEN c.payouts > 1 THEN 'together'
        WHEN c.credits > 1 THEN 'parts'
        ELSE 'one'
    END AS form
FROM clean AS c
ANTI JOIN mixed ON mixed.move = c.move
ANTI JOIN mixed ON mixed.id = c.id;

CREATE TEMP TABLE left_payouts AS
SELECT p.* FROM payouts AS p ANTI JOIN by_name AS n ON n.id = p.id WHERE p.amount > 0;

CREATE TEMP TABLE left_credits AS
SELECT c.*
FROM credits AS c
ANTI JOIN by_name AS n ON n.move = c.move
ANTI JOIN seconds AS s ON s.move = c.move;

-- Equal amounts meet in the order of their days where both sides have as many of them, or where
-- within the days a payout takes exactly one is left on both sides.
CREATE TEMP TABLE by_order AS
WITH ranked_payouts AS (
    SELECT
        *,
        row_number() OVER (PARTITION BY currency, amount ORDER BY day, id) AS place,
        count(*) OVER (PARTITION BY currency, amount) AS many
    FROM left_payouts
),

ranked_credits AS (
    SELECT
        *,
        row_number() OVER (PARTITION BY currency, amount ORDER BY day, move) AS place,
        count(*) OVER (PARTITION BY currency, amount) AS many
    FROM left_credits
),

ordered AS (
    SELECT
        c.move,
        p.id,
        c.currency,
        c.amount,
        date_diff('day', p.day, c.day) BETWEEN 0 AND {settle_days} AS is_within
    FROM ranked_payouts AS p
    INNER JOIN ranked_credits AS c
        ON c.currency = p.currency
        AND c.amount = p.amount
        AND c.place = p.place
        AND c.many = p.many
),

whole AS (
    SELECT currency, amount
    FROM ordered
    GROUP BY currency, amount
    HAVING count(*) = count(*) FILTER (WHERE is_within)
)

SELECT o.move, o.id
FROM ordered AS o
SEMI JOIN whole AS w ON w.currency = o.currency AND w.amount = o.amount;

CREATE TEMP TABLE by_day AS
WITH edges AS (
    SELECT c.move, p.id
    FROM left_payouts AS p
    INNER JOIN left_credits AS c
        ON c.currency = p.currency
        AND c.amount = p.amount
        AND date_diff('day', p.day, c.day) BETWEEN 0 AND {settle_days}
    ANTI JOIN by_order AS o ON o.id = p.id
    ANTI JOIN by_order AS o ON o.move = c.move
),

counted AS (
    SELECT
        move,
        id,
        count(*) OVER (PARTITION BY move) AS payouts,
        count(*) OVER (PARTITION BY id) AS credits
    FROM edges
)

SELECT move, id FROM counted WHERE payouts = 1 AND credits = 1;

CREATE TEMP TABLE rest_payouts AS
SELECT p.*
FROM left_payouts AS p
ANTI JOIN by_order AS o ON o.id = p.id
ANTI JOIN by_day AS d ON d.id = p.id
WHERE p.day IS NOT NULL;

CREATE TEMP TABLE rest_credits AS
SELECT c.*
FROM left_credits AS c
ANTI JOIN by_order AS o ON o.move = c.move
ANTI JOIN by_day AS d ON d.move = c.move;

-- One credit for all payouts, of one channel or of all, of some days that follow on one another.
CREATE TEMP TABLE sums_of_payouts AS
WITH days AS (
    SELECT DISTINCT currency, day FROM rest_payouts
),

scopes AS (
    SELECT DISTINCT currency, channel AS scope FROM rest_payouts WHERE channel IS NOT NULL
    UNION
    SELECT DISTINCT currency, NULL AS scope FROM rest_payouts
)

SELECT
    p.currency,
    s.scope,
    f.day AS from_day,
    t.day AS to_day,
    sum(p.amount)::BIGINT AS amount,
    string_agg(p.id::VARCHAR, ' ' ORDER BY p.id) AS members
FROM days AS f
INNER JOIN days AS t
    ON t.currency = f.currency AND date_diff('day', f.day, t.day) BETWEEN 0 AND {settle_days}
INNER JOIN scopes AS s ON s.currency = f.currency
INNER JOIN rest_payouts AS p
    ON p.currency = f.currency
    AND p.day BETWEEN f.day AND t.day
    AND (s.scope IS NULL OR p.channel = s.scope)
GROUP BY p.currency, s.scope, f.day, t.day
HAVING count(*) > 1;

CREATE TEMP TABLE together AS
WITH fits AS (
    SELECT DISTINCT c.move, m.members
    FROM rest_credits AS c
    INNER JOIN sums_of_payouts AS m
        ON m.currency = c.currency
        AND abs(m.amount - c.amount) <= {amount_tolerance}
        AND m.to_day <= c.day
        AND date_diff('day', m.from_day, c.day) <= {settle_days}
),

once AS (
    SELECT move, min(members) AS members FROM fits GROUP BY move HAVING count(*) = 1
),

edges AS (
    SELECT o.move, p.id, count(*) OVER (PARTITION BY p.id) AS claims
    FROM once AS o
    INNER JOIN rest_payouts AS p
        ON contains(' ' || o.members || ' ', ' ' || p.id::VARCHAR || ' ')
),

contested AS (
    SELECT DISTINCT move FROM edges WHERE claims > 1
)

SELECT e.move, e.id FROM edges AS e ANTI JOIN contested AS x ON x.move = e.move;

-- One payout by all credits of some days that follow on one another.
CREATE TEMP TABLE sums_of_credits AS
WITH open_credits AS (
    SELECT c.* FROM rest_credits AS c ANTI JOIN together AS t ON t.move = c.move
),

days AS (
    SELECT DISTINCT currency, day FROM open_credits
)

SELECT
    c.currency,
    f.day AS from_day,
    t.day AS to_day,
    sum(c.amount)::BIGINT AS amount,
    string_agg(c.move::VARCHAR, ' ' ORDER BY c.move) AS members
FROM days AS f
INNER JOIN days AS t
    ON t.currency = f.currency AND date_diff('day', f.day, t.day) BETWEEN 0 AND {settle_days}
INNER JOIN open_credits AS c ON c.currency = f.currency AND c.day BETWEEN f.day AND t.day
GROUP BY c.currency, f.day, t.day
HAVING count(*) > 1;

CREATE TEMP TABLE parts AS
WITH fits AS (
    SELECT DISTINCT p.id, m.members
    FROM rest_payouts AS p
    INNER JOIN sums_of_credits AS m
        ON m.currency = p.currency
        AND abs(m.amount - p.amount) <= {amount_tolerance}
        AND p.day <= m.from_day
        AND date_diff('day', p.day, m.to_day) <= {settle_days}
    ANTI JOIN together AS t ON t.id = p.id
),

once AS (
    SELECT id, min(members) AS members FROM fits GROUP BY id HAVING count(*) = 1
),

edges AS (
    SELECT c.move, o.id, count(*) OVER (PARTITION BY c.move) AS claims
    FROM once AS o
    INNER JOIN rest_credits AS c
        ON contains(' ' || o.members || ' ', ' ' || c.move::VARCHAR || ' ')
),

contested AS (
    SELECT DISTINCT id FROM edges WHERE claims > 1
)

SELECT e.move, e.id FROM edges AS e ANTI JOIN contested AS x ON x.id = e.id;

CREATE TEMP TABLE edges AS
SELECT move, id, 'name' AS match_rule, form FROM by_name
UNION ALL
SELECT move, id, 'amount_day' AS match_rule, 'one' AS form FROM by_order
UNION ALL
SELECT move, id, 'amount_day' AS match_rule, 'one' AS form FROM by_day
UNION ALL
SELECT move, id, 'sum' AS match_rule, 'together' AS form FROM together
UNION ALL
SELECT move, id, 'sum' AS match_rule, 'parts' AS form FROM parts;

-- What met in a group: its two sums, and the days between which it lies.
CREATE TEMP TABLE groups AS
WITH keyed AS (
    SELECT
        e.*,
        CASE WHEN e.form = 'parts' THEN 'payout ' || e.id ELSE 'line ' || e.move END AS group_no
    FROM edges AS e
),

lines AS (
    SELECT
        g.group_no, sum(m.amount)::BIGINT AS amount, min(m.day) AS from_day, max(m.day) AS to_day,
        min(m.move) AS move
    FROM (SELECT DISTINCT group_no, move FROM keyed) AS g
    INNER JOIN moves AS m ON m.move = g.move
    GROUP BY g.group_no
),

dues AS (
    SELECT
        g.group_no, sum(p.amount)::BIGINT AS amount, min(p.day) AS from_day, max(p.day) AS to_day,
        min(p.id) AS id
    FROM (SELECT DISTINCT group_no, id FROM keyed) AS g
    INNER JOIN payouts AS p ON p.id = g.id
    GROUP BY g.group_no
)

SELECT
    l.group_no,
    l.move AS first_move,
    d.id AS first_id,
    l.amount - d.amount AS drift,
    l.from_day AS bank_from,
    l.to_day AS bank_to,
    d.from_day AS payout_from,
    d.to_day AS payout_to
FROM lines AS l
INNER JOIN dues AS d ON d.group_no = l.group_no;

-- Every line and every payout in one row: a pair stands in one, a group has a row for each.
CREATE TEMP VIEW met AS
WITH keyed AS (
    SELECT
        e.*,
        CASE WHEN e.form = 'parts' THEN 'payout ' || e.id ELSE 'line ' || e.move END AS group_no
    FROM edges AS e
),

rows AS (
    SELECT move, id, match_rule, form, group_no FROM keyed WHERE form = 'one'
    UNION ALL
    SELECT DISTINCT move, NULL::BIGINT AS id, match_rule, form, group_no
    FROM keyed
    WHERE form <> 'one'
    UNION ALL
    SELECT DISTINCT NULL::BIGINT AS move, id, match_rule, form, group_no
    FROM keyed
    WHERE form <> 'one'
    UNION ALL
    SELECT m.move, NULL::BIGINT, NULL::VARCHAR, NULL::VARCHAR, NULL::VARCHAR
    FROM moves AS m
    ANTI JOIN edges AS e ON e.move = m.move
    UNION ALL
    SELECT NULL::BIGINT, p.id, NULL::VARCHAR, NULL::VARCHAR, NULL::VARCHAR
    FROM payouts AS p
    ANTI JOIN edges AS e ON e.id = p.id
)

SELECT
    w.match_rule,
    w.form,
    w.group_no,
    w.move,
    w.id,
    w.move IS NOT NULL AS has_line,
    w.id IS NOT NULL AS has_payout,
    g.group_no IS NOT NULL AS has_met,
    g.first_move,
    g.first_id,
    g.drift,
    g.bank_from,
    g.bank_to,
    g.payout_from,
    g.payout_to,
    m.kind,
    coalesce(m.is_completed, FALSE) AS is_completed,
    coalesce(m.is_copied, FALSE) AS is_copied,
    m.amount AS amount_bank,
    m.currency AS currency_line,
    m.day AS bank_day,
    p.amount AS amount_payout,
    p.currency AS currency_other,
    p.day AS payout_day,
    s.move IS NOT NULL AS is_second,
    f.first_payout
FROM rows AS w
LEFT JOIN groups AS g ON g.group_no = w.group_no
LEFT JOIN moves AS m ON m.move = w.move
LEFT JOIN payouts AS p ON p.id = w.id
LEFT JOIN seconds AS s ON s.move = w.move
CROSS JOIN (SELECT min(day) AS first_payout FROM payouts) AS f;

CREATE TEMP VIEW others AS
SELECT '' AS account, p.currency, count(*) AS rows, sum(p.amount)::BIGINT AS amount
FROM payouts AS p
WHERE p.day BETWEEN {first_day} AND {last_day}
GROUP BY p.currency;
