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
    amount_service, at_stake, counted_ledger, counted_service
FROM verdicts_of_pairs;

-- Booked lines that are no payment and cancel no line, nor are cancelled by one.
CREATE TEMP TABLE alone_signed AS
SELECT l.*
FROM signed_lines AS l
ANTI JOIN cancelled AS c ON c.reversal = l.row_no
ANTI JOIN cancelled AS c ON c.row_no = l.row_no
WHERE l.booked AND l.kind <> 'charge' AND l.service_key IS NOT NULL;

-- A second payment is paid back by a refund of its reference and amount.
CREATE TEMP TABLE refunded AS
WITH refunds AS (
    SELECT
        *,
        row_number() OVER (
            PARTITION BY service_key, currency, amount ORDER BY booked_at, row_no
        ) AS place
    FROM alone_signed
),

repaid AS (
    SELECT
        s.id,
        lower(trim(s.key)) AS service_key,
        s.currency,
        s.amount,
        row_number() OVER (
            PARTITION BY lower(trim(s.key)), s.currency, s.amount
            ORDER BY s.created_at DESC, s.id DESC
        ) AS place
    FROM first_verdicts AS v
    INNER JOIN every_service AS s ON s.id = v.id
    WHERE v.is_inside AND v.break_code IN {refunded_codes}
)

SELECT r.row_no, p.id
FROM refunds AS r
INNER JOIN repaid AS p
    ON p.service_key = r.service_key
    AND p.currency = r.currency
    AND p.amount = -r.amount
    AND p.place = r.place;

CREATE TEMP VIEW alone_reversals AS
SELECT l.*
FROM alone_signed AS l
ANTI JOIN refunded AS r ON r.row_no = l.row_no
WHERE l.kind = 'reversal';

-- A payment without a line, and a line of its amount with the wrong sign.
CREATE TEMP TABLE turned AS
WITH negative AS (
    SELECT
        *,
        row_number() OVER (
            PARTITION BY service_key, currency, amount ORDER BY booked_at, row_no
        ) AS place
    FROM alone_reversals
),

unbooked AS (
    SELECT
        s.id,
        lower(trim(s.key)) AS service_key,
        s.currency,
        s.due,
        row_number() OVER (
            PARTITION BY lower(trim(s.key)), s.currency, s.due ORDER BY s.created_at, s.id
        ) AS place
    FROM first_verdicts AS v
    INNER JOIN every_service AS s ON s.id = v.id
    WHERE v.paid
        AND NOT v.has_line
        AND NOT v.is_contradicted
        AND v.is_inside
        AND v.break_code NOT IN {refunded_codes}
)

SELECT n.row_no, u.id
FROM negative AS n
INNER JOIN unbooked AS u
    ON u.service_key = n.service_key
    AND u.currency = n.currency
    AND u.due = -n.amount
    AND u.place = n.place;

-- What was booked too much for a payment is corrected by a reversal of the difference: a line of it.
CREATE TEMP TABLE corrections AS
WITH reversals AS (
    SELECT
        a.*,
        row_number() OVER (
            PARTITION BY a.service_key, a.currency, a.amount ORDER BY a.booked_at, a.row_no
        ) AS place
    FROM alone_reversals AS a
    ANTI JOIN turned AS t ON t.row_no = a.row_no
),

booked_over AS (
    SELECT
        lower(trim(s.key)) AS service_key,
        b.currency,
        s.due - b.amount AS correction,
        row_number() OVER (
            PARTITION BY lower(trim(s.key)), b.currency, s.due - b.amount
            ORDER BY b.booked_at, b.row_no
        ) AS place
    FROM first_verdicts AS v
    INNER JOIN every_books AS b ON b.row_no = v.row_no
    INNER JOIN every_service AS s ON s.id = v.id
    WHERE v.booked AND v.paid AND v.break_code IN {completed_codes} AND b.amount > s.due
)

