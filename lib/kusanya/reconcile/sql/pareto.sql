-- Why attempts did not succeed, by count and by money. The base of `rate` is every attempt of the
-- mode and currency that reached a final state, the base of the shares all that did not succeed.
WITH final AS (
    SELECT
        mode,
        currency,
        reference,
        amount,
        CASE
            WHEN status = 'expired' THEN '(expired)'
            WHEN status = 'failed' THEN coalesce(failure_code, '(no code)')
        END AS code
    FROM collections
    WHERE status IN ('succeeded', 'failed', 'expired') AND created_day BETWEEN $first AND $last
),

counted AS (
    SELECT
        mode,
        currency,
        code,
        count(*) AS attempts,
        count(DISTINCT CASE WHEN code IS NOT NULL THEN reference END) AS references_,
        sum(amount)::BIGINT AS value
    FROM final
    GROUP BY mode, currency, code
),

-- What succeeded has no code and counts in the base alone.
coded AS (
    SELECT *, (sum(attempts) OVER (PARTITION BY mode, currency))::BIGINT AS base
    FROM counted
    QUALIFY code IS NOT NULL
)

SELECT
    coded.mode,
    coded.currency,
    coded.code,
    coalesce(known.class, 'unknown') AS class,
    coded.attempts,
    coded.attempts / sum(coded.attempts) OVER whole AS share,
    sum(coded.attempts) OVER by_count / sum(coded.attempts) OVER whole AS cum_share,
    coded.base,
    coded.references_ AS references,
    coded.value,
    coded.value / nullif(sum(coded.value) OVER whole, 0) AS value_share,
    sum(coded.value) OVER by_value / nullif(sum(coded.value) OVER whole, 0) AS value_cum_share,
    coalesce(known.advice, $advice) AS advice
FROM coded
LEFT JOIN codes AS known USING (code)
WINDOW
    whole AS (PARTITION BY coded.mode, coded.currency),
    by_count AS (
        PARTITION BY coded.mode, coded.currency
        ORDER BY coded.attempts DESC, coded.code ROWS UNBOUNDED PRECEDING
    ),
    by_value AS (
        PARTITION BY coded.mode, coded.currency
        ORDER BY coded.value DESC, coded.code ROWS UNBOUNDED PRECEDING
    )
ORDER BY coded.mode, coded.currency, coded.attempts DESC, coded.code
