-- What succeeded when a period was closed and is known otherwise now, as it was, and what of it is another.
CREATE TEMP VIEW changed AS
SELECT
    b.*,
    (b.business_day::TIMESTAMP - INTERVAL 3 HOUR) AT TIME ZONE 'UTC' AS at,
    n.status NOT IN {paid} OR n.amount <> b.amount OR n.currency <> b.currency AS has_other_sum,
    n.contradictions > b.contradictions AS has_two_answers,
    n.channel IS DISTINCT FROM b.channel AS has_other_channel,
    n.fee IS DISTINCT FROM b.fee AS has_other_fee
FROM before AS b
SEMI JOIN late AS l ON l.key = b.id
INNER JOIN now AS n ON n.id = b.id
WHERE b.status IN {paid}
