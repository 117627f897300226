-- What the provider owes for a closed period by what is known now, less what was known then: after the
-- fee, and for the day on which a payment succeeded. What did not change is not looked at.
WITH sides AS (
    SELECT id, business_day, channel, currency, coalesce(fee, 0) - amount AS net
    FROM before
    SEMI JOIN late ON late.key = before.id
    WHERE status IN {paid}
    UNION ALL
    SELECT id, business_day, channel, currency, amount - coalesce(fee, 0) AS net
    FROM now
    SEMI JOIN late ON late.key = now.id
    WHERE status IN {paid}
)

SELECT id AS collection_id, business_day, channel, currency, sum(net)::BIGINT AS net
FROM sides
GROUP BY id, business_day, channel, currency
HAVING sum(net) <> 0
ORDER BY collection_id, business_day, channel, currency
