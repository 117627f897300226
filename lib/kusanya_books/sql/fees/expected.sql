-- What was charged against what the tariff asks, by channel and amount band.
SELECT
    p.mode,
    p.currency,
    p.channel,
    b.band,
    count(*) AS rows,
    count(*) FILTER (p.expected_fee IS NULL) AS unpriced,
    count(*) FILTER (p.fee <> p.expected_fee) AS exceptions,
    sum(p.amount)::BIGINT AS amount,
    sum(p.fee)::BIGINT AS charged,
    sum(p.expected_fee)::BIGINT AS expected,
    (sum(p.fee) FILTER (p.expected_fee IS NOT NULL) - sum(p.expected_fee))::BIGINT AS drift,
    CASE
        WHEN sum(p.amount) > 0
            THEN (20000 * sum(p.fee)::HUGEINT + sum(p.amount)) // (2 * sum(p.amount)::HUGEINT)
    END::BIGINT AS effective_bps
FROM priced AS p
INNER JOIN bands AS b
    ON (b.low IS NULL OR p.amount >= b.low) AND (b.high IS NULL OR p.amount <= b.high)
WHERE p.created_day BETWEEN $first AND $last
GROUP BY p.mode, p.currency, p.channel, b.place, b.band
ORDER BY p.mode, p.currency, p.channel, b.place
