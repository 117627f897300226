-- The lines of operators' statements that agreed with what succeeded when the period was closed, and would
-- not agree with what is known of it now. What of an operator is carried already is judged by that.
WITH given AS (
    SELECT b.id, bool_or(c.has_fees) AS has_fees
    FROM changed AS b
    INNER JOIN compared AS c
        ON c.leg = 'operator'
        AND c.channel = b.channel
        AND b.business_day BETWEEN c.first_day AND c.last_day
    GROUP BY b.id
)

SELECT
    'the operator''s statement (until ' || $last || ')' AS input,
    (SELECT least(0, coalesce(min(line_no), 0)) FROM movements)
        - row_number() OVER (ORDER BY b.id) AS line_no,
    'operator' AS leg,
    b.channel,
    b.currency,
    b.at,
    b.business_day,
    NULL::VARCHAR AS receipt,
    b.reference,
    b.id AS collection_id,
    'payment' AS kind,
    'completed' AS status,
    b.amount,
    CASE WHEN g.has_fees THEN b.fee END AS fee,
    NULL::BIGINT AS balance,
    NULL::VARCHAR AS details
FROM changed AS b
INNER JOIN given AS g ON g.id = b.id
WHERE
    (b.has_other_sum OR b.has_other_channel OR (g.has_fees AND b.has_other_fee))
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
