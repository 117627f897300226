SELECT
    id AS collection_id,
    reference,
    mode,
    currency,
    channel,
    created_day,
    status,
    amount,
    fee AS charged,
    expected_fee AS expected,
    fee - expected_fee AS drift
FROM priced
WHERE created_day BETWEEN $first AND $last AND abs(fee - expected_fee) > {fee_tolerance}
ORDER BY abs(fee - expected_fee) DESC, created_at, id
