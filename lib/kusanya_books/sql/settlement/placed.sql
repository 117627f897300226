-- The lines of the statement on the days that they pay.
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
ORDER BY line_no, business_day
