-- Where the lines of the books and the collections of the period went, by the standing of their code.
WITH sides AS (
    SELECT
        'ledger' AS input, currency_ledger AS currency, break_code, rows, counted_ledger AS amount
    FROM judged
    WHERE in_ledger
    UNION ALL
    SELECT
        'collections' AS input, currency_service AS currency, break_code, rows,
        counted_service AS amount
    FROM judged
    WHERE in_service
)

SELECT
    s.input,
    s.currency,
    rule.standing,
    sum(s.rows)::BIGINT AS rows,
    sum(s.amount)::BIGINT AS amount
FROM sides AS s
INNER JOIN rules AS rule ON rule.break_code = s.break_code
GROUP BY s.input, s.currency, rule.standing
ORDER BY s.input, s.currency, rule.standing
