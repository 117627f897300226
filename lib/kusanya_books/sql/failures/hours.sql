SELECT
    mode,
    currency,
    created_weekday AS weekday,
    created_hour AS hour,
    count(*) AS attempts,
    count(*) FILTER (status IN {paid}) AS succeeded
FROM collections
WHERE status IN {final} AND created_day BETWEEN $first AND $last
GROUP BY mode, currency, created_weekday, created_hour
ORDER BY mode, currency, weekday, hour
