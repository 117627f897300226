-- What the one-to-one match left over of lines and payments. Only of this are groups made: lines and
-- payments that belong together though none is the other.
CREATE TEMP TABLE first_verdicts AS
WITH verdicts_of_pairs AS (
    SELECT * FROM close_verdicts AS v
    ANTI JOIN spelled AS p ON p.row_no = v.row_no
    ANTI JOIN spelled AS p ON p.id = v.id
    UNION ALL
    SELECT * FROM spelled_verdicts
)

SELECT
    break_code, match_rule, row_no, id, has_line, has_collection, currency_ledger, currency_service,
    age_days, booked, paid, is_contradicted, is_inside, in_ledger, in_service, amount_ledger,
    amount_service, counted_ledger, counted_service
FROM verdicts_of_pairs;

-- A second payment is paid back by a refund of its reference and amount.
CREATE TEMP TABLE refunded AS
WITH refunds AS (
    SELECT
        l.*,
        row_number() OVER (
            PARTITION BY l.spelling, l.currency, l.amount ORDER BY l.booked_at, l.row_no
        ) AS place
    FROM signed_lines AS l
    ANTI JOIN cancelled AS c ON c.row_no = l.row_no
    WHERE l.kind = 'refund' AND l.booked AND l.spelling IS NOT NULL
),

repaid AS (
    SELECT
        s.id,
        lower(trim(s.reference)) AS spelling,
        s.currency,
        s.amount,
        row_number() OVER (
            PARTITION BY lower(trim(s.reference)), s.currency, s.amount
            ORDER BY s.created_at DESC, s.id DESC
        ) AS place
    FROM first_verdicts AS v
    INNER JOIN every_service AS s ON s.id = v.id
    WHERE v.break_code IN {refunded_codes}
)

SELECT r.row_no, p.id
FROM refunds AS r
INNER JOIN repaid AS p
    ON p.spelling = r.spelling
    AND p.currency = r.currency
    AND p.amount = -r.amount
    AND p.place = r.place;

CREATE TEMP TABLE left_lines AS
SELECT
    b.row_no, lower(trim(coalesce(b.key, b.reference))) AS spelling, b.reference, b.currency,
    b.channel, b.amount, b.fee, b.booked_day, b.booked_at, NOT v.has_collection AS is_alone
FROM first_verdicts AS v
INNER JOIN every_books AS b ON b.row_no = v.row_no
WHERE v.booked AND (NOT v.has_collection OR v.break_code IN {completed_codes})
UNION ALL
SELECT
    b.row_no, lower(trim(b.key)) AS spelling, b.reference, b.currency, b.channel, b.amount, b.fee,
    b.booked_day, b.booked_at, TRUE AS is_alone
FROM extra_books AS b
ANTI JOIN spelled AS p ON p.row_no = b.row_no;

CREATE TEMP TABLE left_payments AS
SELECT
    s.id, lower(trim(s.key)) AS spelling, s.currency, s.channel, s.amount, s.fee, s.due,
    s.business_day, NOT v.has_line AS is_alone
FROM first_verdicts AS v
INNER JOIN every_service AS s ON s.id = v.id
ANTI JOIN refunded AS r ON r.id = v.id
WHERE v.paid
    AND NOT v.is_contradicted
    AND (NOT v.has_line OR v.break_code IN {completed_codes})
UNION ALL
SELECT
    s.id, lower(trim(s.key)) AS spelling, s.currency, s.channel, s.amount, s.fee, s.due,
    s.business_day, TRUE AS is_alone
FROM extra_service AS s
ANTI JOIN spelled AS p ON p.id = s.id
WHERE NOT s.is_contradicted;
