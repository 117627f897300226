-- A line without a reference stands for all payments left over of its day, or of a day that grace
-- reaches, and of its channel where it names one; before or after their fees.
CREATE TEMP TABLE day_lines AS
WITH open_payments AS (
    SELECT p.*
    FROM left_payments AS p
    ANTI JOIN by_own_reference AS o ON o.spelling = p.spelling AND o.currency = p.currency
    ANTI JOIN listed_groups AS g ON g.id = p.id
    WHERE p.is_alone
),

pools AS (
    SELECT
        currency, business_day, channel, sum(due)::BIGINT AS due, sum(amount - fee)::BIGINT AS net,
        sum(fee)::BIGINT AS fee
    FROM open_payments
    GROUP BY currency, business_day, channel
    UNION ALL
    SELECT
        currency, business_day, NULL AS channel, sum(due)::BIGINT AS due,
        sum(amount - fee)::BIGINT AS net, sum(fee)::BIGINT AS fee
    FROM open_payments
    GROUP BY currency, business_day
),

fits AS (
    SELECT
        l.row_no,
        l.currency,
        l.channel,
        p.business_day,
        l.booked_at,
        abs(l.amount - p.due) > {amount_tolerance} AS is_net,
        row_number() OVER (PARTITION BY l.row_no ORDER BY p.business_day DESC) AS place
    FROM left_lines AS l
    INNER JOIN pools AS p
        ON p.currency = l.currency
        AND coalesce(p.channel, '') = coalesce(l.channel, '')
        AND (p.channel IS NULL) = (l.channel IS NULL)
        AND date_diff('day', p.business_day, l.booked_day) BETWEEN 0 AND {grace_days}
    WHERE l.spelling IS NULL
        AND (
            abs(l.amount - p.due) <= {amount_tolerance}
            OR (NOT {net_basis} AND abs(l.amount - p.net) <= {amount_tolerance})
        )
        AND coalesce(abs(l.fee - p.fee) <= {fee_tolerance}, TRUE)
),

firsts AS (
    SELECT
        *,
        row_number() OVER (
            PARTITION BY currency, business_day, channel ORDER BY booked_at, row_no
        ) AS place_line
    FROM fits
    WHERE place = 1
),

chosen AS (
    SELECT * FROM firsts WHERE place_line = 1
),

of_channels AS (
    SELECT DISTINCT currency, business_day FROM chosen WHERE channel IS NOT NULL
)

SELECT c.row_no, p.id, c.is_net
FROM chosen AS c
INNER JOIN open_payments AS p
    ON p.currency = c.currency
    AND p.business_day = c.business_day
    AND (c.channel IS NULL OR p.channel = c.channel)
LEFT JOIN of_channels AS o ON o.currency = c.currency AND o.business_day = c.business_day
WHERE c.channel IS NOT NULL OR o.currency IS NULL;
