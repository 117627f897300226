-- What one side names and the loaded days do not answer, to be looked up in everything that is known:
-- lines of the period (refunds and reversals too) without the collection that they name and without a
-- success on their reference, and successes of the period without a line, whose reference may have
-- been paid long before.
-- References are looked up in capitals and in small letters too: the books may write them otherwise.
WITH payments AS (
    SELECT collection_id, reference, booked_day FROM ledger WHERE kind = 'payment'
),

lines AS (
    SELECT collection_id, reference
    FROM ledger
    WHERE kind <> 'charge' AND booked_day BETWEEN $first AND $last
),

won AS (
    SELECT id, reference, business_day BETWEEN $first AND $last AS inside
    FROM collections
    WHERE status IN {paid}
),

unknown AS (
    SELECT l.collection_id, l.reference
    FROM lines AS l
    ANTI JOIN collections AS c ON c.id = l.collection_id
    ANTI JOIN won ON won.reference = l.reference
)

SELECT collection_id AS id, reference FROM unknown
UNION
SELECT NULL AS id, upper(trim(reference)) AS reference FROM unknown WHERE reference IS NOT NULL
UNION
SELECT NULL AS id, lower(trim(reference)) AS reference FROM unknown WHERE reference IS NOT NULL
UNION
SELECT NULL AS id, w.reference
FROM won AS w
ANTI JOIN payments AS l ON l.reference = w.reference
ANTI JOIN payments AS l ON l.collection_id = w.id
WHERE w.inside
ORDER BY id, reference
