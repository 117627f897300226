-- Whom to pay back: successes of a reference beyond those booked. Only suspected are a reference that
-- was paid more than once and booked each time, because a reference names one order, and payments of
-- one customer of one amount within minutes under two references.
CREATE TEMP TABLE listed_doubles AS
WITH second AS (
    SELECT
        s.currency,
        s.reference,
        sum(s.amount)::BIGINT AS refund,
        sum(s.fee)::BIGINT AS fee
    FROM judged AS j
    INNER JOIN few_service AS s ON s.id = j.id
    WHERE j.break_code = 'double_payment'
    GROUP BY s.currency, s.reference
),

repeated_payments AS (
    SELECT reference FROM few_service WHERE paid GROUP BY reference HAVING count(*) > 1
),

-- The first payment is the order's own; what was refunded already is not looked at once more.
beyond_first AS (
    SELECT mode, currency, reference, sum(amount)::BIGINT AS amount
    FROM (
        SELECT
            s.mode,
            s.currency,
            s.reference,
            s.amount,
            row_number() OVER (
                PARTITION BY s.mode, s.currency, s.reference ORDER BY s.created_at, s.id
            ) AS place
        FROM few_service AS s
        SEMI JOIN repeated_payments AS r ON r.reference = s.reference
        ANTI JOIN refunded AS b ON b.id = s.id
        WHERE s.paid
    ) AS placed
    WHERE place > 1
    GROUP BY mode, currency, reference
),

paid_again AS (
    SELECT
        s.mode,
        s.currency,
        s.reference,
        string_agg(s.id, ' ' ORDER BY s.created_at, s.id) AS collection_ids,
        min(s.completed_at) AS first_at,
        max(s.completed_at) AS last_at,
        max(s.business_day) AS business_day,
        count(*) AS payments,
        sum(s.amount)::BIGINT AS amount,
        bool_or(s.business_day BETWEEN {first_day} AND {last_day}) AS is_inside
    FROM few_service AS s
    SEMI JOIN repeated_payments AS r ON r.reference = s.reference
    WHERE s.paid
    GROUP BY s.mode, s.currency, s.reference
)

SELECT
    p.mode,
    p.currency,
    p.reference,
    NULL AS reference_before,
    p.collection_ids,
    p.first_at,
    p.last_at,
    p.business_day,
    p.payments,
    p.amount,
    coalesce(second.refund, o.amount, 0) AS at_stake,
    CASE
        WHEN second.reference IS NULL THEN 'one reference, paid and booked more than once'
        ELSE 'one reference, paid more often than booked'
    END AS rule,
    second.reference IS NULL AS suspected,
    second.refund,
    second.fee
FROM paid_again AS p
LEFT JOIN second ON second.reference = p.reference AND second.currency = p.currency
LEFT JOIN beyond_first AS o
    ON o.mode = p.mode AND o.currency = p.currency AND o.reference = p.reference
WHERE second.reference IS NOT NULL
    OR (o.reference IS NOT NULL AND p.is_inside)
UNION ALL
SELECT
    r.mode,
    r.currency,
    r.reference,
    r.reference_before,
    r.id_before || ' ' || r.id AS collection_ids,
    r.completed_before AS first_at,
    r.completed_at AS last_at,
    r.business_day,
    2 AS payments,
    (2 * r.amount)::BIGINT AS amount,
    r.amount AS at_stake,
    'one customer, the same amount soon again' AS rule,
    TRUE AS suspected,
    NULL::BIGINT AS refund,
    NULL::BIGINT AS fee
FROM repeat_payments AS r;

CREATE TEMP TABLE lines_of_doubles AS
WITH wanted AS (
    SELECT reference FROM listed_doubles
    UNION
    SELECT reference_before AS reference FROM listed_doubles
)

SELECT b.reference, count(*) AS booked
FROM books AS b
SEMI JOIN wanted ON wanted.reference = b.reference
WHERE b.booked
GROUP BY b.reference;
