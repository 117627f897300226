-- What the books give orders back, in how many lines, and in how many of them before the period;
-- `amount` is below zero.
CREATE TEMP VIEW refunds_booked AS
SELECT
    lower(trim(reference)) AS reference_key,
    currency,
    amount,
    count(*) AS rows,
    count(*) FILTER (WHERE booked_day < {first_day}) AS rows_before
FROM books
WHERE status = 'paid' AND kind IN {gives_back}
GROUP BY lower(trim(reference)), currency, amount
