-- What an earlier period says now that it did not say when it was closed, field by field. Money
-- counts as it does in every total: amount and fee of what succeeded on one of the period's days.
WITH sides AS (
    SELECT
        coalesce(b.id, n.id) AS key,
        CASE WHEN b.id IS NULL THEN 'added' WHEN n.id IS NULL THEN 'removed' ELSE 'changed' END
            AS change,
        coalesce(CASE WHEN n.status IN {paid} THEN n.amount END, 0)
            - coalesce(CASE WHEN b.status IN {paid} THEN b.amount END, 0) AS amount_effect,
        coalesce(CASE WHEN n.status IN {paid} THEN n.fee END, 0)
            - coalesce(CASE WHEN b.status IN {paid} THEN b.fee END, 0) AS fee_effect,
        coalesce(n.currency, b.currency) AS currency,
        n.seq,
        b.status AS status_was,
        n.status AS status_now,
        b.amount AS amount_was,
        n.amount AS amount_now,
        b.fee AS fee_was,
        n.fee AS fee_now,
        b.business_day AS business_day_was,
        n.business_day AS business_day_now,
        b.currency AS currency_was,
        n.currency AS currency_now,
        b.channel AS channel_was,
        n.channel AS channel_now,
        b.reference AS reference_was,
        n.reference AS reference_now,
        b.failure_code AS failure_code_was,
        n.failure_code AS failure_code_now,
        b.contradictions AS contradictions_was,
        n.contradictions AS contradictions_now
    FROM before AS b
    FULL OUTER JOIN now AS n ON n.id = b.id
),

fields AS (
    SELECT
        key, currency, change, amount_effect, fee_effect, seq,
        1 AS place, 'status' AS field, status_was AS was, status_now AS is_now
    FROM sides
    UNION ALL
    SELECT
        key, currency, change, amount_effect, fee_effect, seq,
        2, 'amount', amount_was::VARCHAR, amount_now::VARCHAR
    FROM sides
    UNION ALL
    SELECT
        key, currency, change, amount_effect, fee_effect, seq,
        3, 'fee', fee_was::VARCHAR, fee_now::VARCHAR
    FROM sides
    UNION ALL
    SELECT
        key, currency, change, amount_effect, fee_effect, seq,
        4, 'business_day', strftime(business_day_was, '%Y-%m-%d'), strftime(business_day_now, '%Y-%m-%d')
    FROM sides
    UNION ALL
    SELECT
        key, currency, change, amount_effect, fee_effect, seq,
        5, 'currency', currency_was, currency_now
    FROM sides
    UNION ALL
    SELECT
        key, currency, change, amount_effect, fee_effect, seq,
        6, 'channel', channel_was, channel_now
    FROM sides
    UNION ALL
    SELECT
        key, currency, change, amount_effect, fee_effect, seq,
        7, 'reference', reference_was, reference_now
    FROM sides
    UNION ALL
    SELECT
        key, currency, change, amount_effect, fee_effect, seq,
        8, 'failure_code', failure_code_was, failure_code_now
    FROM sides
    UNION ALL
    SELECT
        key, currency, change, amount_effect, fee_effect, seq,
        9, 'contradictions', contradictions_was::VARCHAR, contradictions_now::VARCHAR
    FROM sides
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
