-- Lines and payments that belong together though none is the other: second payments that were
-- refunded, several lines for one payment, one line for several payments
-- or for a whole day. Only exact sums count, and only of what the one-to-one match left over.
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

-- All that is left of one reference: several lines and one payment, or one line and several.
CREATE TEMP TABLE reference_sums AS
WITH lines AS (
    SELECT
        spelling, currency, count(*) AS lines, sum(amount)::BIGINT AS amount,
        CASE WHEN count(fee) = count(*) THEN sum(fee)::BIGINT END AS fee, min(row_no) AS row_no
    FROM left_lines
    WHERE spelling IS NOT NULL
    GROUP BY spelling, currency
),

payments AS (
    SELECT
        spelling, currency, count(*) AS payments, sum(due)::BIGINT AS due,
        sum(fee)::BIGINT AS fee, min(id) AS id
    FROM left_payments
    GROUP BY spelling, currency
)

SELECT
    l.spelling,
    l.currency,
    l.lines,
    p.payments,
    l.amount - p.due AS drift,
    l.fee - p.fee AS fee_drift,
    CASE
        WHEN p.payments = 1 THEN p.id
        WHEN l.lines = 1 THEN 'row ' || l.row_no
    END AS group_key
FROM lines AS l
INNER JOIN payments AS p ON p.spelling = l.spelling AND p.currency = l.currency;

CREATE TEMP TABLE by_own_reference AS
SELECT
    r.spelling,
    r.currency,
    r.group_key,
    CASE WHEN r.payments = 1 THEN 'split_booking' ELSE 'booked_together' END AS form
FROM reference_sums AS r
WHERE (r.lines = 1) <> (r.payments = 1)
    AND r.group_key IS NOT NULL
    AND abs(r.drift) <= {amount_tolerance}
    AND coalesce(abs(r.fee_drift) <= {fee_tolerance}, TRUE);

-- A line that lists references, parted by commas and the like, else by slashes and spaces, else by
-- all of them; each must have something left over.
CREATE TEMP TABLE listed_groups AS
WITH lines AS (
    SELECT l.*
    FROM left_lines AS l
    ANTI JOIN by_own_reference AS o ON o.spelling = l.spelling AND o.currency = l.currency
    WHERE l.is_alone AND regexp_matches(trim(l.reference), '[,;/ +]')
),

parts AS (
    SELECT row_no, 1 AS way, unnest(string_split_regex(lower(reference), '[,;+]+')) AS part
    FROM lines
    UNION ALL
    SELECT row_no, 2 AS way, unnest(string_split_regex(lower(reference), '[/ ]+')) AS part
    FROM lines
    UNION ALL
    SELECT row_no, 3 AS way, unnest(string_split_regex(lower(reference), '[,;/ +]+')) AS part
    FROM lines
),

named AS (
    SELECT DISTINCT row_no, way, trim(part) AS spelling FROM parts WHERE trim(part) <> ''
),

open_payments AS (
    SELECT p.*
    FROM left_payments AS p
    ANTI JOIN by_own_reference AS o ON o.spelling = p.spelling AND o.currency = p.currency
    WHERE p.is_alone
),

sums AS (
    SELECT
        spelling, currency, sum(due)::BIGINT AS due, sum(fee)::BIGINT AS fee
    FROM open_payments
    GROUP BY spelling, currency
),

fits AS (
    SELECT n.row_no, n.way
    FROM named AS n
    INNER JOIN lines AS l ON l.row_no = n.row_no
    LEFT JOIN sums AS s ON s.spelling = n.spelling AND s.currency = l.currency
    GROUP BY n.row_no, n.way
    HAVING count(*) > 1
        AND count(s.due) = count(*)
        AND abs(sum(s.due) - min(l.amount)) <= {amount_tolerance}
        AND coalesce(abs(sum(s.fee) - min(l.fee)) <= {fee_tolerance}, TRUE)
),

best AS (
    SELECT row_no, min(way) AS way FROM fits GROUP BY row_no
),

claims AS (
    SELECT
        n.row_no,
        n.spelling,
        l.currency,
        row_number() OVER (
            PARTITION BY n.spelling, l.currency ORDER BY l.booked_at, l.row_no
        ) AS place
    FROM best AS b
    INNER JOIN named AS n ON n.row_no = b.row_no AND n.way = b.way
    INNER JOIN lines AS l ON l.row_no = b.row_no
),

-- A reference that an earlier line took is not free any more.
late AS (
    SELECT DISTINCT row_no FROM claims WHERE place > 1
)

SELECT c.row_no, p.id
FROM claims AS c
ANTI JOIN late ON late.row_no = c.row_no
INNER JOIN open_payments AS p ON p.spelling = c.spelling AND p.currency = c.currency;

-- A line without a reference stands for all payments left over of its day, or of a day that grace
-- reaches, and of its channel where it names one; before or after their fees.
CREATE TEMP TABLE day_lines AS
WITH open_payments AS (
    SELECT p.*
    FROM left_payments AS p
    ANTI JOIN by_own_reference AS o ON o.spelling = p.spelling AND o.currency = p.currency
    ANTI JOIN listed_groups AS g ON g.id = p.id
    WHERE p.is_alone
),

