-- Every line and every collection of the period in exactly one narrow row, with its verdict. The
-- wide columns are joined back for the few rows that people read: a million rows that agree are
-- counted and never carried.
CREATE TEMP VIEW met AS
SELECT
    CASE
        WHEN b.row_no IS NULL OR s.id IS NULL THEN NULL
        WHEN b.currency = s.currency AND b.amount = s.due THEN 'reference_amount'
        ELSE 'reference'
    END AS match_rule,
    b.row_no,
    s.id,
    b.currency AS currency_ledger,
    b.amount AS amount_ledger,
    b.fee AS fee_ledger,
    b.status AS status_ledger,
    b.paid AS booked,
    b.booked_day,
    s.currency AS currency_service,
    s.amount AS amount_service,
    s.fee AS fee_service,
    s.due,
    s.status AS status_service,
    s.paid,
    s.contradictions,
    s.business_day,
    s.day
FROM (SELECT * FROM rest_books AS r ANTI JOIN repeated ON repeated.reference = r.reference) AS b
FULL OUTER JOIN
    (SELECT * FROM rest_service AS r ANTI JOIN repeated ON repeated.reference = r.reference) AS s
    ON b.reference = s.reference
UNION ALL
SELECT
    x.match_rule,
    x.row_no,
    x.id,
    b.currency,
    b.amount,
    b.fee,
    b.status,
    b.paid,
    b.booked_day,
    s.currency,
    s.amount,
    s.fee,
    s.due,
    s.status,
    s.paid,
    s.contradictions,
    s.business_day,
    s.day
FROM special AS x
LEFT JOIN books AS b ON b.row_no = x.row_no
LEFT JOIN service AS s ON s.id = x.id;

CREATE TEMP TABLE judged AS
WITH aged AS (
    SELECT
        met.*,
        greatest(
            0, date_diff('day', coalesce(met.business_day, met.booked_day, met.day), terms.as_of)
        ) AS age_days,
        coalesce(met.booked AND met.booked_day BETWEEN terms.first AND terms.last, FALSE)
            AS in_ledger,
        coalesce(met.paid AND met.business_day BETWEEN terms.first AND terms.last, FALSE)
            AS in_service,
        terms.amount_tolerance,
        terms.fee_tolerance,
        terms.grace_days,
        terms.net_basis,
        terms.everything
    FROM met, terms
    WHERE met.booked_day BETWEEN terms.first AND terms.last
        OR met.day BETWEEN terms.first AND terms.last
),

coded AS (
    SELECT
        -- What a row that stayed alone is beside this is decided below, on the few there are.
        CASE
            WHEN contradictions > 0 OR status_service = 'contradiction' THEN 'contradiction'
            WHEN status_service NOT IN ('created', 'succeeded', 'failed', 'expired')
                THEN 'unknown_status'
            WHEN id IS NULL AND booked AND age_days <= grace_days THEN 'timing_unseen'
            WHEN id IS NULL AND booked THEN 'missing_at_provider'
            WHEN paid AND (row_no IS NULL OR status_ledger = 'open') AND age_days <= grace_days
                THEN 'timing_unbooked'
            WHEN paid AND row_no IS NULL THEN 'missing_in_ledger'
            WHEN paid AND NOT booked THEN 'late_success'
            WHEN booked AND status_service = 'created' THEN 'still_open'
            WHEN booked AND NOT paid THEN 'status_mismatch'
            WHEN NOT coalesce(booked, FALSE) AND NOT coalesce(paid, FALSE) THEN 'not_billable'
            WHEN currency_ledger <> currency_service THEN 'currency_mismatch'
            WHEN NOT net_basis AND fee_service <> 0
                AND amount_ledger = amount_service - fee_service
                THEN 'booked_net'
            WHEN abs(amount_ledger - due) > amount_tolerance THEN 'amount_mismatch'
            WHEN abs(fee_ledger - fee_service) > fee_tolerance THEN 'fee_mismatch'
            WHEN booked_day <> business_day THEN 'timing'
            ELSE 'matched'
        END AS break_code,
        *
    FROM aged
)

