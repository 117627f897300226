-- A million rows that agree are counted and never carried; what a person reads keeps its keys.
CREATE TEMP TABLE counted AS
WITH coded AS (
    SELECT
        *,
        break_code <> 'matched'::code
            AND (break_code <> 'not_billable'::code OR said IS NULL) AS is_read
    FROM judged_of('met_plainly')
)

SELECT
    break_code,
    CASE WHEN is_read THEN match_rule END AS match_rule,
    CASE WHEN is_read THEN row_no END AS row_no,
    CASE WHEN is_read THEN key_ledger END AS key_ledger,
    CASE WHEN is_read THEN key_service END AS key_service,
    currency_ledger,
    currency_service,
    age_days,
    in_ledger,
    in_service,
    count(*) AS rows,
    sum(coalesce(amount_ledger, amount_service)) AS amount,
    sum(counted_ledger) AS counted_ledger,
    sum(counted_service) AS counted_service
FROM coded
GROUP BY ALL;
