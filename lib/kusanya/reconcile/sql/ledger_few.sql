-- The rows that are read or ranked, with all their columns. A key is wanted with every row it has,
-- and a line with the collection it names, so that these are a world of their own.
CREATE TEMP TABLE few_books AS
SELECT b.* REPLACE (b.key >> getvariable('shift') AS key)
FROM books AS b
SEMI JOIN wanted ON wanted.key = b.key >> getvariable('shift');

CREATE TEMP TABLE few_service AS
SELECT s.* REPLACE (s.key >> getvariable('shift') AS key)
FROM service AS s
SEMI JOIN wanted ON wanted.key = s.key >> getvariable('shift');

-- A million rows that agree are counted and never carried; `facts` is as in `ledger_seen.sql`.
CREATE TEMP TABLE counted AS
SELECT
    CASE WHEN facts >> 24 = 0 THEN 'matched'::code ELSE 'not_billable'::code END AS break_code,
    getvariable('currencies')[facts >> 16 & 255] AS currency,
    greatest(0, span.as_of - (DATE '1970-01-01' + (facts & 65535)::INTEGER)) AS age_days,
    facts >> 24 = 0 AS is_matched,
    rows,
    amount::HUGEINT AS amount
FROM agreed, span;
