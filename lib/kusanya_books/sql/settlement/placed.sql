-- The lines of the statement on the days that they pay, but for those that an earlier
-- period read, and refunds.
SELECT
    f.input,
    f.file_line AS line_no,
    l.batch_id,
    l.collection_id,
    l.business_day,
    nullif(l.channel, '') AS channel,
    l.currency,
    l.gross,
    l.fee,
    l.net,
    l.count,
    'payment' AS kind
FROM lines AS l
INNER JOIN statement AS f ON f.line_no = l.line_no
WHERE NOT l.known AND NOT l.is_refund
ORDER BY l.line_no, l.business_day
