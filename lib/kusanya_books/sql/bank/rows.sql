-- The verdict on every line of the bank's statements and every payout: the first rule of
-- `breaks.BANK` that applies.
CREATE TEMP TABLE judged AS
WITH aged AS (
    SELECT
        met.*,
        greatest(
            0, date_diff('day', coalesce(met.payout_day, met.bank_day), {as_of})
        ) AS age_days,
        coalesce(met.bank_day BETWEEN {first_day} AND {last_day}, FALSE) AS in_bank,
        coalesce(met.bank_from <= {last_day} AND met.bank_to >= {first_day}, FALSE)
        OR coalesce(met.payout_from <= {last_day} AND met.payout_to >= {first_day}, FALSE)
            AS is_group_inside
    FROM met
)

SELECT
    match_rule,
    form,
    first_move,
    first_id,
    drift,
    move,
    id::VARCHAR AS id,
    id AS payout_no,
    age_days,
    '' AS account_line,
    currency_line,
    '' AS account_other,
    currency_other,
    CASE WHEN is_completed AND in_bank THEN amount_bank ELSE 0 END AS counted_line,
    CASE WHEN in_payouts THEN amount_payout ELSE 0 END AS counted_other,
    is_completed AND in_bank AS is_counted_line,
    in_payouts AS is_counted_other,
    {break_code} AS break_code
FROM aged
WHERE in_bank OR in_payouts OR is_group_inside;
