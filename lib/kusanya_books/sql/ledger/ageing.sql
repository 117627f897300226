-- How old the breaks are: rows and money by code and age.
SELECT
    coalesce(j.currency_ledger, j.currency_service) AS currency,
    rule.break_code,
    rule.standing,
    sum(j.rows)::BIGINT AS rows,
    coalesce(sum(j.rows) FILTER (WHERE j.age_days <= 1), 0)::BIGINT AS rows_0_1,
    coalesce(sum(j.rows) FILTER (WHERE j.age_days BETWEEN 2 AND 3), 0)::BIGINT AS rows_2_3,
    coalesce(sum(j.rows) FILTER (WHERE j.age_days BETWEEN 4 AND 7), 0)::BIGINT AS rows_4_7,
    coalesce(sum(j.rows) FILTER (WHERE j.age_days BETWEEN 8 AND 30), 0)::BIGINT AS rows_8_30,
    coalesce(sum(j.rows) FILTER (WHERE j.age_days > 30), 0)::BIGINT AS rows_over_30,
    sum(j.at_stake)::BIGINT AS amount,
    sum(j.counted_ledger - j.counted_service)::BIGINT AS bridge_effect,
    rule.action AS suggested_action
FROM judged AS j
INNER JOIN rules AS rule ON rule.break_code = j.break_code
GROUP BY
    coalesce(j.currency_ledger, j.currency_service),
    rule.break_code, rule.standing, rule.place, rule.action
-- What was counted before a line in another spelling met it is counted no more.
HAVING sum(j.rows) <> 0
ORDER BY
    currency, CASE rule.standing WHEN 'break' THEN 0 WHEN 'expected' THEN 1 ELSE 2 END, rule.place
