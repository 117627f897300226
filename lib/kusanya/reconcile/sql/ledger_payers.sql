-- A collection's key, and of what succeeded the payer, amount and currency with the minute, packed so
-- that payments of one payer stand together in time when sorted; 0 for the others.
SELECT
    key,
    CASE
        WHEN paid AND phone_key IS NOT NULL
            THEN (hash(phone_key, amount, currency) >> 32 << 32)
                | greatest(0, epoch_us(created_at) // 60000000)::UBIGINT
        ELSE 0::UBIGINT
    END AS payment
FROM service
