-- Exact sums of what is left; what fits in more than one way is not matched.
CREATE TEMP TABLE rest_payouts AS
SELECT p.*
FROM open_payouts AS p
ANTI JOIN by_order AS o ON o.id = p.id
ANTI JOIN by_day AS d ON d.id = p.id
WHERE p.day IS NOT NULL;

CREATE TEMP TABLE rest_credits AS
SELECT c.*
FROM open_credits AS c
ANTI JOIN by_order AS o ON o.move = c.move
ANTI JOIN by_day AS d ON d.move = c.move;

-- One credit for all payouts, of one channel or of all, of some days that follow on one another.
-- One below zero (more was taken back than came in) is a part of such a sum, or it waits.
CREATE TEMP TABLE sums_of_payouts AS
WITH days AS (
    SELECT DISTINCT currency, day FROM rest_payouts
),

scopes AS (
    SELECT DISTINCT currency, channel AS scope FROM rest_payouts WHERE channel IS NOT NULL
    UNION
    SELECT DISTINCT currency, NULL AS scope FROM rest_payouts
),

kinds AS (
    SELECT DISTINCT currency, amount > 0 AS is_above FROM rest_payouts
)

SELECT
    p.currency,
    s.scope,
    k.is_above,
    f.day AS from_day,
    t.day AS to_day,
    sum(p.amount)::BIGINT AS amount,
    string_agg(p.id::VARCHAR, ' ' ORDER BY p.id) AS members
FROM days AS f
INNER JOIN days AS t
    ON t.currency = f.currency AND date_diff('day', f.day, t.day) BETWEEN 0 AND {settle_days}
INNER JOIN scopes AS s ON s.currency = f.currency
INNER JOIN kinds AS k ON k.currency = f.currency
INNER JOIN rest_payouts AS p
    ON p.currency = f.currency
    AND p.day BETWEEN f.day AND t.day
    AND (s.scope IS NULL OR p.channel = s.scope)
    AND (p.amount > 0 OR NOT k.is_above)
GROUP BY p.currency, s.scope, k.is_above, f.day, t.day
HAVING count(*) > 1;

CREATE TEMP TABLE together AS
WITH fits AS (
    SELECT DISTINCT c.move, m.members
    FROM rest_credits AS c
    INNER JOIN sums_of_payouts AS m
        ON m.currency = c.currency
        AND abs(m.amount - c.amount) <= {amount_tolerance}
        AND (m.amount > 0) = (c.amount > 0)
        AND m.to_day <= c.day
        AND date_diff('day', m.from_day, c.day) <= {settle_days}
),

once AS (
    SELECT move, min(members) AS members FROM fits GROUP BY move HAVING count(*) = 1
),

edges AS (
    SELECT o.move, p.id, count(*) OVER (PARTITION BY p.id) AS claims
    FROM once AS o
    INNER JOIN rest_payouts AS p
        ON contains(' ' || o.members || ' ', ' ' || p.id::VARCHAR || ' ')
),

contested AS (
    SELECT DISTINCT move FROM edges WHERE claims > 1
)

SELECT e.move, e.id FROM edges AS e ANTI JOIN contested AS x ON x.move = e.move;

-- One payout by all credits of some days that follow on one another.
CREATE TEMP TABLE sums_of_credits AS
WITH open_credits AS (
    SELECT c.* FROM rest_credits AS c ANTI JOIN together AS t ON t.move = c.move WHERE c.amount > 0
),

days AS (
    SELECT DISTINCT currency, day FROM open_credits
)

SELECT
    c.currency,
    f.day AS from_day,
    t.day AS to_day,
    sum(c.amount)::BIGINT AS amount,
    string_agg(c.move::VARCHAR, ' ' ORDER BY c.move) AS members
FROM days AS f
INNER JOIN days AS t
    ON t.currency = f.currency AND date_diff('day', f.day, t.day) BETWEEN 0 AND {settle_days}
INNER JOIN open_credits AS c ON c.currency = f.currency AND c.day BETWEEN f.day AND t.day
GROUP BY c.currency, f.day, t.day
HAVING count(*) > 1;

CREATE TEMP TABLE parts AS
WITH fits AS (
    SELECT DISTINCT p.id, m.members
    FROM rest_payouts AS p
    INNER JOIN sums_of_credits AS m
        ON m.currency = p.currency
        AND abs(m.amount - p.amount) <= {amount_tolerance}
        AND p.day <= m.from_day
        AND date_diff('day', p.day, m.to_day) <= {settle_days}
    ANTI JOIN together AS t ON t.id = p.id
    WHERE p.amount > 0
),

once AS (
    SELECT id, min(members) AS members FROM fits GROUP BY id HAVING count(*) = 1
),

edges AS (
    SELECT c.move, o.id, count(*) OVER (PARTITION BY c.move) AS claims
    FROM once AS o
    INNER JOIN rest_credits AS c
        ON contains(' ' || o.members || ' ', ' ' || c.move::VARCHAR || ' ')
),

contested AS (
    SELECT DISTINCT id FROM edges WHERE claims > 1
)

SELECT e.move, e.id FROM edges AS e ANTI JOIN contested AS x ON x.id = e.id;

CREATE TEMP TABLE met_before_turns AS
SELECT move, id, 'name' AS match_rule, form FROM by_name
UNION ALL
SELECT move, id, 'amount_day' AS match_rule, 'one' AS form FROM remembered WHERE id IS NOT NULL
UNION ALL
SELECT move, id, 'amount_day' AS match_rule, 'one' AS form FROM by_order
UNION ALL
SELECT move, id, 'amount_day' AS match_rule, 'one' AS form FROM by_day
UNION ALL
SELECT move, id, 'sum' AS match_rule, 'together' AS form FROM together
UNION ALL
SELECT move, id, 'sum' AS match_rule, 'parts' AS form FROM parts;

-- What still waits: see `in_turn` of the bank's match.
CREATE TEMP VIEW waiting_payouts AS
SELECT p.id, p.currency, p.amount, p.day::TIMESTAMP AS day, p.is_perhaps
FROM open_payouts AS p
ANTI JOIN met_before_turns AS m ON m.id = p.id;

CREATE TEMP VIEW waiting_credits AS
SELECT c.move, c.currency, c.amount, c.day::TIMESTAMP AS day, c.kind = 'payout' AS is_payout
FROM open_credits AS c
ANTI JOIN met_before_turns AS m ON m.move = c.move;
