-- From the sum of a statement's movements to that of the other side, by account and currency. The
-- sums come from the inputs, the effects from the result. Where the lines have balances, the sum is
-- held against the first and the last of them as well. An operator's account is its channel; a bank's
-- lines have one without a name.
WITH totals AS (
    SELECT m.account, m.currency, count(*) AS rows, sum(m.amount)::BIGINT AS amount
    FROM moves AS m
    WHERE m.is_completed AND m.day BETWEEN {first_day} AND {last_day}
    GROUP BY m.account, m.currency
),

parts AS (
    SELECT
        account_line AS account, currency_line AS currency, break_code,
        coalesce(move, 0) AS move, coalesce(id, '') AS id, counted_line AS effect
    FROM judged
    WHERE is_counted_line
    UNION ALL
    SELECT
        account_other AS account, currency_other AS currency, break_code,
        coalesce(move, 0) AS move, coalesce(id, '') AS id, -counted_other AS effect
    FROM judged
    WHERE is_counted_other
),

effects AS (
    SELECT
        account,
        currency,
        break_code,
        count(DISTINCT concat_ws(' ', move::VARCHAR, id)) AS rows,
        sum(effect)::BIGINT AS amount
    FROM parts
    GROUP BY account, currency, break_code
),

accounts AS (
    SELECT account, currency FROM totals
    UNION
    SELECT account, currency FROM others
    UNION
    SELECT account, currency FROM effects
),

sums AS (
    SELECT
        a.account,
        a.currency,
        coalesce(t.rows, 0) AS rows_line,
        coalesce(t.amount, 0) AS amount_line,
        coalesce(o.rows, 0) AS rows_other,
        coalesce(o.amount, 0) AS amount_other
    FROM accounts AS a
    LEFT JOIN totals AS t ON t.account = a.account AND t.currency = a.currency
    LEFT JOIN others AS o ON o.account = a.account AND o.currency = a.currency
),

lines AS (
    SELECT
        account, currency, 0 AS place, '{total}' AS line, rows_line AS rows, amount_line AS amount
    FROM sums
    UNION ALL
    SELECT e.account, e.currency, rule.place, e.break_code AS line, e.rows, -e.amount AS amount
    FROM effects AS e
    INNER JOIN rules AS rule ON rule.break_code = e.break_code
    UNION ALL
    SELECT
        account, currency, 100 AS place, '{other}' AS line, rows_other AS rows,
        amount_other AS amount
    FROM sums
    UNION ALL
    SELECT
        s.account,
        s.currency,
        101 AS place,
        'unexplained' AS line,
        0 AS rows,
        (s.amount_line - s.amount_other - coalesce(e.amount, 0))::BIGINT AS amount
    FROM sums AS s
    LEFT JOIN (
        SELECT account, currency, sum(amount) AS amount FROM effects GROUP BY account, currency
    ) AS e
        ON e.account = s.account AND e.currency = s.currency
    UNION ALL
    SELECT account, currency, 102 AS place, 'opening balance' AS line, 0 AS rows, opening AS amount
    FROM balances
    UNION ALL
    SELECT b.account, b.currency, 103, 'without a balance', 0, b.moved - coalesce(t.amount, 0)
    FROM balances AS b
    LEFT JOIN totals AS t ON t.account = b.account AND t.currency = b.currency
    WHERE b.moved <> coalesce(t.amount, 0)
    UNION ALL
    SELECT account, currency, 104, 'fees in the balances', 0, -fees FROM balances WHERE fees <> 0
    UNION ALL
    SELECT account, currency, 105, 'closing balance', 0, opening + moved - fees + denied
    FROM balances
    UNION ALL
    SELECT account, currency, 106, 'not in the balances', 0, denied FROM balances
    UNION ALL
    SELECT account, currency, 107, 'operator fees', rows, fee FROM fee_sums
    UNION ALL
    SELECT account, currency, 108, 'service fees', rows, fee_service FROM fee_sums
    UNION ALL
    SELECT account, currency, 109, 'fee difference', rows, fee - fee_service FROM fee_sums
)

SELECT nullif(account, '') AS channel, currency, line, rows::BIGINT AS rows, amount
FROM lines
ORDER BY account, currency, place
