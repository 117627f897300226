-- References that each side has at most once simply join. Ranking all rows would cost many times the
-- join, so that only repeated references are ranked, later.
CREATE TEMP TABLE repeated AS
SELECT key FROM service GROUP BY key HAVING count(*) > 1
UNION
SELECT key FROM books WHERE key IS NOT NULL GROUP BY key HAVING count(*) > 1;

CREATE TEMP VIEW met_plainly AS
SELECT
    CASE
        WHEN b.row_no IS NULL OR s.id IS NULL THEN NULL
        WHEN b.is_named THEN 'id'
        WHEN b.currency = s.currency AND b.amount = s.due THEN 'reference_amount'
        ELSE 'reference'
    END AS match_rule,
    coalesce(b.key, s.key) AS key,
    b.row_no,
    coalesce(b.is_crossing, FALSE) AS is_crossing,
    b.currency AS currency_ledger,
    b.amount AS amount_ledger,
    b.fee AS fee_ledger,
    coalesce(b.booked, FALSE) AS booked,
    coalesce(b.is_open, FALSE) AS is_open,
    b.booked_day,
    s.id,
    s.currency AS currency_service,
    s.amount AS amount_service,
    s.fee AS fee_service,
    s.due,
    coalesce(s.paid, FALSE) AS paid,
    coalesce(s.is_created, FALSE) AS is_created,
    coalesce(s.is_contradicted, FALSE) AS is_contradicted,
    coalesce(s.is_unknown, FALSE) AS is_unknown,
    s.business_day,
    s.day,
    s.created_day,
    FALSE AS is_twin,
    FALSE AS is_second,
    FALSE AS is_of_other_mode,
    FALSE AS is_unanswered
FROM (
    SELECT
        x.key, x.row_no, x.named_id IS NOT NULL AS is_named, x.is_crossing, x.currency, x.amount,
        x.fee, x.booked, x.is_open, x.booked_day
    FROM books AS x
    ANTI JOIN repeated ON repeated.key = x.key
) AS b
FULL OUTER JOIN (
    SELECT
        x.key, x.id, x.currency, x.amount, x.fee, x.due, x.paid, x.is_created, x.is_contradicted,
        x.is_unknown, x.business_day, x.day, x.created_day
    FROM service AS x
    ANTI JOIN repeated ON repeated.key = x.key
) AS s
    ON b.key = s.key;
