-- How many payments, how much and which fees the days of earlier periods have by what is known now, less what
-- they had by what was known then. What did not change is not looked at.
WITH sides AS (
    SELECT
        coalesce(business_day, created_day) AS business_day,
        currency,
        channel,
        -1 AS rows,
        -amount AS gross,
        -coalesce(fee, 0) AS fee
    FROM before
    SEMI JOIN late ON late.key = before.id
    WHERE status IN {paid}
    UNION ALL
    SELECT
        coalesce(business_day, created_day) AS business_day,
        currency,
        channel,
        1 AS rows,
        amount AS gross,
        coalesce(fee, 0) AS fee
    FROM now
    SEMI JOIN late ON late.key = now.id
    WHERE status IN {paid}
)

SELECT
    business_day,
    currency,
    channel,
    sum(rows)::BIGINT AS rows,
    sum(gross)::BIGINT AS gross,
    sum(fee)::BIGINT AS fee
FROM sides
GROUP BY business_day, currency, channel
HAVING sum(rows) <> 0 OR sum(gross) <> 0 OR sum(fee) <> 0
ORDER BY business_day, currency, channel
