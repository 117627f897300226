-- What an earlier period saw credited is paid as it was then, by a credit of that day and amount.
CREATE TEMP TABLE remembered AS
WITH known AS (
    SELECT
        *,
        row_number() OVER (
            PARTITION BY currency, payout, day, amount ORDER BY bank_day, id
        ) AS twin
    FROM shown_before
),

listed AS (
    SELECT
        id,
        currency,
        payout,
        day,
        amount,
        row_number() OVER (PARTITION BY currency, payout, day, amount ORDER BY id) AS twin
    FROM payouts
),

named AS (
    SELECT
        p.id,
        b.currency,
        b.amount,
        b.bank_day AS day,
        row_number() OVER (
            PARTITION BY b.currency, b.amount, b.bank_day ORDER BY b.day, b.payout, b.twin
        ) AS place
    FROM known AS b
    LEFT JOIN listed AS p
        ON p.currency = b.currency
        AND p.payout = b.payout
        AND p.day = b.day
        AND p.amount = b.amount
        AND p.twin = b.twin
    ANTI JOIN by_name AS n ON n.id = p.id
),

ranked AS (
    SELECT
        move,
        currency,
        amount,
        day,
        row_number() OVER (PARTITION BY currency, amount, day ORDER BY move) AS place
    FROM left_credits
)

SELECT c.move, n.id
FROM named AS n
INNER JOIN ranked AS c
    ON c.currency = n.currency AND c.amount = n.amount AND c.day = n.day AND c.place = n.place;

CREATE TEMP TABLE open_payouts AS
SELECT p.* FROM left_payouts AS p ANTI JOIN remembered AS r ON r.id = p.id;

CREATE TEMP TABLE open_credits AS
SELECT c.* FROM left_credits AS c ANTI JOIN remembered AS r ON r.move = c.move;

-- Equal amounts meet in the order of their days where both sides have as many of them, or where
-- within the days a payout takes exactly one is left on both sides.
CREATE TEMP TABLE by_order AS
WITH ranked_payouts AS (
    SELECT
        *,
        row_number() OVER (PARTITION BY currency, amount ORDER BY day, id) AS place,
        count(*) OVER (PARTITION BY currency, amount) AS many
    FROM open_payouts
),

ranked_credits AS (
    SELECT
        *,
        row_number() OVER (PARTITION BY currency, amount ORDER BY day, move) AS place,
        count(*) OVER (PARTITION BY currency, amount) AS many
    FROM open_credits
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
    FROM open_payouts AS p
    INNER JOIN open_credits AS c
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
