SELECT
    id AS collection_id,
    reference,
    mode,
    currency,
    channel,
    status,
    amount,
    fee,
    created_at,
    completed_at,
    created_day,
    business_day
FROM collections
WHERE created_day <> business_day
    AND (created_day BETWEEN $first AND $last OR business_day BETWEEN $first AND $last)
ORDER BY created_at, id
