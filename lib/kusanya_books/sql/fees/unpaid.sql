-- Fees of what did not succeed: quoted at creation, and rightly never deducted.
WITH unpaid AS (
    SELECT *
    FROM collections
    WHERE status IN {unpaid} AND created_day BETWEEN $first AND $last
),

deducted AS (
    SELECT collection_id AS id, count(*) AS lines, sum(fee)::BIGINT AS fee
    FROM statement
    WHERE collection_id IS NOT NULL AND fee > 0
    GROUP BY collection_id
)

SELECT
    u.mode,
    u.currency,
    u.channel,
    u.status,
    count(*) AS collections,
    sum(u.fee)::BIGINT AS quoted,
    coalesce(sum(d.lines), 0)::BIGINT AS deducted_lines,
    coalesce(sum(d.fee), 0)::BIGINT AS deducted
FROM unpaid AS u
LEFT JOIN deducted AS d ON d.id = u.id
GROUP BY u.mode, u.currency, u.channel, u.status
ORDER BY u.mode, u.currency, u.channel, u.status
