-- The fee is fixed at creation: the 202, the event and the GET must say the same.
CREATE TEMP VIEW evidence AS
SELECT
    *,
    (fee_202 IS NOT NULL)::BIGINT + (fee_event IS NOT NULL)::BIGINT + (fee_get IS NOT NULL)::BIGINT
        AS sources,
    coalesce(fee_202, fee_event, fee_get) AS first_fee,
    coalesce(fee_get, fee_event, fee_202) AS last_fee,
    greatest(fee_202, fee_event, fee_get) <> least(fee_202, fee_event, fee_get) AS moved
FROM collections;
