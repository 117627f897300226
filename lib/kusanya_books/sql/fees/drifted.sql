SELECT
    id AS collection_id,
    reference,
    mode,
    currency,
    channel,
    status,
    amount,
    fee_202,
    fee_event,
    fee_get,
    first_fee AS first,
    last_fee AS last,
    last_fee - first_fee AS drift
FROM evidence
WHERE created_day BETWEEN $first AND $last AND moved
ORDER BY abs(last_fee - first_fee) DESC, created_at, id
