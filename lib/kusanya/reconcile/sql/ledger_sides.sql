-- The two sides as every later query reads them. `key` is the reference's hash: what is looked up by
-- it may hold a stranger, never miss a row, and the joins that decide compare the references
-- themselves. A line without a reference goes by the id it names. Days are cast from midnights that
-- were computed at load. What all rows need to know is a variable: beside a table it is a join.
CREATE TYPE code AS ENUM (SELECT break_code FROM verdicts ORDER BY place);

CREATE TYPE rule AS ENUM ('id', 'reference_amount', 'reference');

CREATE TYPE said AS ENUM ('succeeded', 'lost', 'created', 'contradiction', 'unknown');

CREATE TEMP VIEW span AS
SELECT * REPLACE (first::DATE AS first, last::DATE AS last, as_of::DATE AS as_of) FROM terms;

SET VARIABLE net_basis = (SELECT net_basis FROM span);

SET VARIABLE first = (SELECT first FROM span);

SET VARIABLE last = (SELECT last FROM span);

CREATE TEMP VIEW service AS
SELECT
    id,
    reference,
    hash(reference) AS key,
    mode,
    currency,
    channel,
    amount,
    fee,
    status,
    phone_key,
    created_at,
    completed_at,
    contradictions,
    business_day::DATE AS business_day,
    coalesce(business_day, created_day)::DATE AS day,
    created_day::DATE AS since,
    status = 'succeeded' AS paid,
    CASE WHEN getvariable('net_basis') THEN amount - fee ELSE amount END AS due,
    CASE
        WHEN contradictions > 0 OR status = 'contradiction' THEN 'contradiction'::said
        WHEN status = 'succeeded' THEN 'succeeded'::said
        WHEN status = 'failed' OR status = 'expired' THEN 'lost'::said
        WHEN status = 'created' THEN 'created'::said
        ELSE 'unknown'::said
    END AS said,
    CASE status WHEN 'succeeded' THEN 0 WHEN 'created' THEN 1 ELSE 2 END AS rank
FROM collections;

CREATE TEMP VIEW books AS
SELECT
    row_no,
    reference,
    hash(coalesce(reference, collection_id)) AS key,
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

-- From which day on the books are known: a payment that may have been booked before it is not called
-- unbooked.
SET VARIABLE books_from = (SELECT least(min(booked_day), getvariable('first')) FROM books);
