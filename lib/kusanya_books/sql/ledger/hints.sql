-- Never a match, only what nearly fits, with the reason: the same money within minutes, or on the
-- same day where exactly one is left on both sides; references that stand the other way round; sums
-- of one reference that differ by so much.
CREATE TEMP TABLE hints AS
WITH open_lines AS (
    SELECT l.*
    FROM alone_books AS l
    INNER JOIN judged AS j ON j.row_no = l.row_no AND j.id IS NULL
    WHERE l.booked AND j.group_key IS NULL
),

open_payments AS (
    SELECT s.*
    FROM alone_service AS s
    INNER JOIN judged AS j ON j.id = s.id AND j.row_no IS NULL
    WHERE s.paid AND j.group_key IS NULL
),

near AS (
    SELECT
        l.row_no,
        s.id,
        abs(date_diff('microsecond', s.completed_at, l.booked_at)) AS apart_us
    FROM open_lines AS l
    INNER JOIN open_payments AS s ON l.currency = s.currency AND l.amount = s.due
    WHERE abs(date_diff('microsecond', s.completed_at, l.booked_at))
        <= {double_minutes} * 60000000::BIGINT
),

near_lines AS (
    SELECT row_no, id, row_number() OVER (PARTITION BY row_no ORDER BY apart_us, id) AS place
    FROM near
),

near_payments AS (
    SELECT row_no, id, row_number() OVER (PARTITION BY id ORDER BY apart_us, row_no) AS place
    FROM near
),

-- Books that know no time of day.
one_line AS (
    SELECT currency, amount, booked_day, min(row_no) AS row_no
    FROM open_lines
    GROUP BY currency, amount, booked_day
    HAVING count(*) = 1
),

one_payment AS (
    SELECT currency, due, business_day, min(id) AS id
    FROM open_payments
    GROUP BY currency, due, business_day
    HAVING count(*) = 1
),

same_day AS (
    SELECT l.row_no, p.id
    FROM one_line AS l
    INNER JOIN one_payment AS p
        ON p.currency = l.currency AND p.due = l.amount AND p.business_day = l.booked_day
),

-- Two pairs whose amounts fit crosswise.
crossed AS (
    SELECT b.row_no, b.currency, b.amount, s.due, s.id
    FROM judged AS j
    INNER JOIN every_books AS b ON b.row_no = j.row_no
    INNER JOIN every_service AS s ON s.id = j.id
    WHERE j.break_code IN {completed_codes}
),

swaps AS (
    SELECT x.row_no, x.id, y.row_no AS other_row, y.id AS other_id
    FROM crossed AS x
    INNER JOIN crossed AS y
        ON y.currency = x.currency
        AND y.amount = x.due
        AND y.due = x.amount
        AND y.row_no <> x.row_no
),

one_swap AS (
    SELECT row_no, id, min(other_row) AS other_row
    FROM swaps
    GROUP BY row_no, id
    HAVING count(*) = 1
),

sums AS (
    SELECT spelling, currency, drift, fee_drift
    FROM reference_sums
    WHERE lines + payments > 2
),

texts AS (
    SELECT
        row_no, NULL::VARCHAR AS id, 0 AS rank,
        'row ' || other_row || ' books it already, as ' || other_reference AS text
    FROM spelled_twins
    UNION ALL
    SELECT row_no, NULL::VARCHAR AS id, 1 AS rank, id || ': the same amount within minutes' AS text
    FROM near_lines
    WHERE place = 1
    UNION ALL
    SELECT NULL::BIGINT, id, 1, 'row ' || row_no || ': the same amount within minutes'
    FROM near_payments
    WHERE place = 1
    UNION ALL
    SELECT row_no, NULL::VARCHAR, 2, id || ': the only one of this amount on this day'
    FROM same_day
    UNION ALL
    SELECT NULL::BIGINT, id, 2, 'row ' || row_no || ': the only one of this amount on this day'
    FROM same_day
    UNION ALL
    SELECT row_no, id, 0, 'row ' || other_row || ': the two references may stand the wrong way round'
    FROM one_swap
    UNION ALL
    SELECT
        l.row_no, NULL::VARCHAR, 3,
        CASE
            WHEN s.drift = 0 THEN 'its reference adds up, but several stand on both sides or fees differ'
            ELSE 'all lines of this reference less all its payments: ' || s.drift
        END
    FROM left_lines AS l
    INNER JOIN sums AS s ON s.spelling = l.spelling AND s.currency = l.currency
    WHERE l.is_alone
    UNION ALL
    SELECT
        NULL::BIGINT, p.id, 3,
        CASE
            WHEN s.drift = 0 THEN 'its reference adds up, but several stand on both sides or fees differ'
            ELSE 'all lines of this reference less all its payments: ' || s.drift
        END
    FROM left_payments AS p
    INNER JOIN sums AS s ON s.spelling = p.spelling AND s.currency = p.currency
    WHERE p.is_alone
),

ranked AS (
    SELECT *, row_number() OVER (PARTITION BY row_no, id ORDER BY rank, text) AS place FROM texts
)

SELECT coalesce(row_no, 0) AS row_no, coalesce(id, '') AS id, text FROM ranked WHERE place = 1;
