-- Where the lines of the settlement statement went, by file and by the standing of their code: those
-- that pay for one unit together go where it went. A line that pays several days counts as a line on
-- the last of them.
WITH went AS (
    SELECT l.line_no, l.lines, l.net, s.break_code
    FROM lines AS l
    INNER JOIN settled AS s ON s.unit_paid = l.unit
    WHERE NOT l.again AND NOT l.known
    UNION ALL
    SELECT s.line_no, s.lines, s.net_settled AS net, s.break_code
    FROM settled AS s
    WHERE s.unit_paid IS NULL AND s.line_no IS NOT NULL
)

SELECT
    concat_ws(' ', 'statement', nullif(f.input, '')) AS input,
    f.currency,
    CASE
        WHEN w.break_code IN ('settlement_other_period', 'settlement_read_before') THEN 'outside'
        ELSE rule.standing
    END AS standing,
    sum(w.lines)::BIGINT AS rows,
    sum(w.net)::BIGINT AS amount
FROM went AS w
INNER JOIN statement AS f ON f.line_no = w.line_no
INNER JOIN rules AS rule ON rule.break_code = w.break_code
GROUP BY 1, 2, 3
ORDER BY 1, 2, 3
