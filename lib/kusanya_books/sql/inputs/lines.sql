-- Every line of the files, by where it lies: what is outside the period is shown with its sum.
WITH every AS (
    SELECT 'ledger' AS input, currency, booked_day AS day, amount, status = 'paid' AS paid
    FROM ledger
    UNION ALL
    SELECT
        concat_ws(' ', 'statement', nullif(input, '')) AS input,
        currency,
        business_day AS day,
        net AS amount,
        TRUE AS paid
    FROM statement
),

placed AS (
    SELECT
        *,
        CASE
            WHEN day < $first THEN 1
            WHEN day > $last THEN 3
            WHEN day IS NULL THEN 4
            ELSE 2
        END AS place
    FROM every
),

parts AS (
    SELECT input, currency, place, amount, paid FROM placed
    UNION ALL
    SELECT input, currency, 5 AS place, amount, paid FROM placed
)

SELECT
    input,
    currency,
    CASE place
        WHEN 1 THEN 'before the period'
        WHEN 2 THEN 'in the period'
        WHEN 3 THEN 'after the period'
        WHEN 4 THEN 'without a day'
        ELSE 'all lines'
    END AS part,
    count(*) FILTER (paid) AS rows,
    coalesce(sum(amount) FILTER (paid), 0)::BIGINT AS amount,
    count(*) FILTER (NOT paid) AS rows_not_paid,
    coalesce(sum(amount) FILTER (NOT paid), 0)::BIGINT AS amount_not_paid
FROM parts
GROUP BY input, currency, place
ORDER BY input, currency, place
