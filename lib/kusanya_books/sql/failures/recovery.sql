-- What became of references that failed, each once, under its first failing code.
WITH failures AS (
    SELECT
        *,
        {cause} AS code,
        row_number() OVER (PARTITION BY mode, currency, reference ORDER BY created_at, id) AS place
    FROM collections
    WHERE status IN {unpaid} AND reference IS NOT NULL
),

opening AS (
    SELECT * FROM failures WHERE place = 1 AND created_day BETWEEN $first AND $last
),

outcome AS (
    SELECT
        o.mode,
        o.currency,
        o.reference,
        o.code,
        o.amount,
        min(date_diff('microsecond', o.created_at, s.created_at)) AS lag_us,
        date_diff('day', o.created_day, $as_of::TIMESTAMP) < $days AS young
    FROM opening AS o
    LEFT JOIN collections AS s
        ON s.mode = o.mode
        AND s.currency = o.currency
        AND s.reference = o.reference
        AND s.status IN {paid}
        AND (s.created_at > o.created_at OR (s.created_at = o.created_at AND s.id > o.id))
        AND date_diff('microsecond', o.created_at, s.created_at) <= $days * 86400000000
    GROUP BY o.mode, o.currency, o.reference, o.code, o.amount, o.created_at, o.created_day, o.id
)

SELECT
    mode,
    currency,
    code,
    count(*) AS references,
    count(lag_us) AS recovered,
    count(*) FILTER (lag_us IS NULL AND young) AS still_open,
    percentile_disc(0.5) WITHIN GROUP (ORDER BY lag_us // 1000000)::BIGINT AS median_lag_s,
    sum(amount)::BIGINT AS value,
    coalesce(sum(amount) FILTER (lag_us IS NOT NULL), 0)::BIGINT AS value_recovered,
    coalesce(sum(amount) FILTER (lag_us IS NULL AND young), 0)::BIGINT AS value_open,
    coalesce(sum(amount) FILTER (lag_us IS NULL AND NOT young), 0)::BIGINT AS value_lost
FROM outcome
GROUP BY mode, currency, code
ORDER BY mode, currency, value_lost DESC, code
