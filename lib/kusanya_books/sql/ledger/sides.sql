-- The two sides as every later query reads them. Days stay the midnights that were computed at load:
-- an engine passes over parts of a file by the column itself, not by what is cast from it.

-- A collection is keyed by its reference, or by its id where it has none. Apart, because then no id is
-- read where every collection has a reference.
CREATE TEMP VIEW keyed AS
SELECT *, reference AS key FROM collections WHERE reference IS NOT NULL
UNION ALL
SELECT *, id AS key FROM collections WHERE reference IS NULL;

CREATE TEMP VIEW service AS
SELECT
    c.id,
    c.key,
    c.reference,
    c.mode,
    c.currency,
    c.channel,
    c.amount,
    c.fee,
    CASE WHEN {net_basis} THEN c.amount - c.fee ELSE c.amount END AS due,
    c.status,
    coalesce(c.status IN {paid}, FALSE) AS paid,
    coalesce(c.status IN {open}, FALSE) AS is_created,
    c.contradictions > 0 OR coalesce(c.status = 'contradiction', FALSE) AS is_contradicted,
    coalesce(c.status NOT IN {named}, TRUE) AS is_unknown,
    CASE WHEN c.status IN {paid} THEN 0 WHEN c.status IN {open} THEN 1 ELSE 2 END AS rank,
    c.phone_key,
    c.created_at,
    c.completed_at,
    c.business_day,
    coalesce(c.business_day, c.created_day) AS day,
    c.created_day
FROM keyed AS c;

-- Lines that name a known collection by its id are keyed by the reference of that collection. Most
-- books name none: then the join has nothing to read.
CREATE TEMP TABLE naming_lines AS
SELECT row_no, collection_id FROM ledger WHERE collection_id IS NOT NULL;

CREATE TEMP TABLE named AS
SELECT l.row_no, s.id, s.key
FROM naming_lines AS l
INNER JOIN service AS s ON s.id = l.collection_id;

-- Lines that are no payment: refunds, credit notes, chargebacks, charges and reversals. `spelling` is
-- what the books call the order, `service_key` what the service calls it.
CREATE TEMP TABLE signed_lines AS
SELECT
    l.row_no,
    l.kind,
    l.reference,
    lower(trim(coalesce(l.reference, n.key, l.collection_id))) AS spelling,
    lower(trim(coalesce(n.key, l.reference))) AS service_key,
    l.collection_id,
    l.amount,
    l.fee,
    l.currency,
    l.channel,
    l.status,
    coalesce(l.status = 'paid', FALSE) AS booked,
    l.booked_at,
    l.booked_day
FROM ledger AS l
LEFT JOIN named AS n ON n.row_no = l.row_no
WHERE l.kind <> 'payment';

-- A reversal that another one takes back cancels nothing: the line that it was about stands.
CREATE TEMP TABLE taken_back AS
WITH reversals AS (
    SELECT
        row_no,
        coalesce(spelling, '') AS named_as,
        currency,
        amount,
        row_number() OVER (
            PARTITION BY spelling, currency, amount ORDER BY booked_at, row_no
        ) AS place
    FROM signed_lines
    WHERE kind = 'reversal' AND booked
)

SELECT r.row_no AS reversal, l.row_no
FROM reversals AS r
INNER JOIN reversals AS l
    ON l.named_as = r.named_as
    AND l.currency = r.currency
    AND l.amount = -r.amount
    AND l.place = r.place
WHERE r.amount > 0;

-- A credit note for an order that nobody has paid gives nothing back: it reverses the booking.
CREATE TEMP TABLE reversing AS
WITH credited AS (
    SELECT row_no, service_key
    FROM signed_lines
    WHERE kind = 'credit_note' AND booked AND amount < 0 AND service_key IS NOT NULL
),

paid_orders AS (
    SELECT DISTINCT c.service_key
    FROM service AS s
    INNER JOIN (SELECT DISTINCT service_key FROM credited) AS c
        ON c.service_key = lower(trim(s.key))
    WHERE s.paid
)

SELECT c.row_no
FROM credited AS c
ANTI JOIN paid_orders AS p ON p.service_key = c.service_key
UNION ALL
SELECT row_no FROM signed_lines WHERE kind = 'reversal' AND booked;

-- A reversal cancels the earliest line of its reference and of the opposite amount: neither of them
-- is booked any more, and what is booked anew stands for the payment. A reversal without a reference
-- cancels a line without one.
CREATE TEMP TABLE cancelled AS
WITH reversals AS (
    SELECT
        l.*,
        coalesce(l.spelling, '') AS named_as,
        row_number() OVER (
            PARTITION BY l.spelling, l.currency, l.amount ORDER BY l.booked_at, l.row_no
        ) AS place
    FROM signed_lines AS l
    SEMI JOIN reversing AS v ON v.row_no = l.row_no
    ANTI JOIN taken_back AS t ON t.reversal = l.row_no
    ANTI JOIN taken_back AS t ON t.row_no = l.row_no
),

lines AS (
    SELECT
        l.row_no, l.currency, l.amount, l.booked_at,
        coalesce(lower(trim(coalesce(l.reference, n.key, l.collection_id))), '') AS named_as
    FROM ledger AS l
    LEFT JOIN named AS n ON n.row_no = l.row_no
    ANTI JOIN reversing AS v ON v.row_no = l.row_no
    WHERE l.status = 'paid'
),

ranked AS (
    SELECT
        l.*,
        row_number() OVER (
            PARTITION BY l.named_as, l.currency, l.amount ORDER BY l.booked_at, l.row_no
        ) AS place
    FROM lines AS l
    SEMI JOIN reversals AS r ON r.named_as = l.named_as
)

SELECT r.row_no AS reversal, l.row_no
FROM reversals AS r
INNER JOIN ranked AS l
    ON l.named_as = r.named_as
    AND l.currency = r.currency
    AND l.amount = -r.amount
    AND l.place = r.place
UNION ALL
SELECT reversal, row_no FROM taken_back;

-- What no payment is looked for.
CREATE TEMP TABLE apart_lines AS
SELECT * FROM signed_lines
UNION ALL
SELECT
    l.row_no,
    l.kind,
    l.reference,
    NULL::VARCHAR AS spelling,
    NULL::VARCHAR AS service_key,
    l.collection_id,
    l.amount,
    l.fee,
    l.currency,
    l.channel,
    l.status,
    TRUE AS booked,
    l.booked_at,
    l.booked_day
FROM ledger AS l
SEMI JOIN cancelled AS c ON c.row_no = l.row_no
WHERE l.kind = 'payment';

CREATE TEMP VIEW books AS
SELECT
    l.row_no,
    coalesce(n.key, l.reference) AS key,
    n.id AS named_id,
    -- Its key is not its own reference: what stands beside it lies elsewhere.
    coalesce(n.key <> l.reference, FALSE) AS is_crossing,
    l.reference,
    l.collection_id,
    l.amount,
    l.fee,
    l.currency,
    l.channel,
    l.status,
    coalesce(l.status = 'paid', FALSE) AS booked,
    coalesce(l.status = 'open', FALSE) AS is_open,
    CASE l.status WHEN 'paid' THEN 0 WHEN 'open' THEN 1 ELSE 2 END AS rank,
    l.booked_at,
    l.booked_day
FROM ledger AS l
LEFT JOIN named AS n ON n.row_no = l.row_no
ANTI JOIN apart_lines AS a ON a.row_no = l.row_no;
