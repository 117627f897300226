-- Which line of the operator's statements is which collection: by the collection's id, by our
-- reference, by a receipt that is known already, then by amount and day where exactly one is left
-- on both sides. Each pass works on what the earlier ones left.
-- A line that another file says once more is no second payment.
CREATE TEMP TABLE moves AS
SELECT
    row_number() OVER (
        ORDER BY m.input, m.line_no, m.at, m.receipt, m.kind, m.amount
    ) AS move,
    m.*,
    coalesce(m.channel, '') AS account,
    m.business_day::DATE AS day,
    (m.at::TIMESTAMP + INTERVAL 3 HOUR)::DATE AS clock_day,
    lower(trim(m.receipt)) AS receipt_key,
    lower(trim(m.reference)) AS reference_key,
    m.status = 'completed' AS is_completed,
    m.status = 'completed'
    AND m.receipt IS NOT NULL
    AND row_number() OVER (
        PARTITION BY
            m.channel, m.currency, m.receipt, m.kind, m.status, m.amount, m.at, m.balance,
            m.details
        ORDER BY m.input, m.line_no
    ) > 1 AS is_copied
FROM movements AS m
WHERE m.leg = 'operator';

CREATE TEMP TABLE payments AS
SELECT * FROM moves WHERE is_completed AND NOT is_copied AND kind = 'payment' AND amount > 0;

-- What a statement speaks of: its channels, and the days from its first line to its last: those of the
-- clock, by which an operator cuts its files, whenever the business day turns. A line that
-- was carried is no statement: it speaks of its own day, where that is judged again. One without a line
-- reaches no day.
CREATE TEMP TABLE covered AS
WITH spoken AS (
    SELECT account, currency, min(clock_day) AS from_day, max(clock_day) AS to_day
    FROM moves
    WHERE NOT regexp_matches(input, {carried}) OR day BETWEEN {first_day} AND {last_day}
    GROUP BY account, currency
)

SELECT account, currency, from_day, to_day FROM spoken
UNION ALL
SELECT DISTINCT c.channel AS account, c.currency, NULL::DATE AS from_day, NULL::DATE AS to_day
FROM collections AS c
SEMI JOIN given AS g ON g.channel = c.channel
ANTI JOIN spoken AS s ON s.account = c.channel AND s.currency = c.currency;

CREATE TEMP TABLE received AS
SELECT
    c.id,
    c.reference,
    lower(trim(c.reference)) AS reference_key,
    c.channel,
    c.currency,
    c.amount,
    c.fee,
    c.status,
    coalesce(c.status IN {paid}, FALSE) AS paid,
    CASE WHEN c.status IN {paid} THEN 0 WHEN c.status IN {open} THEN 1 ELSE 2 END AS rank,
    c.created_at,
    c.completed_at,
    c.business_day::DATE AS business_day,
    coalesce(c.channel, '') AS account,
    v.account IS NOT NULL AS is_covered,
    coalesce(
        coalesce((c.completed_at::TIMESTAMP + INTERVAL 3 HOUR)::DATE, c.business_day::DATE)
        BETWEEN v.from_day AND v.to_day,
        FALSE
    ) AS is_reached
FROM collections AS c
LEFT JOIN covered AS v ON v.account = coalesce(c.channel, '') AND v.currency = c.currency;

CREATE TEMP TABLE by_id AS
SELECT move, id
FROM (
    SELECT
        p.move,
        r.id,
        row_number() OVER (PARTITION BY r.id ORDER BY p.at, p.move) AS place
    FROM payments AS p
    INNER JOIN received AS r ON r.id = p.collection_id
) AS ranked
WHERE place = 1;

CREATE TEMP TABLE by_amount AS
WITH ranked_moves AS (
    SELECT
        p.*,
        row_number() OVER (
            PARTITION BY p.reference_key, p.currency, p.amount ORDER BY p.at, p.move
        ) AS place
    FROM payments AS p
    ANTI JOIN by_id ON by_id.move = p.move
    WHERE p.reference_key IS NOT NULL
),

