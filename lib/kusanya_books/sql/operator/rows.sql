-- The verdict on every line of the operator's statements and every success: the first rule of
-- `breaks.OPERATOR` that applies.
CREATE TEMP TABLE judged AS
WITH aged AS (
    SELECT
        met.*,
        greatest(
            0, date_diff('day', coalesce(met.business_day, met.operator_day), {as_of})
        ) AS age_days,
        coalesce(met.operator_day BETWEEN {first_day} AND {last_day}, FALSE) AS in_operator,
        coalesce(met.business_day BETWEEN {first_day} AND {last_day}, FALSE) AS in_service
    FROM met
)

SELECT
    match_rule,
    move,
    id,
    group_move,
    age_days,
    fee_operator,
    fee_service,
    account_line,
    currency_line,
    account_other,
    currency_other,
    CASE WHEN is_completed AND in_operator THEN amount_operator ELSE 0 END AS counted_line,
    CASE WHEN paid AND is_covered AND in_service THEN amount_service ELSE 0 END AS counted_other,
    is_completed AND in_operator AS is_counted_line,
    paid AND is_covered AND in_service AS is_counted_other,
    {break_code} AS break_code
FROM aged
WHERE in_operator OR in_service;
