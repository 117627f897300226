-- What came in and what it cost. Money counts by business day and only for what succeeded; what is
-- not final yet stands on the day it was created.
WITH tallied AS (
    SELECT
        coalesce(business_day, created_day) AS day,
        mode,
        currency,
        channel,
        status,
        status IN {paid} AS paid,
        count(*) AS rows,
        sum(amount) AS amount,
        sum(fee) AS fee,
        sum(expected_fee) AS expected,
        sum(fee) FILTER (expected_fee IS NOT NULL) AS fee_priced,
        count(*) - count(expected_fee) AS unpriced
    FROM priced
    WHERE coalesce(business_day, created_day) BETWEEN $first AND $last
    GROUP BY ALL
),

summed AS (
    SELECT
        day,
        mode,
        currency,
        channel,
        grouping(day) AS is_total,
        sum(rows)::BIGINT AS attempts,
        coalesce(sum(rows) FILTER (paid), 0)::BIGINT AS paid_rows,
        {summed_figures},
        coalesce(sum(rows) FILTER (coalesce(status NOT IN {named}, TRUE)), 0)::BIGINT AS other,
        coalesce(sum(amount) FILTER (paid), 0)::BIGINT AS gross,
        coalesce(sum(fee) FILTER (paid), 0)::BIGINT AS fee,
        coalesce(sum(unpriced) FILTER (paid), 0)::BIGINT AS unpriced,
        coalesce(sum(expected) FILTER (paid), 0)::BIGINT AS expected,
        coalesce(sum(fee_priced) FILTER (paid), 0)::BIGINT AS fee_priced
    FROM tallied
    GROUP BY GROUPING SETS ((day, mode, currency, channel), (mode, currency))
)

SELECT
    day AS business_day,
    mode,
    currency,
    CASE is_total WHEN 1 THEN '(all)' ELSE channel END AS channel,
    attempts,
    {figures},
    other,
    gross,
    fee,
    gross - fee AS net,
    CASE
        WHEN gross > 0 THEN (20000 * fee::HUGEINT + gross) // (2 * gross::HUGEINT)
    END::BIGINT AS effective_bps,
    -- Of what the tariff prices; one channel without a price does not blank the total.
    CASE WHEN unpriced < paid_rows OR paid_rows = 0 THEN expected END AS expected_fee,
    CASE WHEN unpriced < paid_rows OR paid_rows = 0 THEN fee_priced - expected END AS fee_drift,
    unpriced
FROM summed
ORDER BY mode, currency, is_total, business_day, channel
