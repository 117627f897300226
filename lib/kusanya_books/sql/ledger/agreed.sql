-- Every line of the books with the collection that it agrees with: what the bridge passes over in
-- silence. Those that were counted by their key alone are read again by it.
SELECT
    v.row_no,
    v.reference,
    v.id AS collection_id,
    v.channel,
    v.currency_service AS currency,
    v.amount_ledger,
    v.amount_service,
    v.fee_service,
    v.booked_day::TIMESTAMP AS booked_day,
    v.business_day::TIMESTAMP AS business_day
FROM plain_verdicts AS v
WHERE v.is_inside
    AND v.has_line
    AND v.booked
    AND v.has_collection
    AND v.break_code IN {ok_codes}
    AND NOT v.is_crossing
    AND NOT {everything}
UNION ALL
SELECT
    b.row_no,
    b.reference,
    s.id AS collection_id,
    s.channel,
    s.currency,
    b.amount AS amount_ledger,
    s.amount AS amount_service,
    s.fee AS fee_service,
    b.booked_day,
    s.business_day
FROM judged AS j
INNER JOIN books AS b ON b.row_no = j.row_no
INNER JOIN service AS s ON s.id = j.id
WHERE j.break_code IN {ok_codes} AND b.booked
ORDER BY row_no
