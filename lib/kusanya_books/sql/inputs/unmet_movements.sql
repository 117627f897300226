-- What the operator's payments, and its lines that take one back, name and the loaded days do not answer, to be looked up in everything
-- that is known: a payment is called unknown only after that. References in either case.
WITH payments AS (
    SELECT kind, collection_id, reference, details, lower(trim(receipt)) AS receipt_key
    FROM movements
    WHERE leg = 'operator'
        AND kind IN ('payment', 'reversal', 'refund', 'chargeback')
        AND status = 'completed'
),

receipts_named AS (
    SELECT receipt_key FROM payments
    UNION
    SELECT
        unnest(
            string_split_regex(lower(concat_ws(' ', details, reference)), '[^a-z0-9-]+')
        ) AS receipt_key
    FROM payments
    WHERE kind <> 'payment'
),

unknown AS (
    SELECT p.reference
    FROM payments AS p
    ANTI JOIN collections AS c ON lower(trim(c.reference)) = lower(trim(p.reference))
    ANTI JOIN collections AS c ON c.id = p.collection_id
    WHERE p.reference IS NOT NULL
)

SELECT p.collection_id AS id, NULL::VARCHAR AS reference
FROM payments AS p
ANTI JOIN collections AS c ON c.id = p.collection_id
WHERE p.collection_id IS NOT NULL
UNION
SELECT k.collection_id AS id, NULL::VARCHAR AS reference
FROM receipts AS k
SEMI JOIN receipts_named AS p ON p.receipt_key = lower(trim(k.receipt))
ANTI JOIN collections AS c ON c.id = k.collection_id
UNION
SELECT NULL::VARCHAR AS id, trim(reference) AS reference FROM unknown
UNION
SELECT NULL::VARCHAR AS id, upper(trim(reference)) AS reference FROM unknown
UNION
SELECT NULL::VARCHAR AS id, lower(trim(reference)) AS reference FROM unknown
ORDER BY id, reference
