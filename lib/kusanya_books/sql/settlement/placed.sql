-- The lines of the statement on the days that they pay, but for those that an earlier
-- period read, and refunds.
SELECT
    line_no,
    batch_id,
    collection_id,
    business_day,
    nullif(channel, '') AS channel,
    currency,
    gross,
    fee,
    net,
    count
FROM lines
WHERE NOT known AND NOT is_refund
ORDER BY line_no, business_day
