-- The totals of both sides from the inputs, for the bridge.
CREATE TEMP TABLE sides AS
SELECT 'ledger' AS side, currency, count(*) AS rows, sum(amount) AS amount
FROM (
    SELECT currency, amount, booked, booked_day FROM books
    UNION ALL
    SELECT currency, amount, booked, booked_day FROM apart_lines
) AS lines
WHERE booked AND booked_day BETWEEN {first_day} AND {last_day}
GROUP BY currency
UNION ALL
SELECT
    'service' AS side,
    currency,
    count(*) AS rows,
    sum(due) AS amount
FROM service
WHERE paid AND business_day BETWEEN {first_day} AND {last_day}
GROUP BY currency;
