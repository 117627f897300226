SELECT mode, currency, channel, created_day, amount, fee, count(*) AS rows
FROM collections
WHERE created_day BETWEEN $first AND $last
GROUP BY mode, currency, channel, created_day, amount, fee
ORDER BY mode, currency, channel, created_day, amount, fee
