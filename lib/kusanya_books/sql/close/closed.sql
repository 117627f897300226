SELECT
    id,
    reference,
    mode,
    currency,
    channel,
    status,
    failure_code,
    amount,
    fee,
    business_day,
    created_day,
    contradictions,
    seq
FROM collections
WHERE coalesce(business_day, created_day) BETWEEN $first AND $last
ORDER BY id
