SELECT currency, count(*) AS rows, sum(fee)::BIGINT AS fee
FROM priced
WHERE created_day BETWEEN $first AND $last AND expected_fee IS NULL
GROUP BY currency
ORDER BY currency