SELECT
    r.row_no, r.service_key AS spelling, r.reference, r.currency, r.channel, r.amount, r.fee,
    r.booked_day, r.booked_at
FROM reversals AS r
INNER JOIN booked_over AS o
    ON o.service_key = r.service_key
    AND o.currency = r.currency
    AND o.correction = r.amount
    AND o.place = r.place;

-- What was paid for the orders that such a line names: in the whole store, and in the books.
CREATE TEMP TABLE paid_for AS
WITH payments AS (
    SELECT lower(trim(s.key)) AS service_key, s.currency, s.amount, s.due, s.business_day
    FROM service AS s
    WHERE s.paid
),

lines AS (
    SELECT lower(trim(coalesce(b.key, b.reference))) AS service_key, b.currency, b.amount
    FROM books AS b
    WHERE b.booked
)

SELECT 'service' AS side, p.service_key, p.currency, p.amount, p.due, p.business_day
FROM payments AS p
SEMI JOIN alone_signed AS a ON a.service_key = p.service_key
UNION ALL
SELECT 'books' AS side, l.service_key, l.currency, l.amount, l.amount, NULL::TIMESTAMP
FROM lines AS l
SEMI JOIN alone_signed AS a ON a.service_key = l.service_key;

-- Lines that take back no more than was paid for their order; a reversal that cancels no line takes
-- back exactly one payment of an earlier period, whose line the earlier books have.
CREATE TEMP TABLE explained AS
WITH sums AS (
    SELECT side, service_key, currency, sum(amount)::BIGINT AS amount
    FROM paid_for
    GROUP BY side, service_key, currency
),

covers AS (
    SELECT service_key, currency, max(amount) AS amount FROM sums GROUP BY service_key, currency
),

earlier AS (
    SELECT service_key, currency, due, count(*) AS payments
    FROM paid_for
    WHERE side = 'service' AND business_day < {first_day}
    GROUP BY service_key, currency, due
),

taken AS (
    SELECT
        a.*,
        sum(a.amount) OVER (
            PARTITION BY a.service_key, a.currency ORDER BY a.booked_at, a.row_no
        ) AS taken,
        row_number() OVER (
            PARTITION BY a.service_key, a.currency, a.kind, a.amount ORDER BY a.booked_at, a.row_no
        ) AS place
    FROM alone_signed AS a
    ANTI JOIN turned AS t ON t.row_no = a.row_no
)

SELECT t.row_no
FROM taken AS t
INNER JOIN covers AS c ON c.service_key = t.service_key AND c.currency = t.currency
LEFT JOIN earlier AS e
    ON e.service_key = t.service_key
    AND e.currency = t.currency
    AND e.due = -t.amount
    AND e.payments >= t.place
WHERE t.taken BETWEEN -c.amount AND 0 AND (t.kind <> 'reversal' OR e.due IS NOT NULL);

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
ANTI JOIN spelled AS p ON p.row_no = b.row_no
UNION ALL
SELECT
    row_no, spelling, reference, currency, channel, amount, fee, booked_day, booked_at,
    FALSE AS is_alone
FROM corrections;

CREATE TEMP TABLE left_payments AS
SELECT
    s.id, lower(trim(s.key)) AS spelling, s.currency, s.channel, s.amount, s.fee, s.due,
    s.business_day, NOT v.has_line AS is_alone
FROM first_verdicts AS v
INNER JOIN every_service AS s ON s.id = v.id
ANTI JOIN refunded AS r ON r.id = v.id
ANTI JOIN turned AS t ON t.id = v.id
WHERE v.paid
    AND NOT v.is_contradicted
    AND (NOT v.has_line OR v.break_code IN {completed_codes})
UNION ALL
SELECT
    s.id, lower(trim(s.key)) AS spelling, s.currency, s.channel, s.amount, s.fee, s.due,
    s.business_day, TRUE AS is_alone
FROM extra_service AS s
ANTI JOIN spelled AS p ON p.id = s.id
WHERE s.paid AND NOT s.is_contradicted;
