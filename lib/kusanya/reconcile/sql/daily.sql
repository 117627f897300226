-- What came in and what it cost. Money counts by business day and only for what succeeded; what is
-- not final yet stands on the day it was created.
WITH counted AS (
    SELECT
        coalesce(business_day, created_day) AS day,
        mode,
        currency,
        channel,
        status,
        amount,
        fee,
        expected_fee,
        status = 'succeeded' AS paid
    FROM priced
    WHERE coalesce(business_day, created_day) BETWEEN $first AND $last
),

summed AS (
    SELECT
        day,
        mode,
        currency,
        channel,
        grouping(day) AS is_total,
        count(*) AS attempts,
        count(*) FILTER (paid) AS succeeded,
        count(*) FILTER (status = 'failed') AS failed,
        count(*) FILTER (status = 'expired') AS expired,
        count(*) FILTER (status = 'created') AS open,
        coalesce(sum(amount) FILTER (paid), 0)::BIGINT AS gross,
        coalesce(sum(fee) FILTER (paid), 0)::BIGINT AS fee,
        count(*) FILTER (paid AND expected_fee IS NULL) AS unpriced,
        coalesce(sum(expected_fee) FILTER (paid), 0)::BIGINT AS expected
    FROM counted
    GROUP BY GROUPING SETS ((day, mode, currency, channel), (mode, currency))
)

SELECT
    day AS business_day,
    mode,
    currency,
    CASE is_total WHEN 1 THEN '(all)' ELSE channel END AS channel,
    attempts,
    succeeded,
    failed,
    expired,
    open,
    attempts - succeeded - failed - expired - open AS other,
    gross,
    fee,
    gross - fee AS net,
    CASE
        WHEN gross > 0 THEN (20000 * fee::HUGEINT + gross) // (2 * gross::HUGEINT)
    END::BIGINT AS effective_bps,
    CASE WHEN unpriced = 0 THEN expected END AS expected_fee,
    CASE WHEN unpriced = 0 THEN fee - expected END AS fee_drift
FROM summed
ORDER BY mode, currency, is_total, business_day, channel
