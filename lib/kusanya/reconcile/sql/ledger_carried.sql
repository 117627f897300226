-- Every row for itself, those that agree too.
CREATE TEMP TABLE counted AS
SELECT
    break_code,
    match_rule,
    row_no,
    key_ledger,
    key_service,
    currency_ledger,
    currency_service,
    age_days,
    in_ledger,
    in_service,
    1 AS rows,
    coalesce(amount_ledger, amount_service)::HUGEINT AS amount,
    counted_ledger::HUGEINT AS counted_ledger,
    counted_service::HUGEINT AS counted_service
FROM judged_of('met_plainly');
