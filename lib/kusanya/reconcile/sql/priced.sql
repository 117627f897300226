-- Every collection with what the tariff asks for it; without a rule the expectation is missing.
-- HUGEINT inside, because amount x rate passes 63 bits long before the fee does.
CREATE OR REPLACE TEMP VIEW priced AS
SELECT
    c.*,
    CASE
        WHEN t.fee IS NOT NULL THEN least(t.fee, c.amount)
        WHEN t.rate_num IS NOT NULL THEN least(
            c.amount,
            greatest(
                coalesce(t.floor, 0),
                least(
                    coalesce(t.cap, 9223372036854775807),
                    CASE t.rounding
                        WHEN 'up'
                            THEN (c.amount::HUGEINT * t.rate_num + t.rate_den - 1) // t.rate_den
                        WHEN 'down' THEN c.amount::HUGEINT * t.rate_num // t.rate_den
                        ELSE (2 * c.amount::HUGEINT * t.rate_num + t.rate_den) // (2 * t.rate_den)
                    END
                )
            )
        )
    END::BIGINT AS expected_fee
FROM collections AS c
LEFT JOIN tariff AS t
    ON c.mode = t.mode
    AND c.currency = t.currency
    AND c.channel = t.channel
    AND (t.first_day IS NULL OR c.created_day >= t.first_day)
    AND (t.last_day IS NULL OR c.created_day <= t.last_day)
    AND (t.low IS NULL OR c.amount >= t.low)
    AND (t.high IS NULL OR c.amount <= t.high)
