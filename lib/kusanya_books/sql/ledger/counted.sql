-- Rows that agree are counted and never carried, unless every row is asked for. Of all others only
-- the key is kept, by which the next queries read them whole. The verdict stands alone in the groups:
-- inside another CASE it would be computed once more for each.
CREATE TEMP TABLE counted AS
SELECT
    break_code,
    coalesce(currency_ledger, currency_service) AS currency,
    age_days,
    in_ledger,
    in_service,
    CASE
        WHEN {everything} OR is_crossing OR NOT has_collection OR break_code NOT IN {ok_codes}
            THEN key
    END AS key,
    count(*) AS rows,
    sum(at_stake) AS at_stake,
    sum(counted_ledger) AS counted_ledger,
    sum(counted_service) AS counted_service
FROM plain_verdicts
WHERE is_inside OR is_crossing
GROUP BY 1, 2, 3, 4, 5, 6;
