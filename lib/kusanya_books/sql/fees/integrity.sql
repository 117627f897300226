SELECT
    mode,
    currency,
    channel,
    count(*) AS collections,
    count(*) FILTER (sources = 0) AS no_evidence,
    count(*) FILTER (sources = 1) AS single_source,
    count(*) FILTER (sources > 1 AND NOT moved) AS agree,
    count(*) FILTER (moved) AS drifted,
    coalesce(sum(last_fee - first_fee) FILTER (moved), 0)::BIGINT AS drift
FROM evidence
WHERE created_day BETWEEN $first AND $last
GROUP BY mode, currency, channel
ORDER BY mode, currency, channel
