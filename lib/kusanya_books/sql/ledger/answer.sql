-- The rows for people, worst first: breaks in the order of their codes, the oldest on top.
WITH shown_books AS (
    SELECT
        row_no, reference, collection_id, channel, currency, amount, fee, status, booked_at,
        booked_day
    FROM every_books
    UNION ALL
    SELECT
        row_no, reference, collection_id, channel, currency, amount, fee, status, booked_at,
        booked_day
    FROM apart_lines
),

listed AS (
    SELECT j.*, rule.standing, rule.place, rule.action
    FROM judged AS j
    INNER JOIN rules AS rule ON rule.break_code = j.break_code
    WHERE (j.row_no IS NOT NULL OR j.id IS NOT NULL) AND ({everything} OR rule.standing <> 'ok')
)

SELECT
    j.break_code,
    j.standing,
    j.match_rule,
    j.group_key,
    coalesce(b.reference, s.reference) AS reference,
    CASE WHEN b.reference <> s.reference THEN s.reference END AS reference_service,
    coalesce(j.id, b.collection_id) AS collection_id,
    j.row_no,
    s.mode,
    coalesce(s.channel, b.channel) AS channel,
    b.currency AS currency_ledger,
    s.currency AS currency_service,
    b.amount AS amount_ledger,
    s.amount AS amount_service,
    b.fee AS fee_ledger,
    s.fee AS fee_service,
    b.status AS status_ledger,
    s.status AS status_service,
    b.amount - s.due AS amount_drift,
    b.fee - s.fee AS fee_drift,
    CASE
        WHEN {net_basis} THEN b.amount - s.due
        ELSE b.amount - s.due - coalesce(b.fee - s.fee, 0)
    END AS net_drift,
    j.counted_ledger::BIGINT AS counted_ledger,
    j.counted_service::BIGINT AS counted_service,
    CASE
        WHEN b.currency <> s.currency THEN NULL
        ELSE (j.counted_ledger - j.counted_service)::BIGINT
    END AS bridge_effect,
    j.at_stake::BIGINT AS at_stake,
    s.created_at,
    s.completed_at,
    b.booked_at,
    s.business_day,
    b.booked_day,
    j.age_days,
    CASE
        WHEN j.age_days <= 1 THEN '0-1'
        WHEN j.age_days <= 3 THEN '2-3'
        WHEN j.age_days <= 7 THEN '4-7'
        WHEN j.age_days <= 30 THEN '8-30'
        ELSE '>30'
    END AS age_bucket,
    j.action AS suggested_action,
    h.text AS suggested_match,
    NULL::VARCHAR AS note,
    NULL::VARCHAR AS owner
FROM listed AS j
LEFT JOIN shown_books AS b ON b.row_no = j.row_no
LEFT JOIN every_service AS s ON s.id = j.id
LEFT JOIN hints AS h ON h.row_no = coalesce(j.row_no, 0) AND h.id = coalesce(j.id, '')
ORDER BY
    CASE j.standing WHEN 'break' THEN 0 WHEN 'expected' THEN 1 ELSE 2 END,
    j.place,
    j.age_days DESC,
    j.group_key NULLS FIRST,
    reference NULLS LAST,
    collection_id NULLS LAST,
    j.row_no NULLS LAST
