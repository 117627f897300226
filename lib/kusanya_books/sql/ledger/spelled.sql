-- What the books write in another way than the service: lines and collections left alone whose
-- references are the same but for case and the spaces around them, where exactly one is left on both
-- sides. Rows of other days are looked up here, because only rows of the period are carried.
CREATE TEMP TABLE asked_texts AS
SELECT lower(trim(reference)) AS spelling FROM few_books WHERE reference IS NOT NULL
UNION
SELECT trim(part) AS spelling
FROM (
    SELECT unnest(string_split_regex(lower(reference), '[,;/ +]+')) AS part
    FROM alone_books
    WHERE booked AND regexp_matches(trim(reference), '[,;/ +]')
) AS parts
WHERE trim(part) <> '';

CREATE TEMP TABLE asked_days AS
SELECT DISTINCT b.currency, b.booked_day
FROM alone_books AS b
WHERE b.booked AND b.key IS NULL;

-- Payments of other days that nothing of their own reference books. The few that could be asked for
-- are found first: all others are only looked at once.
CREATE TEMP TABLE asked_service AS
WITH beyond AS (
    SELECT s.*
    FROM service AS s
    WHERE s.paid AND (s.business_day < {first_day} OR s.business_day > {last_day})
)

SELECT b.id, b.key
FROM beyond AS b
SEMI JOIN asked_texts AS t ON t.spelling = lower(trim(b.reference))
UNION
SELECT b.id, b.key
FROM beyond AS b
INNER JOIN asked_days AS d
    ON d.currency = b.currency
    AND date_diff('day', b.business_day, d.booked_day) BETWEEN 0 AND {grace_days}
UNION
-- What came to nothing is counted by its key alone: a line may call it otherwise.
SELECT s.id, s.key
FROM service AS s
SEMI JOIN asked_texts AS t ON t.spelling = lower(trim(s.reference))
WHERE NOT s.paid AND s.day BETWEEN {first_day} AND {last_day};

CREATE TEMP TABLE extra_service AS
WITH own AS (
    SELECT l.key FROM books AS l SEMI JOIN asked_service AS a ON a.key = l.key
),

wanted_ids AS (
    SELECT a.id
    FROM asked_service AS a
    ANTI JOIN few_service AS f ON f.id = a.id
    ANTI JOIN own ON own.key = a.key
)

SELECT s.* FROM service AS s SEMI JOIN wanted_ids AS w ON w.id = s.id;

-- Lines of other days without a collection of their own, that may book payments of the period.
CREATE TEMP TABLE asked_books AS
WITH beyond AS (
    SELECT b.row_no, b.key, b.reference
    FROM books AS b
    WHERE b.booked
        AND b.key IS NOT NULL
        AND (b.booked_day < {first_day} OR b.booked_day > {last_day})
),

spellings AS (
    SELECT lower(trim(reference)) AS spelling FROM few_service
),

parts AS (
    SELECT row_no, unnest(string_split_regex(lower(reference), '[,;/ +]+')) AS part
    FROM beyond
    WHERE regexp_matches(trim(reference), '[,;/ +]')
),

asked AS (
    SELECT b.row_no
    FROM beyond AS b
    SEMI JOIN spellings AS s ON s.spelling = lower(trim(b.reference))
    UNION
    SELECT p.row_no
    FROM parts AS p
    SEMI JOIN spellings AS s ON s.spelling = trim(p.part)
)

SELECT b.row_no, b.key FROM beyond AS b SEMI JOIN asked AS a ON a.row_no = b.row_no;

CREATE TEMP TABLE extra_books AS
WITH own AS (
    SELECT s.key FROM service AS s SEMI JOIN asked_books AS a ON a.key = s.key
),

wanted_rows AS (
    SELECT a.row_no
    FROM asked_books AS a
    ANTI JOIN few_books AS f ON f.row_no = a.row_no
    ANTI JOIN own ON own.key = a.key
)

SELECT b.* FROM books AS b SEMI JOIN wanted_rows AS w ON w.row_no = b.row_no;

CREATE TEMP TABLE spelled_lines AS
SELECT
    b.row_no, lower(trim(b.reference)) AS spelling, b.reference, b.currency, b.amount, b.booked,
    b.booked_at
FROM alone_books AS b
ANTI JOIN twins ON twins.row_no = b.row_no
WHERE b.reference IS NOT NULL
    AND b.named_id IS NULL
    AND (b.booked OR b.booked_day BETWEEN {first_day} AND {last_day})
UNION ALL
SELECT
    row_no, lower(trim(reference)) AS spelling, reference, currency, amount, booked, booked_at
FROM extra_books
WHERE reference IS NOT NULL;

CREATE TEMP TABLE spelled_service AS
SELECT s.id, lower(trim(s.reference)) AS spelling, s.paid, s.currency, s.due
FROM alone_service AS s
WHERE s.paid OR s.day BETWEEN {first_day} AND {last_day}
UNION ALL
SELECT id, lower(trim(reference)) AS spelling, paid, currency, due FROM extra_service;

-- Of lines that say the same the first one is the payment's, where its amount is: the others repeat it.
CREATE TEMP TABLE spelled AS
WITH ranked AS (
    SELECT
        *,
        row_number() OVER (PARTITION BY spelling ORDER BY booked_at, row_no) AS place,
        count(*) OVER (PARTITION BY spelling) AS many,
        min(amount) OVER (PARTITION BY spelling) = max(amount) OVER (PARTITION BY spelling)
        AND min(currency) OVER (PARTITION BY spelling) = max(currency) OVER (PARTITION BY spelling)
        AND min(booked) OVER (PARTITION BY spelling) AS is_same
    FROM spelled_lines
),