pools AS (
    SELECT
        currency, business_day, channel, sum(due)::BIGINT AS due, sum(amount - fee)::BIGINT AS net,
        sum(fee)::BIGINT AS fee
    FROM open_payments
    GROUP BY currency, business_day, channel
    UNION ALL
    SELECT
        currency, business_day, NULL AS channel, sum(due)::BIGINT AS due,
        sum(amount - fee)::BIGINT AS net, sum(fee)::BIGINT AS fee
    FROM open_payments
    GROUP BY currency, business_day
),

fits AS (
    SELECT
        l.row_no,
        l.currency,
        l.channel,
        p.business_day,
        l.booked_at,
        abs(l.amount - p.due) > {amount_tolerance} AS is_net,
        row_number() OVER (PARTITION BY l.row_no ORDER BY p.business_day DESC) AS place
    FROM left_lines AS l
    INNER JOIN pools AS p
        ON p.currency = l.currency
        AND coalesce(p.channel, '') = coalesce(l.channel, '')
        AND (p.channel IS NULL) = (l.channel IS NULL)
        AND date_diff('day', p.business_day, l.booked_day) BETWEEN 0 AND {grace_days}
    WHERE l.spelling IS NULL
        AND (
            abs(l.amount - p.due) <= {amount_tolerance}
            OR (NOT {net_basis} AND abs(l.amount - p.net) <= {amount_tolerance})
        )
        AND coalesce(abs(l.fee - p.fee) <= {fee_tolerance}, TRUE)
),

firsts AS (
    SELECT
        *,
        row_number() OVER (
            PARTITION BY currency, business_day, channel ORDER BY booked_at, row_no
        ) AS place_line
    FROM fits
    WHERE place = 1
),

chosen AS (
    SELECT * FROM firsts WHERE place_line = 1
),

of_channels AS (
    SELECT DISTINCT currency, business_day FROM chosen WHERE channel IS NOT NULL
)

SELECT c.row_no, p.id, c.is_net
FROM chosen AS c
INNER JOIN open_payments AS p
    ON p.currency = c.currency
    AND p.business_day = c.business_day
    AND (c.channel IS NULL OR p.channel = c.channel)
LEFT JOIN of_channels AS o ON o.currency = c.currency AND o.business_day = c.business_day
WHERE c.channel IS NOT NULL OR o.currency IS NULL;

CREATE TEMP TABLE members AS
SELECT l.row_no, NULL::VARCHAR AS id, o.group_key, o.form
FROM left_lines AS l
INNER JOIN by_own_reference AS o ON o.spelling = l.spelling AND o.currency = l.currency
UNION ALL
SELECT NULL::BIGINT AS row_no, p.id, o.group_key, o.form
FROM left_payments AS p
INNER JOIN by_own_reference AS o ON o.spelling = p.spelling AND o.currency = p.currency
UNION ALL
SELECT DISTINCT row_no, NULL::VARCHAR AS id, 'row ' || row_no AS group_key, 'booked_together' AS form
FROM listed_groups
UNION ALL
SELECT NULL::BIGINT AS row_no, id, 'row ' || row_no AS group_key, 'booked_together' AS form
FROM listed_groups
UNION ALL
SELECT DISTINCT
    row_no, NULL::VARCHAR AS id, 'row ' || row_no AS group_key,
    CASE WHEN is_net THEN 'booked_by_day_net' ELSE 'booked_by_day' END AS form
FROM day_lines
UNION ALL
SELECT
    NULL::BIGINT AS row_no, id, 'row ' || row_no AS group_key,
    CASE WHEN is_net THEN 'booked_by_day_net' ELSE 'booked_by_day' END AS form
FROM day_lines;

-- A group says whether it lies on one day, in one period, and whether any of it is in this one.
CREATE TEMP TABLE group_codes AS
WITH days AS (
    SELECT
        m.group_key,
        m.form,
        min(b.booked_day) AS booked_from,
        max(b.booked_day) AS booked_to,
        min(s.business_day) AS paid_from,
        max(s.business_day) AS paid_to
    FROM members AS m
    LEFT JOIN every_books AS b ON b.row_no = m.row_no
    LEFT JOIN every_service AS s ON s.id = m.id
    GROUP BY m.group_key, m.form
)

SELECT
    d.group_key,
    CASE
        WHEN d.form = 'booked_by_day_net' THEN d.form
        WHEN d.paid_from < {first_day} THEN 'paid_in_earlier_period'
        WHEN d.paid_to > {last_day} THEN 'paid_in_later_period'
        WHEN d.booked_from < {first_day} THEN 'booked_in_earlier_period'
        WHEN d.booked_to > {last_day} THEN 'booked_in_later_period'
        WHEN least(d.booked_from, d.paid_from) <> greatest(d.booked_to, d.paid_to) THEN 'timing'
        ELSE d.form
    END AS break_code,
    (d.booked_from <= {last_day} AND d.booked_to >= {first_day})
    OR (d.paid_from <= {last_day} AND d.paid_to >= {first_day}) AS is_inside
