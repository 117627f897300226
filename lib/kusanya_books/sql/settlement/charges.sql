-- What the provider itself charges, each line by itself, beside what it pays: of no collection, and
-- owed to nobody. One that an earlier period read is judged there, as is one of a later day. A batch
-- has each once; of two without a batch, as for two transfers of a day, nobody knows.
CREATE TEMP TABLE charges AS
SELECT
    s.*,
    k.line_no IS NOT NULL AS is_known,
    s.batch_id IS NOT NULL
    AND row_number() OVER (
        PARTITION BY s.batch_id, s.collection_id, s.business_day, s.channel, s.currency, s.net
        ORDER BY s.line_no
    ) > 1 AS again
FROM statement AS s
LEFT JOIN read_again AS k ON k.line_no = s.line_no
WHERE s.kind = 'charge';

CREATE TEMP VIEW settled AS
SELECT * FROM settled_payments
UNION ALL
SELECT
    NULL::VARCHAR AS unit_paid,
    CASE
        WHEN is_known THEN 'settlement_read_before'
        WHEN business_day > {last_day} THEN 'settlement_other_period'
        WHEN again THEN 'settlement_charge_again'
        ELSE 'settlement_charge'
    END AS break_code,
    business_day,
    coalesce(channel, '') AS channel,
    currency,
    collection_id,
    batch_id,
    line_no,
    1 AS lines,
    NULL::VARCHAR AS group_key,
    0 AS count,
    0 AS gross,
    0 AS fee,
    0 AS net,
    gross AS gross_settled,
    fee AS fee_settled,
    net AS net_settled,
    -line_no AS row_no
FROM charges;
