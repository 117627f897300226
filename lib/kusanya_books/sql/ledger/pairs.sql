-- Every row that is not counted, with all its columns and all others of its reference, and which of
-- them meet: by the collection's id, by reference and amount, then by reference, each pass on what
-- the earlier one left. Lines and collections of equal keys pair by rank, so that the one line of a
-- reference meets the attempt that succeeded; a line that says paid meets an attempt that did not
-- succeed only where its reference has no success at all.
CREATE TEMP TABLE wanted AS
SELECT digest, NULL::VARCHAR AS key FROM repeated
UNION ALL
SELECT DISTINCT {hash}(key) AS digest, key FROM counted WHERE key IS NOT NULL;

CREATE TEMP TABLE few_books AS
SELECT b.*
FROM books AS b
SEMI JOIN wanted
    ON wanted.digest = {hash}(b.key) AND (wanted.key IS NULL OR wanted.key = b.key)
WHERE b.key IS NOT NULL
UNION ALL
SELECT * FROM books WHERE key IS NULL;

-- Customers who paid one amount more than once, found by a number as references are. Their payments are
-- kept by the same reading of all collections, which is wide and costs more than finding them.
CREATE TEMP TABLE payers AS
SELECT {hash}(phone_key, amount) AS digest
FROM service
WHERE paid AND phone_key IS NOT NULL
GROUP BY {hash}(phone_key, amount)
HAVING count(*) > 1;

CREATE TEMP TABLE kept_service AS
SELECT *
FROM service
WHERE {hash}(key) IN (SELECT wanted.digest FROM wanted)
    OR {hash}(phone_key, amount) IN (SELECT payers.digest FROM payers);

CREATE TEMP TABLE few_service AS
SELECT s.*
FROM kept_service AS s
SEMI JOIN wanted
    ON wanted.digest = {hash}(s.key) AND (wanted.key IS NULL OR wanted.key = s.key);

-- From here on by the keys themselves: few are left, and numbers differ from engine to engine.
CREATE TEMP TABLE repeated_keys AS
SELECT b.key FROM few_books AS b SEMI JOIN repeated ON repeated.digest = {hash}(b.key)
UNION
SELECT s.key FROM few_service AS s SEMI JOIN repeated ON repeated.digest = {hash}(s.key);

CREATE TEMP TABLE many_books AS
SELECT b.row_no, b.named_id, b.reference, b.currency, b.amount, b.booked, b.rank, b.booked_at
FROM few_books AS b
SEMI JOIN repeated_keys AS r ON r.key = b.key;

CREATE TEMP TABLE many_service AS
SELECT s.id, s.reference, s.currency, s.due, s.paid, s.rank, s.created_at
FROM few_service AS s
SEMI JOIN repeated_keys AS r ON r.key = s.key;

CREATE TEMP TABLE by_id AS
SELECT row_no, named_id AS id
FROM (
    SELECT
        row_no,
        named_id,
        row_number() OVER (PARTITION BY named_id ORDER BY rank, booked_at, row_no) AS place
    FROM many_books
    WHERE named_id IS NOT NULL
) AS ranked
WHERE place = 1;

CREATE TEMP TABLE rest_books AS
SELECT * FROM many_books WHERE named_id IS NULL;

CREATE TEMP TABLE rest_service AS
SELECT s.*, won.reference IS NOT NULL AS has_paid
FROM many_service AS s
ANTI JOIN by_id ON by_id.id = s.id
LEFT JOIN (SELECT DISTINCT reference FROM many_service WHERE paid) AS won
    ON won.reference = s.reference;

CREATE TEMP TABLE by_amount AS
WITH ranked_books AS (
    SELECT
        *,
        row_number() OVER (
            PARTITION BY reference, currency, amount ORDER BY rank, booked_at, row_no
        ) AS place
    FROM rest_books
),

ranked_service AS (
    SELECT
        *,
        row_number() OVER (
            PARTITION BY reference, currency, due ORDER BY rank, created_at, id
        ) AS place
    FROM rest_service
)

SELECT b.row_no, s.id
FROM ranked_books AS b
INNER JOIN ranked_service AS s
    ON b.reference = s.reference
    AND b.currency = s.currency
    AND b.amount = s.due
    AND b.place = s.place
WHERE NOT (b.booked AND NOT s.paid AND s.has_paid);

CREATE TEMP TABLE by_reference AS
WITH ranked_books AS (
    SELECT
        b.*,
        row_number() OVER (PARTITION BY b.reference ORDER BY b.rank, b.booked_at, b.row_no) AS place
    FROM rest_books AS b
    ANTI JOIN by_amount ON by_amount.row_no = b.row_no
),

ranked_service AS (
    SELECT
        s.*,
        row_number() OVER (PARTITION BY s.reference ORDER BY s.rank, s.created_at, s.id) AS place
    FROM rest_service AS s
    ANTI JOIN by_amount ON by_amount.id = s.id
)

SELECT b.row_no, s.id
FROM ranked_books AS b
INNER JOIN ranked_service AS s ON b.reference = s.reference AND b.place = s.place
WHERE NOT (b.booked AND NOT s.paid AND s.has_paid);

CREATE TEMP TABLE pairs AS
WITH ranked AS (
    SELECT row_no, id, 'id' AS match_rule FROM by_id
    UNION ALL
    SELECT row_no, id, 'reference_amount' AS match_rule FROM by_amount
    UNION ALL
    SELECT row_no, id, 'reference' AS match_rule FROM by_reference
)

SELECT row_no, id, match_rule FROM ranked
UNION ALL
SELECT b.row_no, NULL::VARCHAR AS id, NULL::VARCHAR AS match_rule
FROM many_books AS b
ANTI JOIN ranked ON ranked.row_no = b.row_no
UNION ALL
SELECT NULL::BIGINT AS row_no, s.id, NULL::VARCHAR AS match_rule
FROM many_service AS s
ANTI JOIN ranked ON ranked.id = s.id
UNION ALL
SELECT
    b.row_no,
    s.id,
    CASE
        WHEN b.row_no IS NULL OR s.id IS NULL THEN NULL
        WHEN b.named_id IS NOT NULL THEN 'id'
        WHEN b.currency = s.currency AND b.amount = s.due THEN 'reference_amount'
        ELSE 'reference'
    END AS match_rule
FROM (
    SELECT x.* FROM few_books AS x ANTI JOIN repeated_keys AS r ON r.key = x.key
) AS b
FULL OUTER JOIN (
    SELECT x.* FROM few_service AS x ANTI JOIN repeated_keys AS r ON r.key = x.key
) AS s
    ON b.key = s.key;
