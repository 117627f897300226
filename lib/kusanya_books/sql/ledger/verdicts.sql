-- The verdict on every row of {met}: the first rule of `breaks.LEDGER` that applies.
WITH aged AS (
    SELECT
        met.*,
        greatest(
            0,
            date_diff(
                'day', coalesce(met.business_day, met.booked_day, met.day), {as_of}
            )
        ) AS age_days,
        coalesce(met.booked AND met.booked_day BETWEEN {first_day} AND {last_day}, FALSE)
            AS in_ledger,
        coalesce(met.paid AND met.business_day BETWEEN {first_day} AND {last_day}, FALSE)
            AS in_service,
        coalesce(met.booked_day BETWEEN {first_day} AND {last_day}, FALSE)
            OR coalesce(met.day BETWEEN {first_day} AND {last_day}, FALSE) AS is_inside
    FROM {met} AS met
)

SELECT
    *,
    CASE WHEN in_ledger THEN amount_ledger ELSE 0 END AS counted_ledger,
    CASE WHEN in_service THEN due ELSE 0 END AS counted_service,
    -- By how much a row is wrong: in its amount, else in its fee; else the whole of it.
    abs(
        coalesce(
            CASE
                WHEN currency_ledger <> currency_service THEN NULL
                WHEN booked AND paid THEN nullif(amount_ledger - due, 0)
            END,
            CASE WHEN booked AND paid THEN nullif(fee_ledger - fee_service, 0) END,
            CASE WHEN paid AND NOT coalesce(booked, FALSE) THEN amount_service END,
            amount_ledger,
            amount_service
        )
    ) AS at_stake,
    {break_code} AS break_code
FROM aged
