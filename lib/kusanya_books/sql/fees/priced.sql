-- Every collection with what the tariff asks for it; without a rule the expectation is missing.
-- HUGEINT inside, because amount x rate passes 63 bits long before the fee does.
CREATE OR REPLACE TEMP VIEW asked AS
SELECT
    c.*,
    coalesce(t.taxes_on_top, FALSE) AS taxes_on_top,
    coalesce(t.excise_bps, 0) AS excise_bps,
    coalesce(t.vat_bps, 0) AS vat_bps,
    CASE
        WHEN t.fee IS NOT NULL THEN t.fee::HUGEINT
        WHEN t.rate_num IS NOT NULL THEN greatest(
            coalesce(t.floor, 0),
            least(
                coalesce(t.cap, 9223372036854775807),
                coalesce(t.plus, 0)
                + CASE t.rounding
                    WHEN 'up'
                        THEN (c.amount::HUGEINT * t.rate_num + t.rate_den - 1) // t.rate_den
                    WHEN 'down' THEN c.amount::HUGEINT * t.rate_num // t.rate_den
                    ELSE (2 * c.amount::HUGEINT * t.rate_num + t.rate_den) // (2 * t.rate_den)
                END
            )
        )
    END AS bare_fee
FROM collections AS c
LEFT JOIN tariff AS t
    ON c.mode = t.mode
    AND c.currency = t.currency
    AND c.channel = t.channel
    AND (t.first_day IS NULL OR c.created_day >= t.first_day)
    AND (t.last_day IS NULL OR c.created_day <= t.last_day)
    AND (t.low IS NULL OR c.amount >= t.low)
    AND (t.high IS NULL OR c.amount <= t.high);

-- Taxes on top of the fee, each rounded half up; VAT is on the fee with its excise.
CREATE OR REPLACE TEMP VIEW with_excise AS
SELECT
    a.*,
    bare_fee
    + CASE
        WHEN taxes_on_top THEN (bare_fee::HUGEINT * excise_bps + 5000) // 10000
        ELSE 0
    END AS fee_before_vat
FROM asked AS a;

-- least() passes over what is missing: it is asked only where there is a price.
CREATE OR REPLACE TEMP VIEW priced AS
SELECT
    e.*,
    CASE
        WHEN fee_before_vat IS NOT NULL THEN least(
            amount,
            fee_before_vat
            + CASE
                WHEN taxes_on_top THEN (fee_before_vat::HUGEINT * vat_bps + 5000) // 10000
                ELSE 0
            END
        )
    END::BIGINT AS expected_fee
FROM with_excise AS e
