-- Every line and every collection of the period in exactly one row, with its verdict; those that
-- agree may stand together as one row that says how many they are.
CREATE TEMP TABLE judged AS
SELECT
    break_code,
    NULL::rule AS match_rule,
    NULL::BIGINT AS row_no,
    NULL::VARCHAR AS id,
    currency AS currency_ledger,
    currency AS currency_service,
    age_days,
    is_matched AS in_ledger,
    is_matched AS in_service,
    rows,
    amount,
    CASE WHEN is_matched THEN amount ELSE 0 END AS counted_ledger,
    CASE WHEN is_matched THEN amount ELSE 0 END AS counted_service
FROM counted
UNION ALL
SELECT
    break_code,
    match_rule,
    row_no,
    id,
    currency_ledger,
    currency_service,
    age_days,
    in_ledger,
    in_service,
    1 AS rows,
    coalesce(amount_ledger, amount_service)::HUGEINT AS amount,
    counted_ledger::HUGEINT AS counted_ledger,
    counted_service::HUGEINT AS counted_service
FROM judged_of('met');

CREATE TEMP TABLE alone_books AS
SELECT b.*
FROM few_books AS b
WHERE b.row_no IN (SELECT row_no FROM judged WHERE row_no IS NOT NULL AND id IS NULL);

CREATE TEMP TABLE alone_service AS
SELECT s.*
FROM few_service AS s
WHERE s.paid AND s.id IN (SELECT id FROM judged WHERE row_no IS NULL AND id IS NOT NULL);

CREATE TEMP TABLE few_pairs AS
SELECT row_no, id FROM pairs
UNION ALL
SELECT row_no, id FROM named WHERE place = 1;

-- A line left over is a duplicate when its twin met a collection.
CREATE TEMP TABLE twins AS
SELECT l.row_no
FROM alone_books AS l
INNER JOIN few_books AS b
    ON b.reference = l.reference AND b.currency = l.currency AND b.amount = l.amount
INNER JOIN few_pairs AS p ON p.row_no = b.row_no
WHERE l.paid
UNION
SELECT l.row_no
FROM alone_books AS l
INNER JOIN named AS n ON n.row_no = l.row_no
WHERE l.paid;

-- A success left over is a second payment when another one of its reference was met or came first.
CREATE TEMP TABLE seconds AS
SELECT DISTINCT l.id
FROM alone_service AS l
INNER JOIN few_service AS s ON s.reference = l.reference AND s.id <> l.id
LEFT JOIN few_pairs AS p ON p.id = s.id
WHERE s.paid AND (p.id IS NOT NULL OR (s.created_at, s.id) < (l.created_at, l.id));

-- Lines whose key exists in the other mode, and not in this one.
CREATE TEMP TABLE elsewhere AS
WITH there AS (
    SELECT l.row_no, l.reference
    FROM alone_books AS l
    WHERE l.reference IN (SELECT reference FROM other_mode WHERE reference IS NOT NULL)
        OR l.collection_id IN (SELECT id FROM other_mode WHERE id IS NOT NULL)
),

here AS (
    SELECT DISTINCT s.reference
    FROM service AS s
    SEMI JOIN there ON there.reference = s.reference
)

SELECT row_no
FROM there
WHERE reference IS NULL OR reference NOT IN (SELECT reference FROM here);

CREATE TEMP TABLE unresolved AS
SELECT row_no
FROM alone_books
WHERE reference IN (SELECT reference FROM intents WHERE reference IS NOT NULL);

UPDATE judged
SET break_code = CASE
    WHEN row_no IN (SELECT row_no FROM twins) THEN 'duplicate_in_ledger'::code
    WHEN row_no IN (SELECT row_no FROM elsewhere) THEN 'mode_mismatch'::code
    WHEN row_no IN (SELECT row_no FROM unresolved) THEN 'outcome_unknown'::code
    ELSE break_code
END
WHERE row_no IS NOT NULL AND id IS NULL;

UPDATE judged
SET break_code = 'double_payment'::code
WHERE row_no IS NULL
    AND break_code IN (
        'timing_unbooked'::code, 'perhaps_booked_earlier'::code, 'missing_in_ledger'::code
    )
    AND id IN (SELECT id FROM seconds);

-- Never a match, only a hint: same money within minutes on the other side.
CREATE TEMP TABLE hints AS
SELECT
    l.row_no,
    s.id,
    row_number() OVER (
        PARTITION BY l.row_no
        ORDER BY abs(epoch_us(l.booked_at) - epoch_us(s.completed_at)), s.id
    ) AS place_row,
    row_number() OVER (
        PARTITION BY s.id
        ORDER BY abs(epoch_us(l.booked_at) - epoch_us(s.completed_at)), l.row_no
    ) AS place_id
FROM alone_books AS l
CROSS JOIN span
INNER JOIN alone_service AS s
    ON l.currency = s.currency
    AND l.amount = s.due
    AND abs(epoch_us(l.booked_at) - epoch_us(s.completed_at)) <= span.double_minutes * 60000000
WHERE l.paid;
