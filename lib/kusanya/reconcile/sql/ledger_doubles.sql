-- Whom to pay back: successes of a reference beyond those booked. Only suspected are a reference that
-- was paid more than once and booked each time, because a reference names one order, and payments of
-- one customer of one amount within minutes under two references.
WITH second AS (
    SELECT
        s.mode,
        s.currency,
        s.reference,
        sum(s.amount)::BIGINT AS refund,
        sum(s.fee)::BIGINT AS fee
    FROM judged AS j
    INNER JOIN few_service AS s ON s.id = j.id
    WHERE j.break_code = 'double_payment'::code
    GROUP BY s.mode, s.currency, s.reference
),

certain AS (
    SELECT
        second.mode,
        second.currency,
        second.reference,
        string_agg(s.id, ' ' ORDER BY s.created_at, s.id) AS collection_ids,
        min(s.completed_at) AS first_at,
        max(s.completed_at) AS last_at,
        count(*) AS payments,
        sum(s.amount)::BIGINT AS amount,
        (
            SELECT count(*) FROM few_books
            WHERE few_books.paid AND few_books.reference = second.reference
        ) AS booked,
        'one reference, paid more often than booked' AS rule,
        FALSE AS suspected,
        any_value(second.refund) AS refund,
        any_value(second.fee) AS fee
    FROM second
    INNER JOIN few_service AS s
        ON s.reference = second.reference AND s.currency = second.currency AND s.paid
    GROUP BY second.mode, second.currency, second.reference
),

booked_each AS (
    SELECT
        s.mode,
        s.currency,
        s.reference,
        string_agg(s.id, ' ' ORDER BY s.created_at, s.id) AS collection_ids,
        min(s.completed_at) AS first_at,
        max(s.completed_at) AS last_at,
        count(*) AS payments,
        sum(s.amount)::BIGINT AS amount,
        (SELECT count(*) FROM few_books AS b WHERE b.paid AND b.reference = s.reference) AS booked,
        'one reference, paid and booked more than once' AS rule,
        TRUE AS suspected,
        NULL::BIGINT AS refund,
        NULL::BIGINT AS fee
    FROM few_service AS s, span
    WHERE s.paid
    GROUP BY s.mode, s.currency, s.reference
    HAVING count(*) > 1
        AND bool_or(s.business_day BETWEEN span.first AND span.last)
        AND (s.mode, s.currency, s.reference) NOT IN (
            SELECT (mode, currency, reference) FROM second
        )
),

followed AS (
    SELECT
        s.*,
        lag(s.id) OVER payer AS id_before,
        lag(s.reference) OVER payer AS reference_before,
        lag(s.completed_at) OVER payer AS completed_before,
        lag(s.created_at) OVER payer AS created_before
    FROM few_service AS s
    WHERE s.paid AND s.phone_key IS NOT NULL
    WINDOW payer AS (
        PARTITION BY s.mode, s.currency, s.phone_key, s.amount ORDER BY s.created_at, s.id
    )
),

suspected AS (
    SELECT
        f.mode,
        f.currency,
        f.reference,
        f.id_before || ' ' || f.id AS collection_ids,
        f.completed_before AS first_at,
        f.completed_at AS last_at,
        2 AS payments,
        (2 * f.amount)::BIGINT AS amount,
        (SELECT count(*) FROM few_books AS b WHERE b.paid AND b.reference = f.reference)
            + (SELECT count(*) FROM few_books AS b WHERE b.paid AND b.reference = f.reference_before)
            AS booked,
        'one customer, the same amount soon again' AS rule,
        TRUE AS suspected,
        NULL::BIGINT AS refund,
        NULL::BIGINT AS fee
    FROM followed AS f, span
    WHERE f.reference <> f.reference_before
        AND epoch_us(f.created_at) - epoch_us(f.created_before)
            <= span.double_minutes * 60000000
        AND f.business_day BETWEEN span.first AND span.last
)

SELECT * FROM certain
UNION ALL
SELECT * FROM booked_each
UNION ALL
SELECT * FROM suspected
ORDER BY suspected, refund DESC, first_at, reference, collection_ids
