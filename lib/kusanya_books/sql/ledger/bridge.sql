-- From the ledger's total to the service's. The totals come from the inputs, the effects from the
-- result: a row that was lost or doubled on the way leaves something unexplained.
WITH sums AS (
    SELECT
        break_code,
        currency_ledger,
        currency_service,
        coalesce(sum(rows) FILTER (WHERE in_ledger OR in_service), 0) AS rows,
        coalesce(sum(rows) FILTER (WHERE in_ledger), 0) AS rows_ledger,
        coalesce(sum(rows) FILTER (WHERE in_service), 0) AS rows_service,
        sum(counted_ledger) AS ledger,
        sum(counted_service) AS service
    FROM judged
    GROUP BY break_code, currency_ledger, currency_service
),

parts AS (
    SELECT
        break_code, coalesce(currency_ledger, currency_service) AS currency, rows,
        ledger - service AS effect
    FROM sums
    WHERE currency_ledger = currency_service
        OR currency_ledger IS NULL
        OR currency_service IS NULL
    UNION ALL
    SELECT break_code, currency_ledger AS currency, rows_ledger AS rows, ledger AS effect
    FROM sums
    WHERE currency_ledger <> currency_service
    UNION ALL
    SELECT break_code, currency_service AS currency, rows_service AS rows, -service AS effect
    FROM sums
    WHERE currency_ledger <> currency_service
),

effects AS (
    SELECT break_code, currency, sum(rows)::BIGINT AS rows, sum(effect)::BIGINT AS amount
    FROM parts
    WHERE rows > 0
    GROUP BY break_code, currency
),

currencies AS (
    SELECT currency FROM sides
    UNION
    SELECT currency FROM effects
),

lines AS (
    SELECT
        c.currency, 0 AS place, 'ledger total' AS line, coalesce(s.rows, 0) AS rows,
        coalesce(s.amount, 0)::BIGINT AS amount
    FROM currencies AS c
    LEFT JOIN sides AS s ON s.currency = c.currency AND s.side = 'ledger'
    UNION ALL
    SELECT e.currency, rule.place, e.break_code, e.rows, -e.amount
    FROM effects AS e
    INNER JOIN rules AS rule ON rule.break_code = e.break_code
    UNION ALL
    SELECT
        c.currency, 100 AS place, 'service total' AS line, coalesce(s.rows, 0) AS rows,
        coalesce(s.amount, 0)::BIGINT AS amount
    FROM currencies AS c
    LEFT JOIN sides AS s ON s.currency = c.currency AND s.side = 'service'
    UNION ALL
    SELECT
        c.currency,
        101 AS place,
        'unexplained' AS line,
        0 AS rows,
        (
            coalesce((SELECT amount FROM sides WHERE side = 'ledger' AND currency = c.currency), 0)
            - coalesce(
                (SELECT amount FROM sides WHERE side = 'service' AND currency = c.currency), 0
            )
            - coalesce((SELECT sum(amount) FROM effects WHERE currency = c.currency), 0)
        )::BIGINT AS amount
    FROM currencies AS c
)

SELECT currency, line, rows, amount FROM lines ORDER BY currency, place
