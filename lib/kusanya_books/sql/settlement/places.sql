-- Where the lines of the settlement statement went, by the standing of their code. A line that pays
-- several days counts as a line on the last of them.
SELECT
    'statement' AS input,
    s.currency,
    CASE
        WHEN s.break_code IN ('settlement_other_period', 'settlement_read_before') THEN 'outside'
        ELSE rule.standing
    END AS standing,
    sum(s.lines)::BIGINT AS rows,
    sum(s.net_settled)::BIGINT AS amount
FROM settled AS s
INNER JOIN rules AS rule ON rule.break_code = s.break_code
WHERE s.line_no IS NOT NULL
GROUP BY 1, 2, 3
ORDER BY 1, 2, 3
