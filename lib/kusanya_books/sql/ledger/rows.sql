-- Every line and every collection of the period in exactly one row, with its verdict; those that
-- agree may stand together as one row that says how many they are.
CREATE TEMP TABLE judged AS
SELECT
    break_code,
    match_rule,
    group_key,
    row_no,
    id,
    currency_ledger,
    currency_service,
    age_days,
    in_ledger,
    in_service,
    1 AS rows,
    at_stake,
    counted_ledger,
    counted_service
FROM final_verdicts
UNION ALL
SELECT
    break_code,
    NULL AS match_rule,
    NULL AS group_key,
    NULL AS row_no,
    NULL AS id,
    currency AS currency_ledger,
    currency AS currency_service,
    age_days,
    in_ledger,
    in_service,
    rows,
    at_stake,
    counted_ledger,
    counted_service
FROM counted
WHERE key IS NULL
UNION ALL
-- It was counted before a line in another spelling met it.
SELECT
    'not_billable' AS break_code,
    NULL AS match_rule,
    NULL AS group_key,
    NULL AS row_no,
    NULL AS id,
    s.currency AS currency_ledger,
    s.currency AS currency_service,
    greatest(0, date_diff('day', coalesce(s.business_day, s.day), {as_of})) AS age_days,
    FALSE AS in_ledger,
    FALSE AS in_service,
    -1 AS rows,
    -abs(s.amount) AS at_stake,
    0::BIGINT AS counted_ledger,
    0::BIGINT AS counted_service
FROM spelled AS p
INNER JOIN extra_service AS s ON s.id = p.id
WHERE NOT s.paid;

-- Payments of one customer of one amount within minutes under two references.
CREATE TEMP TABLE repeat_payments AS
WITH followed AS (
    SELECT
        s.mode,
        s.currency,
        s.reference,
        s.id,
        s.amount,
        s.business_day,
        s.created_at,
        s.completed_at,
        lag(s.id) OVER payer AS id_before,
        lag(s.reference) OVER payer AS reference_before,
        lag(s.completed_at) OVER payer AS completed_before,
        lag(s.created_at) OVER payer AS created_before
    FROM kept_service AS s
    SEMI JOIN payers ON payers.digest = {hash}(s.phone_key, s.amount)
    WHERE s.paid AND s.phone_key IS NOT NULL
    WINDOW payer AS (
        PARTITION BY s.currency, s.phone_key, s.amount ORDER BY s.created_at, s.id
    )
)

SELECT f.*
FROM followed AS f
WHERE f.reference <> f.reference_before
    AND date_diff('microsecond', f.created_before, f.created_at) <= {double_minutes} * 60000000::BIGINT
    AND f.business_day BETWEEN {first_day} AND {last_day};