-- A payment before an attempt that came to nothing.
one_service AS (
    SELECT
        spelling,
        CASE
            WHEN count(*) FILTER (WHERE paid) = 1 THEN min(id) FILTER (WHERE paid)
            WHEN count(*) = 1 THEN min(id)
        END AS id
    FROM spelled_service
    GROUP BY spelling
)

SELECT l.row_no, o.id
FROM ranked AS l
INNER JOIN one_service AS o ON o.spelling = l.spelling
INNER JOIN spelled_service AS s ON s.id = o.id
WHERE l.place = 1
    AND (l.many = 1 OR (l.is_same AND s.paid AND s.currency = l.currency AND s.due = l.amount));

-- A line left over repeats another one in another spelling where that one met a collection and no
-- payment of this spelling is left, which it could be.
CREATE TEMP TABLE unspelled AS
SELECT l.*
FROM spelled_lines AS l
ANTI JOIN spelled AS p ON p.row_no = l.row_no
WHERE l.booked;

CREATE TEMP TABLE unspelled_mates AS
SELECT b.row_no, b.key, lower(trim(b.reference)) AS spelling, b.reference, b.currency, b.amount
FROM books AS b
SEMI JOIN unspelled AS a ON a.spelling = lower(trim(b.reference))
WHERE b.booked;

CREATE TEMP TABLE keys_of_mates AS
SELECT DISTINCT s.key FROM service AS s SEMI JOIN unspelled_mates AS m ON m.key = s.key;

CREATE TEMP TABLE spelled_twins AS
WITH left_payments_of AS (
    SELECT s.spelling
    FROM spelled_service AS s
    ANTI JOIN spelled AS p ON p.id = s.id
    WHERE s.paid
),

mates AS (
    SELECT b.row_no, b.spelling, b.reference, b.currency, b.amount
    FROM unspelled_mates AS b
    SEMI JOIN keys_of_mates AS k ON k.key = b.key
    UNION
    SELECT l.row_no, l.spelling, l.reference, l.currency, l.amount
    FROM spelled_lines AS l
    SEMI JOIN spelled AS p ON p.row_no = l.row_no
    WHERE l.booked
)

SELECT a.row_no, min(m.row_no) AS other_row, min_by(m.reference, m.row_no) AS other_reference
FROM unspelled AS a
INNER JOIN mates AS m
    ON m.spelling = a.spelling
    AND m.currency = a.currency
    AND m.amount = a.amount
    AND m.row_no <> a.row_no
ANTI JOIN left_payments_of AS s ON s.spelling = a.spelling
GROUP BY a.row_no;

CREATE TEMP VIEW every_books AS
SELECT * FROM few_books
UNION ALL
SELECT * FROM extra_books;

CREATE TEMP VIEW every_service AS
SELECT * FROM few_service
UNION ALL
SELECT * FROM extra_service;

CREATE TEMP VIEW met_by_spelling AS
SELECT
    'spelling' AS match_rule,
    p.row_no,
    p.id,
    TRUE AS has_line,
    TRUE AS has_collection,
    b.currency AS currency_ledger,
    b.amount AS amount_ledger,
    b.fee AS fee_ledger,
    b.booked,
    b.is_open,
    b.booked_day,
    s.currency AS currency_service,
    s.amount AS amount_service,
    s.fee AS fee_service,
    s.due,
    s.paid,
    s.is_created,
    s.is_contradicted,
    s.is_unknown,
    s.business_day,
    s.day,
    s.created_day,
    FALSE AS is_twin,
    FALSE AS is_second,
    FALSE AS is_of_other_mode,
    FALSE AS is_unanswered
FROM spelled AS p
INNER JOIN every_books AS b ON b.row_no = p.row_no
INNER JOIN every_service AS s ON s.id = p.id;

CREATE TEMP VIEW met_closely AS
SELECT
    p.match_rule,
    p.row_no,
    p.id,
    p.row_no IS NOT NULL AS has_line,
    p.id IS NOT NULL AS has_collection,
    b.currency AS currency_ledger,
    b.amount AS amount_ledger,
    b.fee AS fee_ledger,
    coalesce(b.booked, FALSE) AS booked,
    coalesce(b.is_open, FALSE) AS is_open,
    b.booked_day,
    s.currency AS currency_service,
    s.amount AS amount_service,
    s.fee AS fee_service,
    s.due,
    coalesce(s.paid, FALSE) AS paid,
    coalesce(s.is_created, FALSE) AS is_created,
    coalesce(s.is_contradicted, FALSE) AS is_contradicted,
    coalesce(s.is_unknown, FALSE) AS is_unknown,
    s.business_day,
    s.day,
    s.created_day,
    twins.row_no IS NOT NULL AS is_twin,
    seconds.id IS NOT NULL AS is_second,
    of_other_mode.row_no IS NOT NULL AS is_of_other_mode,
    unanswered.row_no IS NOT NULL AS is_unanswered
FROM pairs AS p
LEFT JOIN few_books AS b ON b.row_no = p.row_no
LEFT JOIN few_service AS s ON s.id = p.id
LEFT JOIN (
    SELECT row_no FROM twins
    UNION
    SELECT row_no FROM spelled_twins
) AS twins
    ON twins.row_no = p.row_no
LEFT JOIN seconds ON seconds.id = p.id
LEFT JOIN of_other_mode ON of_other_mode.row_no = p.row_no
LEFT JOIN unanswered ON unanswered.row_no = p.row_no;
