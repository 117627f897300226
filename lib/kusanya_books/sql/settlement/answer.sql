SELECT
    s.break_code,
    rule.standing,
    s.business_day,
    nullif(s.channel, '') AS channel,
    s.currency,
    s.collection_id,
    s.batch_id,
    nullif(f.input, '') AS input,
    f.file_line AS line_no,
    s.lines,
    CASE
        WHEN s.group_key IS NOT NULL THEN concat_ws(' ', nullif(f.input, ''), 'line', f.file_line::VARCHAR)
    END AS group_key,
    s.count,
    s.gross,
    s.fee,
    s.net,
    s.gross_settled,
    s.fee_settled,
    s.net_settled,
    -- What the customer has is not owed to us, nor is what another period earned.
    CASE
        WHEN s.break_code IN {not_of_period} THEN 0
        ELSE s.net - s.net_settled
    END AS open_balance,
    rule.action AS suggested_action
FROM settled AS s
INNER JOIN rules AS rule ON rule.break_code = s.break_code
LEFT JOIN statement AS f ON f.line_no = s.line_no
WHERE $everything OR rule.standing <> 'ok'
ORDER BY
    CASE rule.standing WHEN 'break' THEN 0 WHEN 'expected' THEN 1 ELSE 2 END,
    rule.place,
    s.business_day,
    s.channel,
    s.currency,
    s.collection_id NULLS FIRST,
    s.line_no NULLS FIRST
