-- The lines of operators' statements that agreed with what succeeded when the period was closed, and would
-- not agree with what is known of it now. What of an operator is carried already is judged by that.
SELECT
    'the operator''s statement (until ' || $last || ')' AS input,
    (SELECT least(0, coalesce(min(line_no), 0)) FROM movements)
        - row_number() OVER (ORDER BY b.id) AS line_no,
    'operator' AS leg,
    b.channel,
    b.currency,
    (b.business_day::TIMESTAMP - INTERVAL 3 HOUR) AT TIME ZONE 'UTC' AS at,
    b.business_day,
    NULL::VARCHAR AS receipt,
    b.reference,
    b.id AS collection_id,
    'payment' AS kind,
    'completed' AS status,
    b.amount,
    CASE WHEN t.has_fees THEN b.fee END AS fee,
    NULL::BIGINT AS balance,
    NULL::VARCHAR AS details
FROM before AS b
SEMI JOIN late AS l ON l.key = b.id
INNER JOIN told AS t ON t.channel = b.channel
INNER JOIN now AS n ON n.id = b.id
WHERE
    b.status IN {paid}
    AND (
        n.status NOT IN {paid}
        OR n.amount <> b.amount
        OR n.currency <> b.currency
        OR n.channel IS DISTINCT FROM b.channel
        OR (t.has_fees AND n.fee IS DISTINCT FROM b.fee)
    )
    AND NOT EXISTS (
        SELECT 1
        FROM movements AS m
        WHERE
            m.leg = 'operator'
            AND (
                m.collection_id = b.id
                OR lower(trim(m.reference)) = lower(trim(b.reference))
            )
    )
    AND NOT EXISTS (
        SELECT 1
        FROM items AS i
        WHERE i.leg = 'operator' AND i.collection_id = b.id
    )
ORDER BY b.id
