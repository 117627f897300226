-- A credit is a payout's whose receipt or batch it names.

-- A key stands in a narrative as a word of its own, in any case; of fewer than four characters it
-- would stand there by chance.
CREATE TEMP TABLE named AS
WITH keys AS (
    SELECT id, currency, key FROM payouts WHERE length(key) >= 4
    UNION
    SELECT id, currency, second_key AS key FROM payouts WHERE length(second_key) >= 4
),

words AS (
    SELECT
        id, currency, ' ' || trim(regexp_replace(upper(key), '[^A-Z0-9]+', ' ', 'g')) || ' ' AS word
    FROM keys
),

edges AS (
    SELECT DISTINCT c.move, w.id
    FROM credits AS c
    INNER JOIN words AS w ON w.currency = c.currency AND contains(c.narrative, w.word)
)

SELECT
    e.move,
    e.id,
    count(*) OVER (PARTITION BY e.move) AS payouts,
    count(*) OVER (PARTITION BY e.id) AS credits,
    row_number() OVER (PARTITION BY e.id ORDER BY c.day, c.move) AS place,
    c.amount AS amount_bank,
    p.amount AS amount_payout
FROM edges AS e
INNER JOIN credits AS c ON c.move = e.move
INNER JOIN payouts AS p ON p.id = e.id;

-- One payout that is named by several credits: where the first one alone pays it, the others pay it
-- once more.
CREATE TEMP TABLE paid_at_once AS
SELECT DISTINCT n.id
FROM named AS n
WHERE n.credits > 1
    AND n.place = 1
    AND abs(n.amount_bank - n.amount_payout) <= {amount_tolerance};

CREATE TEMP TABLE seconds AS
SELECT n.move
FROM named AS n
SEMI JOIN paid_at_once AS o ON o.id = n.id
WHERE n.payouts = 1 AND n.place > 1;

CREATE TEMP TABLE by_name AS
WITH clean AS (
    SELECT n.move, n.id, n.payouts, CASE WHEN o.id IS NULL THEN n.credits ELSE 1 END AS credits
    FROM named AS n
    LEFT JOIN paid_at_once AS o ON o.id = n.id
    WHERE o.id IS NULL OR n.place = 1
),

mixed AS (
    SELECT move AS move, id AS id FROM clean WHERE payouts > 1 AND credits > 1
)

SELECT
    c.move,
    c.id,
    CASE
        WHEN c.payouts > 1 THEN 'together'
        WHEN c.credits > 1 THEN 'parts'
        ELSE 'one'
    END AS form
FROM clean AS c
ANTI JOIN mixed ON mixed.move = c.move
ANTI JOIN mixed ON mixed.id = c.id;

CREATE TEMP TABLE left_payouts AS
SELECT p.* FROM payouts AS p ANTI JOIN by_name AS n ON n.id = p.id WHERE p.amount > 0;

CREATE TEMP TABLE left_credits AS
SELECT c.*
FROM credits AS c
ANTI JOIN by_name AS n ON n.move = c.move
ANTI JOIN seconds AS s ON s.move = c.move;
