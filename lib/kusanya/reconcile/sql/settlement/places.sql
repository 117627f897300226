-- Where the lines of the settlement statement went, by the standing of their code. A line that pays
-- several days counts as a line on the last of them.
WITH judged AS (
    SELECT s.currency, rule.standing, s.lines, s.net_settled AS net
    FROM settled AS s
    INNER JOIN rules AS rule ON rule.break_code = s.break_code
    WHERE s.line_no IS NOT NULL
    UNION ALL
    SELECT l.currency, 'outside' AS standing, l.lines, l.net
    FROM lines AS l
    ANTI JOIN ours ON ours.unit = l.unit
    WHERE NOT coalesce(l.business_day BETWEEN {first_day} AND {last_day}, FALSE)
)

SELECT
    'statement' AS input,
    currency,
    standing,
    sum(lines)::BIGINT AS rows,
    sum(net)::BIGINT AS amount
FROM judged
GROUP BY currency, standing
ORDER BY currency, standing
