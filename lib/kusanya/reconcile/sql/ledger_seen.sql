-- What decides at first sight whether a line and a collection agree, in few whole numbers a row.
-- `money` is what is due, and the fee in its last 24 bits, all of them set where the books name
-- none. `facts` is class (0 paid, 1 lost, 2 not to be told so quickly), the currency's place, and the
-- day; rows of the last class hold nothing else. `payments` is 0 for what did not succeed, else payer,
-- amount and currency with the minute, so that payments of one payer stand together when sorted.
SET VARIABLE currencies = (
    SELECT list(currency ORDER BY currency)
    FROM (SELECT currency FROM collections UNION SELECT currency FROM ledger)
    WHERE currency IS NOT NULL
);

CREATE TEMP MACRO packs(due, fee, currency, day) AS
    due BETWEEN 0 AND 549755813887
    AND fee BETWEEN 0 AND 16777214
    AND list_position(getvariable('currencies'), currency) < 255
    AND day BETWEEN DATE '1970-01-01' AND DATE '2149-06-06';

CREATE TEMP MACRO packed(currency, day) AS
    list_position(getvariable('currencies'), currency) * 65536 + (day - DATE '1970-01-01');

CREATE TEMP VIEW seen_service AS
SELECT
    key AS keys,
    reference AS "references",
    hash(id) AS names,
    id AS ids,
    CASE WHEN packs(due, fee, currency, business_day) THEN due * 16777216 + fee ELSE 0 END AS money,
    CASE
        WHEN contradictions > 0 OR NOT coalesce(packs(due, fee, currency, business_day), FALSE)
            THEN 33554432
        WHEN status = 'succeeded' THEN packed(currency, business_day)
        WHEN status = 'failed' OR status = 'expired'
            THEN 16777216 + packed(currency, business_day)
        ELSE 33554432
    END::UINTEGER AS facts,
    CASE
        WHEN paid AND phone_key IS NOT NULL
            THEN (hash(phone_key, amount, currency) >> 32 << 32)
                | greatest(0, epoch_us(created_at) // 60000000)::UBIGINT
        ELSE 0::UBIGINT
    END AS payments
FROM service;

CREATE TEMP VIEW seen_books AS
SELECT
    key AS keys,
    reference AS "references",
    hash(collection_id) AS names,
    collection_id AS ids,
    CASE
        WHEN packs(amount, coalesce(fee, 0), currency, booked_day)
            THEN amount * 16777216 + coalesce(fee, 16777215)
        ELSE 0
    END AS money,
    CASE
        WHEN status IS NULL OR NOT coalesce(packs(amount, coalesce(fee, 0), currency, booked_day), FALSE)
            THEN 33554432
        WHEN status = 'paid' THEN packed(currency, booked_day)
        ELSE 16777216 + packed(currency, booked_day)
    END::UINTEGER AS facts
FROM books;
