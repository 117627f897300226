-- Every line and every collection of the period in exactly one row, with its verdict.
CREATE TEMP TABLE left_books AS
SELECT * FROM books WHERE row_no NOT IN (SELECT row_no FROM pairs);

CREATE TEMP TABLE left_service AS
SELECT * FROM service WHERE id NOT IN (SELECT id FROM pairs);

-- A line left over is a duplicate when its twin met a collection.
CREATE TEMP TABLE twins AS
SELECT DISTINCT l.row_no
FROM left_books AS l
INNER JOIN books AS b
    ON b.reference = l.reference AND b.currency = l.currency AND b.amount = l.amount
INNER JOIN pairs ON pairs.row_no = b.row_no
WHERE l.paid
UNION
SELECT l.row_no
FROM left_books AS l
INNER JOIN pairs ON pairs.id = l.collection_id
WHERE l.paid;

-- A success left over is a second payment when another one of its reference was met or came first.
CREATE TEMP TABLE seconds AS
SELECT DISTINCT l.id
FROM left_service AS l
INNER JOIN service AS s ON s.reference = l.reference AND s.id <> l.id
LEFT JOIN pairs ON pairs.id = s.id
WHERE l.paid
    AND s.paid
    AND (pairs.id IS NOT NULL OR (s.created_at, s.id) < (l.created_at, l.id));

CREATE TEMP TABLE elsewhere AS
SELECT l.row_no
FROM left_books AS l
WHERE (
        l.reference IN (SELECT reference FROM other_mode WHERE reference IS NOT NULL)
        OR l.collection_id IN (SELECT id FROM other_mode WHERE id IS NOT NULL)
    )
    AND (l.reference IS NULL
        OR l.reference NOT IN (SELECT reference FROM service WHERE reference IS NOT NULL));

CREATE TEMP TABLE unresolved AS
SELECT l.row_no
FROM left_books AS l
WHERE l.reference IN (SELECT reference FROM intents WHERE reference IS NOT NULL);

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
FROM left_books AS l
CROSS JOIN terms
INNER JOIN left_service AS s
    ON l.currency = s.currency
    AND l.amount = s.due
    AND abs(epoch_us(l.booked_at) - epoch_us(s.completed_at)) <= terms.double_minutes * 60000000
WHERE l.paid AND s.paid;

CREATE TEMP TABLE met AS
SELECT
    pairs.match_rule,
    b.row_no,
    b.reference AS reference_ledger,
    b.collection_id AS named_id,
    b.currency AS currency_ledger,
    b.amount AS amount_ledger,
    b.fee AS fee_ledger,
    b.status AS status_ledger,
    b.paid AS booked,
    b.channel AS channel_ledger,
    b.booked_at,
    b.booked_day,
    pairs.id,
    s.reference AS reference_service,
    s.mode,
    s.currency AS currency_service,
    s.channel AS channel_service,
    s.amount AS amount_service,
    s.fee AS fee_service,
    s.due,
    s.status AS status_service,
    s.paid,
    s.contradictions,
    s.created_at,
    s.completed_at,
    s.business_day,
    s.day
FROM pairs
INNER JOIN books AS b ON b.row_no = pairs.row_no
INNER JOIN service AS s ON s.id = pairs.id
UNION ALL BY NAME
SELECT
    row_no,
    reference AS reference_ledger,
    collection_id AS named_id,
    currency AS currency_ledger,
    amount AS amount_ledger,
    fee AS fee_ledger,
    status AS status_ledger,
    paid AS booked,
    channel AS channel_ledger,
    booked_at,
    booked_day
FROM left_books
UNION ALL BY NAME
SELECT
    id,
    reference AS reference_service,
    mode,
    currency AS currency_service,
    channel AS channel_service,
    amount AS amount_service,
    fee AS fee_service,
    due,
    status AS status_service,
    paid,
    contradictions,
    created_at,
    completed_at,
    business_day,
    day
FROM left_service;

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
        terms.net_basis
    FROM met, terms
    WHERE met.booked_day BETWEEN terms.first AND terms.last
        OR met.day BETWEEN terms.first AND terms.last
)

SELECT
    CASE
        WHEN id IS NULL AND booked AND row_no IN (SELECT row_no FROM twins)
            THEN 'duplicate_in_ledger'
        WHEN contradictions > 0 OR status_service = 'contradiction' THEN 'contradiction'
        WHEN status_service NOT IN ('created', 'succeeded', 'failed', 'expired')
            THEN 'unknown_status'
        WHEN row_no IS NULL AND id IN (SELECT id FROM seconds) THEN 'double_payment'
        WHEN id IS NULL AND row_no IN (SELECT row_no FROM elsewhere) THEN 'mode_mismatch'
        WHEN id IS NULL AND row_no IN (SELECT row_no FROM unresolved) THEN 'outcome_unknown'
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
        WHEN NOT net_basis AND fee_service <> 0 AND amount_ledger = amount_service - fee_service
            THEN 'booked_net'
        WHEN abs(amount_ledger - due) > amount_tolerance THEN 'amount_mismatch'
        WHEN abs(fee_ledger - fee_service) > fee_tolerance THEN 'fee_mismatch'
        WHEN booked_day <> business_day THEN 'timing'
        ELSE 'matched'
    END AS break_code,
    *,
    CASE WHEN in_ledger THEN amount_ledger ELSE 0 END AS counted_ledger,
    CASE WHEN in_service THEN due ELSE 0 END AS counted_service
FROM aged;
