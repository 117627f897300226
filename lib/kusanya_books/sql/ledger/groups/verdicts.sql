-- The groups of either kind in one table, and the verdict on every row, in a group or not.
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
        max(s.business_day) AS paid_to,
        min(m.row_no) AS first_row,
        (sum(b.amount) - sum(s.due))::BIGINT AS drift
    FROM members AS m
    LEFT JOIN left_lines AS b ON b.row_no = m.row_no
    LEFT JOIN every_service AS s ON s.id = m.id
    GROUP BY m.group_key, m.form
)

SELECT
    d.group_key,
    d.first_row,
    d.drift,
    CASE
        WHEN d.form = 'booked_by_day_net' THEN d.form
        WHEN (least(d.booked_from, d.paid_from) < {first_day} OR greatest(d.booked_to, d.paid_to) > {last_day})
            AND date_diff('day', d.paid_from, d.booked_to) BETWEEN 1 AND {grace_days}
            AND d.paid_to <= d.booked_from
            THEN 'booked_over_edge'
        WHEN (least(d.booked_from, d.paid_from) < {first_day} OR greatest(d.booked_to, d.paid_to) > {last_day})
            AND date_diff('day', d.booked_from, d.paid_to) BETWEEN 1 AND {grace_days}
            AND d.booked_to <= d.paid_from
            THEN 'paid_over_edge'
        WHEN d.paid_from < {first_day} THEN 'paid_in_earlier_period'
        WHEN d.paid_to > {last_day} THEN 'paid_in_later_period'
        WHEN d.booked_from < {first_day} THEN 'booked_in_earlier_period'
        WHEN d.booked_to > {last_day} THEN 'booked_in_later_period'
        WHEN d.drift <> 0 THEN 'within_tolerance'
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
        -- What a group differs by stands once, at its first line.
        CASE
            WHEN c.break_code <> 'within_tolerance' THEN b.amount
            WHEN b.row_no = c.first_row THEN c.drift
            ELSE 0
        END AS amount,
        b.amount AS signed_amount
    FROM members AS m
    INNER JOIN group_codes AS c ON c.group_key = m.group_key AND c.is_inside
    INNER JOIN left_lines AS b ON b.row_no = m.row_no
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
        CASE WHEN c.break_code = 'within_tolerance' THEN 0 ELSE s.amount END AS amount,
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
            WHEN l.amount = 0 THEN 'books_zero'
            WHEN l.kind = 'charge' AND l.amount < 0 THEN 'bank_charges'
            WHEN e.row_no IS NOT NULL THEN l.kind
            WHEN l.kind IN ('reversal', 'charge') THEN 'reversal_alone'
            ELSE 'refund_alone'
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
    LEFT JOIN explained AS e ON e.row_no = l.row_no
    ANTI JOIN turned ON turned.row_no = l.row_no
    ANTI JOIN members AS m ON m.row_no = l.row_no
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
        v.at_stake,
        v.counted_ledger,
        v.counted_service
    FROM first_verdicts AS v
    ANTI JOIN members AS m ON m.row_no = v.row_no
    ANTI JOIN members AS m ON m.id = v.id
    ANTI JOIN turned AS t ON t.id = v.id
    LEFT JOIN refunded AS r ON r.id = v.id
    WHERE v.is_inside
),

booked_negative AS (
    SELECT
        'booked_negative' AS break_code,
        'reference' AS match_rule,
        NULL::VARCHAR AS group_key,
        l.row_no,
        v.id,
        l.currency AS currency_ledger,
        v.currency_service,
        v.age_days,
        l.booked_day BETWEEN {first_day} AND {last_day} AS in_ledger,
        v.in_service,
        abs(l.amount) + v.at_stake AS at_stake,
        CASE WHEN l.booked_day BETWEEN {first_day} AND {last_day} THEN l.amount ELSE 0 END
            AS counted_ledger,
        v.counted_service
    FROM turned AS t
    INNER JOIN signed_lines AS l ON l.row_no = t.row_no
    INNER JOIN first_verdicts AS v ON v.id = t.id
)

SELECT * FROM kept
UNION ALL
SELECT
    break_code, match_rule, group_key, row_no, id, currency_ledger, currency_service, age_days,
    in_ledger, in_service, at_stake, counted_ledger, counted_service
FROM booked_negative
UNION ALL
SELECT
    break_code, match_rule, group_key, row_no, id, currency_ledger, currency_service, age_days,
    in_ledger, in_service, abs(amount), CASE WHEN in_ledger THEN signed_amount ELSE 0 END, 0::BIGINT
FROM grouped_lines
UNION ALL
SELECT
    break_code, match_rule, group_key, row_no, id, currency_ledger, currency_service, age_days,
    in_ledger, in_service, abs(amount), 0::BIGINT, CASE WHEN in_service THEN signed_amount ELSE 0 END
FROM grouped_payments
UNION ALL
SELECT
    break_code, match_rule, group_key, row_no, id, currency_ledger, currency_service, age_days,
    in_ledger, in_service, abs(amount), signed_amount, 0::BIGINT
FROM signed;