SELECT
    break_code,
    CASE WHEN everything OR break_code <> 'matched' THEN match_rule END AS match_rule,
    CASE WHEN everything OR break_code <> 'matched' THEN row_no END AS row_no,
    CASE WHEN everything OR break_code <> 'matched' THEN id END AS id,
    id IS NULL AS only_ledger,
    row_no IS NULL AS only_service,
    coalesce(booked, FALSE) AS booked,
    coalesce(paid, FALSE) AS paid,
    currency_ledger,
    currency_service,
    amount_ledger,
    amount_service,
    age_days,
    in_ledger,
    in_service,
    CASE WHEN in_ledger THEN amount_ledger ELSE 0 END AS counted_ledger,
    CASE WHEN in_service THEN due ELSE 0 END AS counted_service
FROM coded;

CREATE TEMP TABLE alone_books AS
SELECT b.*
FROM books AS b
WHERE b.row_no IN (SELECT row_no FROM judged WHERE only_ledger);

CREATE TEMP TABLE alone_service AS
SELECT s.*
FROM service AS s
WHERE s.id IN (SELECT id FROM judged WHERE only_service AND paid);

-- A line left over is a duplicate when its twin met a collection.
CREATE TEMP TABLE twins AS
SELECT l.row_no
FROM alone_books AS l
INNER JOIN many_books AS b
    ON b.reference = l.reference AND b.currency = l.currency AND b.amount = l.amount
INNER JOIN pairs ON pairs.row_no = b.row_no
WHERE l.paid
UNION
SELECT l.row_no
FROM alone_books AS l
INNER JOIN named ON named.row_no <> l.row_no
INNER JOIN pairs ON pairs.row_no = named.row_no
INNER JOIN books AS b ON b.row_no = named.row_no
WHERE l.paid AND b.reference = l.reference AND b.currency = l.currency AND b.amount = l.amount
UNION
SELECT l.row_no
FROM alone_books AS l
INNER JOIN pairs ON pairs.id = l.collection_id
WHERE l.paid;

-- A success left over is a second payment when another one of its reference was met or came first.
CREATE TEMP TABLE seconds AS
SELECT DISTINCT l.id
FROM alone_service AS l
INNER JOIN service AS s ON s.reference = l.reference AND s.id <> l.id
LEFT JOIN pairs ON pairs.id = s.id
WHERE s.paid AND (pairs.id IS NOT NULL OR (s.created_at, s.id) < (l.created_at, l.id));

CREATE TEMP TABLE here AS
SELECT DISTINCT s.reference
FROM service AS s
SEMI JOIN alone_books AS l ON l.reference = s.reference;

CREATE TEMP TABLE elsewhere AS
SELECT l.row_no
FROM alone_books AS l
WHERE (
        l.reference IN (SELECT reference FROM other_mode WHERE reference IS NOT NULL)
        OR l.collection_id IN (SELECT id FROM other_mode WHERE id IS NOT NULL)
    )
    AND (l.reference IS NULL OR l.reference NOT IN (SELECT reference FROM here));

CREATE TEMP TABLE unresolved AS
SELECT l.row_no
FROM alone_books AS l
WHERE l.reference IN (SELECT reference FROM intents WHERE reference IS NOT NULL);

UPDATE judged
SET break_code = CASE
    WHEN booked AND row_no IN (SELECT row_no FROM twins) THEN 'duplicate_in_ledger'
    WHEN row_no IN (SELECT row_no FROM elsewhere) THEN 'mode_mismatch'
    WHEN row_no IN (SELECT row_no FROM unresolved) THEN 'outcome_unknown'
    ELSE break_code
END
WHERE only_ledger;

UPDATE judged
SET break_code = 'double_payment'
WHERE only_service
    AND break_code IN ('timing_unbooked', 'missing_in_ledger')
    AND id IN (SELECT id FROM seconds);

-- Never a match, only a hint: same money within minutes on the other side.
CREATE TEMP TABLE hints AS
SELECT
    l.row_no,
    s.id,
    row_number() OVER (
        PARTITION BY l.row_no
        ORDER BY abs(epoch_us(l.booked_at) - epoch_us(s.completed_at)), s.id
    ) AS place_row,
    row_number() OVER (
        PARTITION BY s.id
        ORDER BY abs(epoch_us(l.booked_at) - epoch_us(s.completed_at)), l.row_no
    ) AS place_id
FROM alone_books AS l
CROSS JOIN terms
INNER JOIN alone_service AS s
    ON l.currency = s.currency
    AND l.amount = s.due
    AND abs(epoch_us(l.booked_at) - epoch_us(s.completed_at)) <= terms.double_minutes * 60000000
WHERE l.paid;
