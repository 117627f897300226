-- How often attempts and references succeed. The part of an attempt is its own; whether its reference
-- succeeded is asked of all its attempts.
WITH final AS (
    SELECT
        c.mode,
        c.currency,
        c.reference,
        c.status IN {paid} AS paid,
        CASE $by
            WHEN 'channel' THEN c.channel
            WHEN 'band' THEN b.band
            WHEN 'day' THEN strftime(c.created_day, '%Y-%m-%d')
            ELSE '(all)'
        END AS part,
        CASE $by WHEN 'band' THEN b.place ELSE 0 END AS place
    FROM collections AS c
    INNER JOIN bands AS b
        ON (b.low IS NULL OR c.amount >= b.low) AND (b.high IS NULL OR c.amount <= b.high)
    WHERE c.status IN {final}
        AND c.created_day BETWEEN $first AND $last
),

won AS (
    SELECT DISTINCT mode, currency, reference
    FROM collections
    WHERE status IN {paid}
)

SELECT
    final.mode,
    final.currency,
    final.part,
    count(*) AS attempts,
    count(*) FILTER (final.paid) AS succeeded,
    count(DISTINCT final.reference) AS references,
    count(DISTINCT won.reference) AS references_paid
FROM final
LEFT JOIN won
    ON won.mode = final.mode
    AND won.currency = final.currency
    AND won.reference = final.reference
GROUP BY final.mode, final.currency, final.part, final.place
ORDER BY final.mode, final.currency, final.place, final.part
