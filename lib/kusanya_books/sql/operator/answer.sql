-- The rows for people, worst first.
SELECT
    j.break_code,
    rule.standing,
    j.match_rule,
    'line ' || g.line_no || ' of ' || g.input AS group_key,
    m.receipt,
    coalesce(r.reference, o.reference, m.reference) AS reference,
    coalesce(j.id, m.collection_id) AS collection_id,
    m.input,
    m.line_no,
    m.kind,
    coalesce(m.channel, r.channel) AS channel,
    coalesce(m.currency, r.currency) AS currency,
    m.status AS status_operator,
    r.status AS status_service,
    m.amount AS amount_operator,
    r.amount AS amount_service,
    CASE WHEN m.currency = r.currency THEN m.amount - r.amount END AS amount_drift,
    j.fee_operator,
    j.fee_service,
    CASE
        WHEN r.currency IS NULL OR m.currency = r.currency THEN j.fee_operator - j.fee_service
    END AS fee_drift,
    j.counted_line AS counted_operator,
    j.counted_other AS counted_service,
    CASE
        WHEN m.currency <> r.currency OR m.account <> r.account THEN NULL
        ELSE j.counted_line - j.counted_other
    END AS bridge_effect,
    CASE
        WHEN j.break_code IN ('operator_fee_differs', 'operator_fees_differ')
            THEN abs(j.fee_operator - j.fee_service)
        WHEN r.paid AND m.currency = r.currency AND m.amount <> r.amount
            THEN abs(m.amount - r.amount)
        WHEN j.break_code = 'operator_within_tolerance' THEN abs(j.fee_operator - j.fee_service)
        ELSE abs(coalesce(m.amount, r.amount))
    END AS at_stake,
    m.at,
    r.completed_at,
    m.day::TIMESTAMP AS operator_day,
    r.business_day::TIMESTAMP AS business_day,
    j.age_days,
    rule.action AS suggested_action
FROM judged AS j
INNER JOIN rules AS rule ON rule.break_code = j.break_code
LEFT JOIN moves AS m ON m.move = j.move
LEFT JOIN received AS r ON r.id = j.id
LEFT JOIN moves AS g ON g.move = j.group_move
LEFT JOIN orders_of_backs AS o ON o.move = j.move
WHERE $everything OR rule.standing <> 'ok'
ORDER BY
    CASE rule.standing WHEN 'break' THEN 0 WHEN 'expected' THEN 1 ELSE 2 END,
    rule.place,
    j.age_days DESC,
    reference NULLS LAST,
    collection_id NULLS LAST,
    m.input NULLS LAST,
    m.line_no NULLS LAST,
    j.move NULLS LAST
