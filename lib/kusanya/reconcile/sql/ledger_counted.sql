-- Rows that agree are counted and never carried, unless every row is asked for: `break_code` is of
-- rows that are counted together, every other row stands alone, without a code yet.
CREATE TEMP TABLE counted AS
WITH told AS (
    SELECT
        *,
        NOT everything AND NOT is_crossing AND id IS NOT NULL AND break_code IN {ok_codes}
            AS is_agreed
    FROM plain_verdicts
    WHERE is_inside OR is_crossing
),

parted AS (
    SELECT
        CASE WHEN is_agreed THEN break_code END AS break_code,
        CASE WHEN is_agreed THEN coalesce(currency_ledger, currency_service) END AS currency,
        CASE WHEN is_agreed THEN age_days END AS age_days,
        CASE WHEN is_agreed THEN in_ledger END AS in_ledger,
        CASE WHEN is_agreed THEN in_service END AS in_service,
        CASE WHEN NOT is_agreed THEN match_rule END AS match_rule,
        CASE WHEN NOT is_agreed THEN key END AS key,
        CASE WHEN NOT is_agreed THEN row_no END AS row_no,
        CASE WHEN NOT is_agreed THEN id END AS id,
        coalesce(amount_ledger, amount_service) AS amount,
        counted_ledger,
        counted_service
    FROM told
)

SELECT
    break_code,
    currency,
    age_days,
    in_ledger,
    in_service,
    match_rule,
    key,
    row_no,
    id,
    count(*) AS rows,
    sum(amount) AS amount,
    sum(counted_ledger) AS counted_ledger,
    sum(counted_service) AS counted_service
FROM parted
GROUP BY break_code, currency, age_days, in_ledger, in_service, match_rule, key, row_no, id;
