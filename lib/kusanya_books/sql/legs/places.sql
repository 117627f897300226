-- Where the lines of a statement that lie in the period went, by the standing of their code.
SELECT
    m.input,
    m.currency,
    rule.standing,
    count(*) AS rows,
    sum(m.amount)::BIGINT AS amount
FROM judged AS j
INNER JOIN rules AS rule ON rule.break_code = j.break_code
INNER JOIN moves AS m ON m.move = j.move
WHERE m.day BETWEEN {first_day} AND {last_day}
GROUP BY m.input, m.currency, rule.standing
ORDER BY m.input, m.currency, rule.standing
