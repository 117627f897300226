-- Which rows of repeated references meet: by reference and amount, then by reference, each pass on
-- what the earlier one left. Lines and collections of equal keys pair by rank, so that the one line of
-- a reference meets the attempt that succeeded; a line that says paid meets an attempt that did not
-- succeed only where its reference has no success at all. Only references seen twice on a side are
-- ranked: ranking them all costs many times the join.
CREATE TEMP TABLE many_books AS
SELECT b.*
FROM rest_books AS b
SEMI JOIN repeated ON repeated.key = b.key;

CREATE TEMP TABLE many_service AS
SELECT s.*, won.reference IS NOT NULL AS has_paid
FROM rest_service AS s
SEMI JOIN repeated ON repeated.key = s.key
LEFT JOIN (SELECT DISTINCT reference FROM few_service WHERE paid) AS won
    ON won.reference = s.reference;

CREATE TEMP TABLE by_amount AS
WITH ranked_books AS (
    SELECT
        *,
        row_number() OVER (
            PARTITION BY reference, currency, amount ORDER BY rank, booked_at, row_no
        ) AS place
    FROM many_books
),

ranked_service AS (
    SELECT
        *,
        row_number() OVER (
            PARTITION BY reference, currency, due ORDER BY rank, created_at, id
        ) AS place
    FROM many_service
)

SELECT b.row_no, s.id
FROM ranked_books AS b
INNER JOIN ranked_service AS s
    ON b.reference = s.reference
    AND b.currency = s.currency
    AND b.amount = s.due
    AND b.place = s.place
WHERE NOT (b.paid AND NOT s.paid AND s.has_paid);

CREATE TEMP TABLE by_reference AS
WITH ranked_books AS (
    SELECT
        *,
        row_number() OVER (PARTITION BY reference ORDER BY rank, booked_at, row_no) AS place
    FROM many_books
    WHERE row_no NOT IN (SELECT row_no FROM by_amount)
),

ranked_service AS (
    SELECT
        *,
        row_number() OVER (PARTITION BY reference ORDER BY rank, created_at, id) AS place
    FROM many_service
    WHERE id NOT IN (SELECT id FROM by_amount)
)

SELECT b.row_no, s.id
FROM ranked_books AS b
INNER JOIN ranked_service AS s ON b.reference = s.reference AND b.place = s.place
WHERE NOT (b.paid AND NOT s.paid AND s.has_paid);

CREATE TEMP TABLE pairs AS
SELECT row_no, id, 'reference_amount'::rule AS match_rule FROM by_amount
UNION ALL
SELECT row_no, id, 'reference'::rule FROM by_reference;

CREATE TEMP VIEW met_by_rank AS
WITH pairing AS (
    SELECT row_no, id, match_rule FROM pairs
    UNION ALL
    SELECT row_no, NULL AS id, NULL AS match_rule
    FROM (SELECT row_no FROM many_books UNION ALL SELECT row_no FROM named WHERE place > 1)
    WHERE row_no NOT IN (SELECT row_no FROM pairs)
    UNION ALL
    SELECT NULL AS row_no, id, NULL AS match_rule
    FROM many_service
    WHERE id NOT IN (SELECT id FROM pairs)
)

SELECT
    p.match_rule,
    p.row_no,
    p.id,
    b.currency AS currency_ledger,
    b.amount AS amount_ledger,
    b.fee AS fee_ledger,
    b.paid AS booked,
    b.is_open,
    b.booked_day,
    s.currency AS currency_service,
    s.amount AS amount_service,
    s.fee AS fee_service,
    s.due,
    s.said,
    s.paid,
    s.business_day,
    s.day,
    s.since
FROM pairing AS p
LEFT JOIN few_books AS b ON b.row_no = p.row_no
LEFT JOIN few_service AS s ON s.id = p.id;

CREATE TEMP VIEW met AS
SELECT * FROM met_plainly
UNION ALL
SELECT * FROM met_by_rank;