FROM days AS d;

CREATE TEMP VIEW final_verdicts AS
WITH grouped_lines AS (
    SELECT
        c.break_code,
        m.form AS match_rule,
        m.group_key,
        b.row_no,
        NULL::VARCHAR AS id,
        b.currency AS currency_ledger,
        NULL::VARCHAR AS currency_service,
        greatest(0, date_diff('day', b.booked_day, {as_of})) AS age_days,
        b.booked_day BETWEEN {first_day} AND {last_day} AS in_ledger,
        FALSE AS in_service,
        b.amount,
        b.amount AS signed_amount
    FROM members AS m
    INNER JOIN group_codes AS c ON c.group_key = m.group_key AND c.is_inside
    INNER JOIN every_books AS b ON b.row_no = m.row_no
),

grouped_payments AS (
    SELECT
        c.break_code,
        m.form AS match_rule,
        m.group_key,
        NULL::BIGINT AS row_no,
        s.id,
        NULL::VARCHAR AS currency_ledger,
        s.currency AS currency_service,
        greatest(0, date_diff('day', s.business_day, {as_of})) AS age_days,
        FALSE AS in_ledger,
        s.business_day BETWEEN {first_day} AND {last_day} AS in_service,
        s.amount,
        s.due AS signed_amount
    FROM members AS m
    INNER JOIN group_codes AS c ON c.group_key = m.group_key AND c.is_inside
    INNER JOIN every_service AS s ON s.id = m.id
),

-- What is no payment: a code by its kind, but for what it cancels or pays back.
signed AS (
    SELECT
        CASE
            WHEN NOT l.booked THEN 'not_billable'
            WHEN h.booked_day BETWEEN {first_day} AND {last_day} THEN 'reversed_pair'
            WHEN h.row_no IS NOT NULL THEN 'reversal'
            WHEN r.row_no IS NOT NULL THEN 'refunded'
            WHEN l.kind = 'charge' THEN 'bank_charges'
            ELSE l.kind
        END AS break_code,
        NULL::VARCHAR AS match_rule,
        CASE
            WHEN c.reversal IS NOT NULL THEN 'row ' || c.row_no
            WHEN t.reversal IS NOT NULL THEN 'row ' || t.row_no
            ELSE r.id
        END AS group_key,
        l.row_no,
        NULL::VARCHAR AS id,
        l.currency AS currency_ledger,
        NULL::VARCHAR AS currency_service,
        greatest(0, date_diff('day', l.booked_day, {as_of})) AS age_days,
        l.booked AS in_ledger,
        FALSE AS in_service,
        l.amount,
        CASE WHEN l.booked THEN l.amount ELSE 0 END AS signed_amount
    FROM apart_lines AS l
    LEFT JOIN cancelled AS c ON c.reversal = l.row_no
    LEFT JOIN cancelled AS t ON t.row_no = l.row_no
    LEFT JOIN apart_lines AS h ON h.row_no = coalesce(c.row_no, t.reversal)
    LEFT JOIN refunded AS r ON r.row_no = l.row_no
    WHERE l.booked_day BETWEEN {first_day} AND {last_day}
),

kept AS (
    SELECT
        CASE
            WHEN r.id IS NOT NULL THEN 'refunded'
            WHEN v.match_rule = 'spelling' AND v.break_code = 'matched' THEN 'reference_differs'
            ELSE v.break_code
        END AS break_code,
        v.match_rule,
        r.id AS group_key,
        v.row_no,
        v.id,
        v.currency_ledger,
        v.currency_service,
        v.age_days,
        v.in_ledger,
        v.in_service,
        coalesce(v.amount_ledger, v.amount_service) AS amount,
        v.counted_ledger,
        v.counted_service
    FROM first_verdicts AS v
    ANTI JOIN members AS m ON m.row_no = v.row_no
    ANTI JOIN members AS m ON m.id = v.id
    LEFT JOIN refunded AS r ON r.id = v.id
    WHERE v.is_inside
)

SELECT * FROM kept
UNION ALL
SELECT
    break_code, match_rule, group_key, row_no, id, currency_ledger, currency_service, age_days,
    in_ledger, in_service, amount, CASE WHEN in_ledger THEN signed_amount ELSE 0 END, 0::BIGINT
FROM grouped_lines
UNION ALL
SELECT
    break_code, match_rule, group_key, row_no, id, currency_ledger, currency_service, age_days,
    in_ledger, in_service, amount, 0::BIGINT, CASE WHEN in_service THEN signed_amount ELSE 0 END
FROM grouped_payments
UNION ALL
SELECT
    break_code, match_rule, group_key, row_no, id, currency_ledger, currency_service, age_days,
    in_ledger, in_service, amount, signed_amount, 0::BIGINT
FROM signed;
