-- What was read, told by the inputs alone: every line of each file, every success of the service, and
-- what of them no leg counts, for its day or because nothing was paid.
WITH every AS (
    SELECT
        'ledger' AS input,
        currency,
        amount,
        NOT coalesce(status = 'paid' AND booked_day BETWEEN $first AND $last, FALSE) AS is_outside
    FROM ledger
    UNION ALL
    SELECT
        concat_ws(' ', 'statement', nullif(input, '')) AS input,
        currency,
        net AS amount,
        FALSE AS is_outside
    FROM statement
    UNION ALL
    SELECT
        input,
        currency,
        amount,
        NOT coalesce(business_day BETWEEN $first AND $last, FALSE) AS is_outside
    FROM movements
    UNION ALL
    SELECT
        'collections' AS input,
        currency,
        CASE WHEN $net_basis THEN amount - fee ELSE amount END AS amount,
        NOT coalesce(
            status IN {paid} AND business_day BETWEEN $first AND $last, FALSE
        ) AS is_outside
    FROM collections
)

SELECT
    input,
    currency,
    CASE WHEN is_outside THEN 'outside' ELSE 'inside' END AS standing,
    count(*) AS rows,
    sum(amount)::BIGINT AS amount
FROM every
GROUP BY input, currency, is_outside
ORDER BY input, currency, standing
