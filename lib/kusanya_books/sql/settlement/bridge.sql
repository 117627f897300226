-- From gross over fees to what was paid out, and what is still owed to us.
WITH sides AS (
    SELECT
        currency,
        count(*) AS rows,
        sum(amount)::BIGINT AS gross,
        sum(fee)::BIGINT AS fee,
        0::BIGINT AS net_settled,
        0 AS lines
    FROM earned
    WHERE inside
    GROUP BY currency
    UNION ALL
    SELECT
        l.currency,
        0 AS rows,
        0::BIGINT AS gross,
        0::BIGINT AS fee,
        sum(l.net)::BIGINT AS net_settled,
        sum(l.lines)::BIGINT AS lines
    FROM (
        SELECT currency, net, lines FROM lines
        UNION ALL
        SELECT currency, net, 1 AS lines FROM statement WHERE kind = 'charge'
    ) AS l
    GROUP BY l.currency
),

totals AS (
    SELECT
        currency,
        sum(rows)::BIGINT AS rows,
        sum(gross)::BIGINT AS gross,
        sum(fee)::BIGINT AS fee,
        sum(net_settled)::BIGINT AS net_settled,
        sum(lines)::BIGINT AS lines
    FROM sides
    GROUP BY currency
),

parts AS (
    SELECT row_no, break_code, currency, net AS effect FROM settled WHERE count > 0
    UNION ALL
    SELECT row_no, break_code, currency, -net_settled AS effect FROM settled WHERE line_no IS NOT NULL
),

-- Paid for another period, or kept for a refund or a charge: none of it is owed.
apart AS (
    SELECT currency, sum(net_settled)::BIGINT AS amount
    FROM settled
    WHERE break_code IN {not_of_period}
    GROUP BY currency
),

effects AS (
    SELECT break_code, currency, count(DISTINCT row_no) AS rows, sum(effect)::BIGINT AS amount
    FROM parts
    GROUP BY break_code, currency
),

listed AS (
    SELECT currency, 0 AS place, 'gross' AS line, rows, gross AS amount FROM totals
    UNION ALL
    SELECT currency, 1, 'fees', rows, -fee FROM totals
    UNION ALL
    SELECT currency, 2, 'net', rows, gross - fee FROM totals
    UNION ALL
    SELECT e.currency, 10 + rule.place, e.break_code, e.rows, -e.amount
    FROM effects AS e
    INNER JOIN rules AS rule ON rule.break_code = e.break_code
    WHERE e.amount <> 0
    UNION ALL
    SELECT currency, 100, 'paid out', lines, net_settled FROM totals
    UNION ALL
    SELECT t.currency, 101, 'open balance', 0, t.gross - t.fee - t.net_settled + coalesce(a.amount, 0)
    FROM totals AS t
    LEFT JOIN apart AS a ON a.currency = t.currency
    UNION ALL
    SELECT
        t.currency,
        102,
        'unexplained',
        0,
        (t.gross - t.fee - t.net_settled - coalesce(
            (SELECT sum(e.amount) FROM effects AS e WHERE e.currency = t.currency), 0
        ))::BIGINT
    FROM totals AS t
)

SELECT currency, line, rows, amount FROM listed ORDER BY currency, place
