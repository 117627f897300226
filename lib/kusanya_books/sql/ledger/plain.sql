-- References that each side has at most once simply join. Ranking all rows would cost many times the
-- join, so that only repeated references are ranked, later. They are found by a number of their text:
-- grouping numbers costs half of grouping texts. Two texts of one number are ranked too, which gives
-- the same pairs. A query takes of this view only what it needs, and the engine joins no more than
-- that, days as days, which are half as wide: what does not fit in memory is written to disk and read
-- again.
CREATE TEMP TABLE repeated AS
SELECT {hash}(key) AS digest FROM service GROUP BY {hash}(key) HAVING count(*) > 1
UNION
SELECT {hash}(key) AS digest
FROM books
WHERE key IS NOT NULL
GROUP BY {hash}(key)
HAVING count(*) > 1;

CREATE TEMP VIEW met_plainly AS
SELECT
    coalesce(b.key, s.key) AS key,
    b.row_no,
    s.id,
    b.reference,
    s.channel,
    b.booked IS NOT NULL AS has_line,
    coalesce(b.is_crossing, FALSE) AS is_crossing,
    b.currency AS currency_ledger,
    b.amount AS amount_ledger,
    b.fee AS fee_ledger,
    coalesce(b.booked, FALSE) AS booked,
    coalesce(b.is_open, FALSE) AS is_open,
    b.booked_day,
    s.paid IS NOT NULL AS has_collection,
    s.currency AS currency_service,
    s.amount AS amount_service,
    s.fee AS fee_service,
    CASE WHEN {net_basis} THEN s.amount - s.fee ELSE s.amount END AS due,
    coalesce(s.paid, FALSE) AS paid,
    coalesce(s.is_created, FALSE) AS is_created,
    coalesce(s.is_contradicted, FALSE) AS is_contradicted,
    coalesce(s.is_unknown, FALSE) AS is_unknown,
    s.business_day,
    coalesce(s.business_day, s.created_day) AS day,
    s.created_day,
    FALSE AS is_twin,
    FALSE AS is_second,
    FALSE AS is_of_other_mode,
    FALSE AS is_unanswered
FROM (
    SELECT
        x.key, x.row_no, x.reference, x.is_crossing, x.currency, x.amount, x.fee, x.booked,
        x.is_open, x.booked_day::DATE AS booked_day
    FROM books AS x
    ANTI JOIN repeated ON repeated.digest = {hash}(x.key)
    WHERE x.key IS NOT NULL
) AS b
FULL OUTER JOIN (
    SELECT
        x.key, x.id, x.channel, x.currency, x.amount, x.fee, x.paid, x.is_created,
        x.is_contradicted, x.is_unknown, x.business_day::DATE AS business_day,
        x.created_day::DATE AS created_day
    FROM service AS x
    ANTI JOIN repeated ON repeated.digest = {hash}(x.key)
) AS s
    ON b.key = s.key;
