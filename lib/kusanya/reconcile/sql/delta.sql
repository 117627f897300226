-- What an earlier period says now that it did not say when it was closed, field by field. Money
-- counts as it does in every total: amount and fee of what succeeded on one of the period's days.
WITH sides AS (
    SELECT
        coalesce(b.id, n.id) AS key,
        CASE WHEN b.id IS NULL THEN 'added' WHEN n.id IS NULL THEN 'removed' ELSE 'changed' END
            AS change,
        coalesce(CASE WHEN n.status = 'succeeded' THEN n.amount END, 0)
            - coalesce(CASE WHEN b.status = 'succeeded' THEN b.amount END, 0) AS amount_effect,
        coalesce(CASE WHEN n.status = 'succeeded' THEN n.fee END, 0)
            - coalesce(CASE WHEN b.status = 'succeeded' THEN b.fee END, 0) AS fee_effect,
        coalesce(n.currency, b.currency) AS currency,
        n.seq,
        b,
        n
    FROM before AS b
    FULL OUTER JOIN now AS n ON n.id = b.id
),

fields AS (
    SELECT *, 1 AS place, 'status' AS field, b.status AS was, n.status AS is_now FROM sides
    UNION ALL
    SELECT *, 2, 'amount', b.amount::VARCHAR, n.amount::VARCHAR FROM sides
    UNION ALL
    SELECT *, 3, 'fee', b.fee::VARCHAR, n.fee::VARCHAR FROM sides
    UNION ALL
    SELECT
        *, 4, 'business_day', strftime(b.business_day, '%Y-%m-%d'),
        strftime(n.business_day, '%Y-%m-%d')
    FROM sides
    UNION ALL
    SELECT *, 5, 'currency', b.currency, n.currency FROM sides
    UNION ALL
    SELECT *, 6, 'channel', b.channel, n.channel FROM sides
    UNION ALL
    SELECT *, 7, 'reference', b.reference, n.reference FROM sides
    UNION ALL
    SELECT *, 8, 'failure_code', b.failure_code, n.failure_code FROM sides
    UNION ALL
    SELECT *, 9, 'contradictions', b.contradictions::VARCHAR, n.contradictions::VARCHAR FROM sides
),

differing AS (
    SELECT *, row_number() OVER (PARTITION BY key ORDER BY place) AS nth
    FROM fields
    WHERE was IS DISTINCT FROM is_now
)

SELECT
    $closed_run_id AS closed_run_id,
    key,
    currency,
    change,
    field,
    was AS before,
    is_now AS now,
    CASE WHEN nth = 1 THEN amount_effect ELSE 0 END AS amount_effect,
    CASE WHEN nth = 1 THEN fee_effect ELSE 0 END AS fee_effect,
    seq
FROM differing
ORDER BY key, place
