-- The rows for people, worst first: breaks in the order of their codes, the oldest on top.
SELECT
    j.break_code,
    v.standing,
    j.match_rule,
    coalesce(j.reference_ledger, j.reference_service) AS reference,
    coalesce(j.id, j.named_id) AS collection_id,
    j.row_no,
    j.mode,
    coalesce(j.channel_service, j.channel_ledger) AS channel,
    j.currency_ledger,
    j.currency_service,
    j.amount_ledger,
    j.amount_service,
    j.fee_ledger,
    j.fee_service,
    j.status_ledger,
    j.status_service,
    j.amount_ledger - j.due AS amount_drift,
    j.fee_ledger - j.fee_service AS fee_drift,
    CASE
        WHEN j.net_basis THEN j.amount_ledger - j.due
        ELSE j.amount_ledger - j.due - coalesce(j.fee_ledger - j.fee_service, 0)
    END AS net_drift,
    j.counted_ledger,
    j.counted_service,
    CASE
        WHEN j.currency_ledger <> j.currency_service THEN NULL
        ELSE j.counted_ledger - j.counted_service
    END AS bridge_effect,
    j.created_at,
    j.completed_at,
    j.booked_at,
    j.business_day,
    j.booked_day,
    j.age_days,
    CASE
        WHEN j.age_days <= 1 THEN '0-1'
        WHEN j.age_days <= 3 THEN '2-3'
        WHEN j.age_days <= 7 THEN '4-7'
        WHEN j.age_days <= 30 THEN '8-30'
        ELSE '>30'
    END AS age_bucket,
    v.action AS suggested_action,
    coalesce(of_row.id, 'row ' || of_id.row_no) AS suggested_match,
    NULL::VARCHAR AS note,
    NULL::VARCHAR AS owner
FROM judged AS j
INNER JOIN verdicts AS v ON v.break_code = j.break_code
LEFT JOIN hints AS of_row ON of_row.row_no = j.row_no AND of_row.place_row = 1 AND j.id IS NULL
LEFT JOIN hints AS of_id ON of_id.id = j.id AND of_id.place_id = 1 AND j.row_no IS NULL
WHERE $everything OR v.standing <> 'ok'
ORDER BY
    CASE v.standing WHEN 'break' THEN 0 WHEN 'expected' THEN 1 ELSE 2 END,
    v.place,
    j.age_days DESC,
    reference NULLS LAST,
    collection_id NULLS LAST,
    j.row_no NULLS LAST
