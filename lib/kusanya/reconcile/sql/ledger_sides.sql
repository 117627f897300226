-- The two sides as every later query reads them. `key` is 32 bits of the reference's hash: what is
-- looked up by it may hold a stranger, never miss a row, and the joins that decide compare the
-- references themselves. Days are cast from midnights that were computed at load.
CREATE TYPE code AS ENUM (SELECT break_code FROM verdicts ORDER BY place);

CREATE TYPE rule AS ENUM ('id', 'reference_amount', 'reference');

CREATE TYPE said AS ENUM ('succeeded', 'lost', 'created', 'contradiction', 'unknown');

CREATE TEMP VIEW span AS
SELECT * REPLACE (first::DATE AS first, last::DATE AS last, as_of::DATE AS as_of) FROM terms;

CREATE TEMP VIEW service AS
SELECT
    c.id,
    c.reference,
    (hash(c.reference) >> 32)::UINTEGER AS key,
    c.mode,
    c.currency,
    c.channel,
    c.amount,
    c.fee,
    c.status,
    c.phone_key,
    c.created_at,
    c.completed_at,
    c.business_day::DATE AS business_day,
    coalesce(c.business_day, c.created_day)::DATE AS day,
    c.status = 'succeeded' AS paid,
    CASE WHEN span.net_basis THEN c.amount - c.fee ELSE c.amount END AS due,
    CASE
        WHEN c.contradictions > 0 OR c.status = 'contradiction' THEN 'contradiction'::said
        WHEN c.status = 'succeeded' THEN 'succeeded'::said
        WHEN c.status = 'failed' OR c.status = 'expired' THEN 'lost'::said
        WHEN c.status = 'created' THEN 'created'::said
        ELSE 'unknown'::said
    END AS said,
    CASE c.status WHEN 'succeeded' THEN 0 WHEN 'created' THEN 1 ELSE 2 END AS rank
FROM collections AS c, span;

CREATE TEMP VIEW books AS
SELECT
    row_no,
    reference,
    (hash(reference) >> 32)::UINTEGER AS key,
    collection_id,
    amount,
    fee,
    currency,
    channel,
    status,
    booked_at,
    booked_day::DATE AS booked_day,
    status = 'paid' AS paid,
    status = 'open' AS is_open,
    CASE status WHEN 'paid' THEN 0 WHEN 'open' THEN 1 ELSE 2 END AS rank
FROM ledger;
