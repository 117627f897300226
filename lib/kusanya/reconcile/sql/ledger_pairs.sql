-- Which ledger line meets which collection: by id, by reference and amount, by reference, each pass
-- on what the earlier ones left. Lines and collections of equal keys pair by rank, so that the one
-- line of a reference meets the attempt that succeeded; a line that says paid meets an attempt
-- that did not succeed only where its reference has no success at all. Only references seen twice
-- on a side are ranked: ranking them all costs many times the join.
CREATE TEMP VIEW service AS
SELECT
    c.id,
    c.reference,
    c.mode,
    c.currency,
    c.channel,
    c.amount,
    c.fee,
    c.status,
    c.contradictions,
    c.phone_key,
    c.created_at,
    c.completed_at,
    c.business_day,
    coalesce(c.business_day, c.created_day) AS day,
    c.status = 'succeeded' AS paid,
    CASE WHEN terms.net_basis THEN c.amount - c.fee ELSE c.amount END AS due,
    CASE c.status WHEN 'succeeded' THEN 0 WHEN 'created' THEN 1 ELSE 2 END AS rank
FROM collections AS c, terms;

CREATE TEMP VIEW books AS
SELECT
    *,
    status = 'paid' AS paid,
    CASE status WHEN 'paid' THEN 0 WHEN 'open' THEN 1 ELSE 2 END AS rank
FROM ledger;

CREATE TEMP TABLE named AS
SELECT
    books.row_no,
    books.collection_id AS id,
    row_number() OVER (
        PARTITION BY books.collection_id ORDER BY books.rank, books.booked_at, books.row_no
    ) AS place
FROM books
INNER JOIN service ON service.id = books.collection_id;

CREATE TEMP VIEW rest_books AS
SELECT b.* FROM books AS b ANTI JOIN named ON named.row_no = b.row_no;

CREATE TEMP VIEW rest_service AS
SELECT s.* FROM service AS s ANTI JOIN named ON named.id = s.id;

CREATE TEMP TABLE repeated AS
SELECT reference FROM rest_books WHERE reference IS NOT NULL GROUP BY reference HAVING count(*) > 1
UNION
SELECT reference FROM service WHERE reference IS NOT NULL GROUP BY reference HAVING count(*) > 1;

CREATE TEMP TABLE many_books AS
SELECT row_no, reference, currency, amount, paid, rank, booked_at
FROM rest_books
WHERE reference IN (SELECT reference FROM repeated);

CREATE TEMP TABLE many_service AS
SELECT
    s.id,
    s.reference,
    s.currency,
    s.due,
    s.paid,
    s.rank,
    s.created_at,
    won.reference IS NOT NULL AS has_paid
FROM rest_service AS s
SEMI JOIN repeated ON repeated.reference = s.reference
LEFT JOIN
    (
        SELECT DISTINCT w.reference
        FROM service AS w
        SEMI JOIN repeated ON repeated.reference = w.reference
        WHERE w.paid
    ) AS won
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
SELECT row_no, id, 'id' AS match_rule FROM named WHERE place = 1
UNION ALL
SELECT row_no, id, 'reference_amount' FROM by_amount
UNION ALL
SELECT row_no, id, 'reference' FROM by_reference;

-- Everything that was ranked or named, met or not; all other references are there at most once on
-- either side and simply join.
CREATE TEMP TABLE special AS
SELECT row_no, id, match_rule FROM pairs
UNION ALL
SELECT row_no, NULL AS id, NULL AS match_rule
FROM (SELECT row_no FROM many_books UNION ALL SELECT row_no FROM named)
WHERE row_no NOT IN (SELECT row_no FROM pairs)
UNION ALL
SELECT NULL AS row_no, id, NULL AS match_rule
FROM many_service
WHERE id NOT IN (SELECT id FROM pairs);
