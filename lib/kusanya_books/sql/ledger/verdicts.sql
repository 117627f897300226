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
    {break_code} AS break_code
FROM aged
