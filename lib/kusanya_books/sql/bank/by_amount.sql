-- Equal amounts meet in the order of their days where both sides have as many of them, or where
-- within the days a payout takes exactly one is left on both sides.
CREATE TEMP TABLE by_order AS
WITH ranked_payouts AS (
    SELECT
        *,
        row_number() OVER (PARTITION BY currency, amount ORDER BY day, id) AS place,
        count(*) OVER (PARTITION BY currency, amount) AS many
    FROM left_payouts
),

ranked_credits AS (
    SELECT
        *,
        row_number() OVER (PARTITION BY currency, amount ORDER BY day, move) AS place,
        count(*) OVER (PARTITION BY currency, amount) AS many
    FROM left_credits
),

ordered AS (
    SELECT
        c.move,
        p.id,
        c.currency,
        c.amount,
        date_diff('day', p.day, c.day) BETWEEN 0 AND {settle_days} AS is_within
    FROM ranked_payouts AS p
    INNER JOIN ranked_credits AS c
        ON c.currency = p.currency
        AND c.amount = p.amount
        AND c.place = p.place
        AND c.many = p.many
),

whole AS (
    SELECT currency, amount
    FROM ordered
    GROUP BY currency, amount
    HAVING count(*) = count(*) FILTER (WHERE is_within)
)

SELECT o.move, o.id
FROM ordered AS o
SEMI JOIN whole AS w ON w.currency = o.currency AND w.amount = o.amount;

CREATE TEMP TABLE by_day AS
WITH edges AS (
    SELECT c.move, p.id
    FROM left_payouts AS p
    INNER JOIN left_credits AS c
        ON c.currency = p.currency
        AND c.amount = p.amount
        AND date_diff('day', p.day, c.day) BETWEEN 0 AND {settle_days}
    ANTI JOIN by_order AS o ON o.id = p.id
    ANTI JOIN by_order AS o ON o.move = c.move
),

counted AS (
    SELECT
        move,
        id,
        count(*) OVER (PARTITION BY move) AS payouts,
        count(*) OVER (PARTITION BY id) AS credits
    FROM edges
)

SELECT move, id FROM counted WHERE payouts = 1 AND credits = 1;
