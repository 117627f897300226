-- The verdict on every row of a table of pairs: the first rule that applies. What a row that stayed
-- alone is beside this is decided later, on the few there are.
CREATE TEMP MACRO judged_of(pairs) AS TABLE (
    WITH aged AS (
        SELECT
            met.*,
            greatest(0, span.as_of - coalesce(met.business_day, met.booked_day, met.day))
                AS age_days,
            coalesce(met.booked AND met.booked_day BETWEEN span.first AND span.last, FALSE)
                AS in_ledger,
            coalesce(met.paid AND met.business_day BETWEEN span.first AND span.last, FALSE)
                AS in_service,
            span.amount_tolerance,
            span.fee_tolerance,
            span.grace_days,
            span.net_basis,
            span.first AS first_day,
            span.last AS last_day
        FROM query_table(pairs) AS met, span
        WHERE met.booked_day BETWEEN span.first AND span.last
            OR met.day BETWEEN span.first AND span.last
    )

    SELECT
        CASE
            WHEN said = 'contradiction' THEN 'contradiction'::code
            WHEN said = 'unknown' THEN 'unknown_status'::code
            WHEN said IS NULL AND booked AND age_days <= grace_days THEN 'timing_unseen'::code
            WHEN said IS NULL AND booked THEN 'missing_at_provider'::code
            WHEN paid AND (row_no IS NULL OR is_open) AND age_days <= grace_days
                THEN 'timing_unbooked'::code
            WHEN paid AND row_no IS NULL AND since - grace_days::INTEGER < getvariable('books_from')
                THEN 'perhaps_booked_earlier'::code
            WHEN paid AND row_no IS NULL THEN 'missing_in_ledger'::code
            WHEN paid AND NOT booked THEN 'late_success'::code
            WHEN booked AND said = 'created' THEN 'still_open'::code
            WHEN booked AND NOT paid THEN 'status_mismatch'::code
            WHEN NOT coalesce(booked, FALSE) AND NOT coalesce(paid, FALSE)
                THEN 'not_billable'::code
            WHEN currency_ledger <> currency_service THEN 'currency_mismatch'::code
            WHEN NOT net_basis AND fee_service <> 0
                AND amount_ledger = amount_service - fee_service
                THEN 'booked_net'::code
            WHEN abs(amount_ledger - due) > amount_tolerance THEN 'amount_mismatch'::code
            WHEN abs(fee_ledger - fee_service) > fee_tolerance THEN 'fee_mismatch'::code
            WHEN business_day < first_day THEN 'paid_in_earlier_period'::code
            WHEN business_day > last_day THEN 'paid_in_later_period'::code
            WHEN booked_day < first_day THEN 'booked_in_earlier_period'::code
            WHEN booked_day > last_day THEN 'booked_in_later_period'::code
            WHEN booked_day <> business_day THEN 'timing'::code
            ELSE 'matched'::code
        END AS break_code,
        CASE WHEN in_ledger THEN amount_ledger ELSE 0 END AS counted_ledger,
        CASE WHEN in_service THEN due ELSE 0 END AS counted_service,
        *
    FROM aged
);

-- References that each side has at most once, and lines that name a collection's id, simply join.
CREATE TEMP VIEW met_plainly AS
SELECT
    CASE
        WHEN b.row_no IS NULL OR s.id IS NULL THEN NULL
        WHEN b.currency = s.currency AND b.amount = s.due THEN 'reference_amount'::rule
        ELSE 'reference'::rule
    END AS match_rule,
    b.row_no,
    s.id,
    b.currency AS currency_ledger,
    b.amount AS amount_ledger,
    b.fee AS fee_ledger,
    b.paid AS booked,
    b.is_open,
    b.booked_day,
    s.currency AS currency_service,
    s.amount AS amount_service,
    s.fee AS fee_service,
    s.due,
    s.said,
    s.paid,
    s.business_day,
    s.day,
    s.since
FROM (SELECT * FROM rest_books AS r ANTI JOIN repeated ON repeated.key = r.key) AS b
FULL OUTER JOIN
    (SELECT * FROM rest_service AS r ANTI JOIN repeated ON repeated.key = r.key) AS s
    ON b.reference = s.reference
UNION ALL
SELECT
    'id'::rule AS match_rule,
    b.row_no,
    s.id,
    b.currency,
    b.amount,
    b.fee,
    b.paid,
    b.is_open,
    b.booked_day,
    s.currency,
    s.amount,
    s.fee,
    s.due,
    s.said,
    s.paid,
    s.business_day,
    s.day,
    s.since
FROM named
INNER JOIN few_books AS b ON b.row_no = named.row_no
INNER JOIN few_service AS s ON s.id = named.id
WHERE named.place = 1;
