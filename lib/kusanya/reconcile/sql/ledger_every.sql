-- Every row for itself, those that agree too.
CREATE TEMP TABLE few_books AS
SELECT * REPLACE (key >> getvariable('shift') AS key) FROM books;

CREATE TEMP TABLE few_service AS
SELECT * REPLACE (key >> getvariable('shift') AS key) FROM service;

CREATE TEMP TABLE counted (
    break_code CODE,
    currency VARCHAR,
    age_days BIGINT,
    is_matched BOOLEAN,
    rows BIGINT,
    amount HUGEINT
);
