-- How old the breaks are: rows and money by code and age.
SELECT
    coalesce(j.currency_ledger, j.currency_service) AS currency,
    j.break_code,
    v.standing,
    count(*) AS rows,
    count(*) FILTER (j.age_days <= 1) AS rows_0_1,
    count(*) FILTER (j.age_days BETWEEN 2 AND 3) AS rows_2_3,
    count(*) FILTER (j.age_days BETWEEN 4 AND 7) AS rows_4_7,
    count(*) FILTER (j.age_days BETWEEN 8 AND 30) AS rows_8_30,
    count(*) FILTER (j.age_days > 30) AS rows_over_30,
    sum(coalesce(j.amount_ledger, j.amount_service))::BIGINT AS amount,
    sum(j.counted_ledger - j.counted_service)::BIGINT AS bridge_effect,
    v.action AS suggested_action
FROM judged AS j
INNER JOIN verdicts AS v ON v.break_code = j.break_code
GROUP BY coalesce(j.currency_ledger, j.currency_service), j.break_code, v.standing, v.place, v.action
ORDER BY
    currency, CASE v.standing WHEN 'break' THEN 0 WHEN 'expected' THEN 1 ELSE 2 END, v.place
