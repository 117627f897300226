-- Every line of the books with the collection that it agrees with: what the bridge passes over in
-- silence. Those that were counted by their key alone are read again by it.
WITH counted_pairs AS (
    SELECT v.key, v.break_code
    FROM plain_verdicts AS v
    CROSS JOIN span
    WHERE v.is_inside
        AND v.has_line
        AND v.booked
        AND v.has_collection
        AND v.break_code IN {ok_codes}
        AND NOT v.is_crossing
        AND NOT span.everything
),

pairs AS (
    SELECT b.row_no, s.id, c.break_code
    FROM counted_pairs AS c
    INNER JOIN books AS b ON b.key = c.key
    INNER JOIN service AS s ON s.key = c.key
    UNION ALL
    SELECT j.row_no, j.id, j.break_code
    FROM judged AS j
    WHERE j.row_no IS NOT NULL AND j.id IS NOT NULL AND j.break_code IN {ok_codes}
)

SELECT
    b.row_no,
    b.reference,
    s.id AS collection_id,
    s.channel,
    s.currency,
    b.amount AS amount_ledger,
    s.amount AS amount_service,
    s.fee AS fee_service,
    b.booked_day::TIMESTAMP AS booked_day,
    s.business_day::TIMESTAMP AS business_day
FROM pairs AS p
INNER JOIN books AS b ON b.row_no = p.row_no
INNER JOIN service AS s ON s.id = p.id
WHERE b.booked
ORDER BY b.row_no
