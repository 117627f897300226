-- Why attempts did not succeed, by count and by money. The base of `rate` is every attempt of the
-- mode and currency that reached a final state, the base of the shares all that did not succeed.
WITH final AS (
    SELECT
        mode,
        currency,
        reference,
        amount,
        {cause} AS code
    FROM collections
    WHERE status IN {final} AND created_day BETWEEN $first AND $last
),

-- By reference first: counting distinct texts beside sums of all rows costs twice as much.
tried AS (
    SELECT mode, currency, code, reference, count(*) AS attempts, sum(amount) AS value
    FROM final
    WHERE code IS NOT NULL
    GROUP BY mode, currency, code, reference
),

counted AS (
    SELECT
        mode,
        currency,
        code,
        sum(attempts)::BIGINT AS attempts,
        count(reference) AS references_,
        sum(value)::BIGINT AS value
    FROM tried
    GROUP BY mode, currency, code
),

-- What succeeded has no code and counts in the base alone.
bases AS (SELECT mode, currency, count(*) AS base FROM final GROUP BY mode, currency),

coded AS (
    SELECT counted.*, bases.base
    FROM counted
    INNER JOIN bases
        ON bases.mode IS NOT DISTINCT FROM counted.mode
        AND bases.currency IS NOT DISTINCT FROM counted.currency
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