ranked_received AS (
    SELECT
        r.*,
        row_number() OVER (
            PARTITION BY r.reference_key, r.currency, r.amount ORDER BY r.rank, r.created_at, r.id
        ) AS place
    FROM received AS r
    ANTI JOIN by_id ON by_id.id = r.id
    WHERE r.reference_key IS NOT NULL
)

SELECT m.move, r.id
FROM ranked_moves AS m
INNER JOIN ranked_received AS r
    ON m.reference_key = r.reference_key
    AND m.currency = r.currency
    AND m.amount = r.amount
    AND m.place = r.place;

CREATE TEMP TABLE by_reference AS
WITH ranked_moves AS (
    SELECT
        p.*,
        row_number() OVER (PARTITION BY p.reference_key ORDER BY p.at, p.move) AS place
    FROM payments AS p
    ANTI JOIN by_id ON by_id.move = p.move
    ANTI JOIN by_amount ON by_amount.move = p.move
    WHERE p.reference_key IS NOT NULL
),

ranked_received AS (
    SELECT
        r.*,
        row_number() OVER (
            PARTITION BY r.reference_key ORDER BY r.rank, r.created_at, r.id
        ) AS place
    FROM received AS r
    ANTI JOIN by_id ON by_id.id = r.id
    ANTI JOIN by_amount ON by_amount.id = r.id
    WHERE r.reference_key IS NOT NULL
)

SELECT m.move, r.id
FROM ranked_moves AS m
INNER JOIN ranked_received AS r
    ON m.reference_key = r.reference_key
    AND m.place = r.place;

CREATE TEMP TABLE told_first AS
SELECT move, id, 'id' AS match_rule FROM by_id
UNION ALL
SELECT move, id, 'reference_amount' AS match_rule FROM by_amount
UNION ALL
SELECT move, id, 'reference' AS match_rule FROM by_reference;

CREATE TEMP TABLE by_receipt AS
SELECT move, id
FROM (
    SELECT
        p.move,
        r.id,
        row_number() OVER (PARTITION BY p.move ORDER BY r.rank, r.created_at, r.id) AS place,
        row_number() OVER (PARTITION BY r.id ORDER BY p.at, p.move) AS place_id
    FROM payments AS p
    INNER JOIN receipts AS k ON lower(trim(k.receipt)) = p.receipt_key
    INNER JOIN received AS r ON r.id = k.collection_id
    ANTI JOIN told_first AS t ON t.move = p.move
    ANTI JOIN told_first AS t ON t.id = r.id
) AS ranked
WHERE place = 1 AND place_id = 1;

-- Of days of the period alone, and of no line that was carried: of other days only some lines and
-- collections are here, and which is the one that is left cannot be told.
CREATE TEMP TABLE by_day AS
WITH left_moves AS (
    SELECT p.*
    FROM payments AS p
    ANTI JOIN told_first AS t ON t.move = p.move
    ANTI JOIN by_receipt AS k ON k.move = p.move
    WHERE p.day BETWEEN {first_day} AND {last_day} AND NOT regexp_matches(p.input, {carried})
),

left_received AS (
    SELECT r.*
    FROM received AS r
    ANTI JOIN told_first AS t ON t.id = r.id
    ANTI JOIN by_receipt AS k ON k.id = r.id
    WHERE r.paid
),

one_move AS (
    SELECT account, currency, amount, day, min(move) AS move
    FROM left_moves
    GROUP BY account, currency, amount, day
    HAVING count(*) = 1
),

one_received AS (
    SELECT account, currency, amount, business_day, min(id) AS id
    FROM left_received
    GROUP BY account, currency, amount, business_day
    HAVING count(*) = 1
)

SELECT m.move, r.id
FROM one_move AS m
INNER JOIN one_received AS r
    ON m.account = r.account
    AND m.currency = r.currency
    AND m.amount = r.amount
    AND m.day = r.business_day;

CREATE TEMP TABLE pairs AS
SELECT move, id, match_rule FROM told_first
UNION ALL
SELECT move, id, 'receipt' AS match_rule FROM by_receipt
UNION ALL
SELECT move, id, 'amount_day' AS match_rule FROM by_day;
