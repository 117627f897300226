-- Every line and every collection of the period in exactly one row, with its verdict; those that
-- agree may stand together as one row that says how many they are.
CREATE TEMP TABLE judged AS
SELECT
    break_code,
    match_rule,
    row_no,
    id,
    currency_ledger,
    currency_service,
    age_days,
    in_ledger,
    in_service,
    1 AS rows,
    coalesce(amount_ledger, amount_service) AS amount,
    counted_ledger,
    counted_service
FROM close_verdicts
WHERE is_inside
UNION ALL
SELECT
    break_code,
    NULL AS match_rule,
    NULL AS row_no,
    NULL AS id,
    currency AS currency_ledger,
    currency AS currency_service,
    age_days,
    in_ledger,
    in_service,
    rows,
    amount,
    counted_ledger,
    counted_service
FROM counted
WHERE key IS NULL;

-- Never a match, only a hint: same money within minutes on the other side.
CREATE TEMP TABLE hints AS
WITH near AS (
    SELECT
        l.row_no,
        s.id,
        abs(date_diff('microsecond', s.completed_at, l.booked_at)) AS apart_us
    FROM alone_books AS l
    INNER JOIN alone_service AS s
        ON l.currency = s.currency AND l.amount = s.due
    CROSS JOIN span
    SEMI JOIN judged AS of_line ON of_line.row_no = l.row_no
    SEMI JOIN judged AS of_collection ON of_collection.id = s.id
    WHERE l.booked
        AND s.paid
        AND abs(date_diff('microsecond', s.completed_at, l.booked_at))
            <= span.double_minutes * 60000000
)

SELECT
    row_no,
    id,
    row_number() OVER (PARTITION BY row_no ORDER BY apart_us, id) AS place_row,
    row_number() OVER (PARTITION BY id ORDER BY apart_us, row_no) AS place_id
FROM near;

-- Payments of one customer of one amount within minutes under two references. Only customers who paid
-- the same amount more than once are put in order.
CREATE TEMP TABLE repeat_payments AS
WITH payers AS (
    SELECT phone_key, amount
    FROM service
    WHERE paid AND phone_key IS NOT NULL
    GROUP BY phone_key, amount
    HAVING count(*) > 1
),

followed AS (
    SELECT
        s.mode,
        s.currency,
        s.reference,
        s.id,
        s.amount,
        s.business_day,
        s.created_at,
        s.completed_at,
        lag(s.id) OVER payer AS id_before,
        lag(s.reference) OVER payer AS reference_before,
        lag(s.completed_at) OVER payer AS completed_before,
        lag(s.created_at) OVER payer AS created_before
    FROM service AS s
    SEMI JOIN payers
        ON payers.phone_key = s.phone_key AND payers.amount = s.amount
    WHERE s.paid
    WINDOW payer AS (
        PARTITION BY s.currency, s.phone_key, s.amount ORDER BY s.created_at, s.id
    )
)

SELECT f.*
FROM followed AS f
CROSS JOIN span
WHERE f.reference <> f.reference_before
    AND date_diff('microsecond', f.created_before, f.created_at) <= span.double_minutes * 60000000
    AND f.business_day BETWEEN span.first_day AND span.last_day;
