-- A credit is a payout's whose receipt or batch it names; a debit that names one takes it back, but
-- for a payout below zero, whose own it is. Of a batch of several channels one may be below zero.

-- A key stands in a narrative as a word of its own, in any case; of fewer than four characters it
-- would stand there by chance.
CREATE TEMP TABLE named AS
WITH keys AS (
    SELECT id, currency, key FROM payouts WHERE length(key) >= 4
    UNION
    SELECT id, currency, second_key AS key FROM payouts WHERE length(second_key) >= 4
    UNION
    SELECT id, currency, payout AS key FROM shown WHERE length(payout) >= 4
),

words AS (
    SELECT
        id, currency, ' ' || trim(regexp_replace(upper(key), '[^A-Z0-9]+', ' ', 'g')) || ' ' AS word
    FROM keys
),

edges AS (
    SELECT DISTINCT c.move, w.id
    FROM moves AS c
    INNER JOIN words AS w ON w.currency = c.currency AND contains(c.narrative, w.word)
    WHERE c.is_completed AND NOT c.is_copied
)

SELECT e.move, e.id FROM edges AS e;

CREATE TEMP TABLE named_by_credits AS
WITH above AS (
    SELECT DISTINCT e.move
    FROM named AS e
    INNER JOIN payouts AS p ON p.id = e.id AND p.amount > 0
)

SELECT
    e.move,
    e.id,
    count(*) OVER (PARTITION BY e.move) AS payouts,
    count(*) OVER (PARTITION BY e.id) AS credits,
    row_number() OVER (PARTITION BY e.id ORDER BY c.day, c.move) AS place,
    c.amount AS amount_bank,
    p.amount AS amount_payout
FROM named AS e
INNER JOIN credits AS c ON c.move = e.move
INNER JOIN payouts AS p ON p.id = e.id
LEFT JOIN above AS a ON a.move = e.move AND p.amount < 0
WHERE CASE WHEN a.move IS NULL THEN sign(p.amount) = sign(c.amount) ELSE c.amount > 0 END;

-- Where the first credit that names a payout pays it alone, others that name it pay it once more.
CREATE TEMP TABLE paid_at_once AS
SELECT n.id
FROM named_by_credits AS n
WHERE n.place = 1
    AND abs(n.amount_bank - n.amount_payout) <= {amount_tolerance};

CREATE TEMP VIEW known AS
SELECT id, payout, amount FROM payouts WHERE amount > 0
UNION ALL
SELECT id, payout, amount FROM shown;

CREATE TEMP TABLE taking_back AS
SELECT n.move, min(p.payout) AS payout
FROM named AS n
INNER JOIN moves AS m ON m.move = n.move AND m.amount < 0
INNER JOIN known AS p ON p.id = n.id
GROUP BY n.move;

-- What a debit takes back is paid again by the next credit of its amount that names the payout.
CREATE TEMP TABLE taken_back AS
SELECT
    n.move,
    n.id,
    m.amount,
    m.day,
    row_number() OVER (PARTITION BY n.id, m.amount ORDER BY m.day, n.move) AS place
FROM named AS n
INNER JOIN moves AS m ON m.move = n.move AND m.amount < 0
INNER JOIN known AS p ON p.id = n.id
INNER JOIN (SELECT move FROM named GROUP BY move HAVING count(*) = 1) AS once
    ON once.move = n.move;

CREATE TEMP TABLE seconds AS
SELECT n.move, n.id
FROM named_by_credits AS n
SEMI JOIN paid_at_once AS o ON o.id = n.id
WHERE n.payouts = 1 AND n.place > 1
UNION
SELECT c.move, n.id
FROM named AS n
INNER JOIN credits AS c ON c.move = n.move AND c.amount > 0
INNER JOIN shown AS p ON p.id = n.id AND p.bank_day < c.day
LEFT JOIN taken_back AS t ON t.id = n.id AND t.amount = -c.amount
ANTI JOIN named_by_credits AS own ON own.move = n.move
WHERE t.move IS NOT NULL OR abs(c.amount - p.amount) <= {amount_tolerance};

CREATE TEMP TABLE paid_again AS
WITH later AS (
    SELECT
        s.move,
        s.id,
        c.amount,
        c.day,
        row_number() OVER (PARTITION BY s.id, c.amount ORDER BY c.day, s.move) AS place
    FROM seconds AS s
    INNER JOIN credits AS c ON c.move = s.move
)

SELECT b.move AS debit, l.move AS credit
FROM taken_back AS b
INNER JOIN later AS l
    ON l.id = b.id AND l.amount = -b.amount AND l.place = b.place AND l.day >= b.day;

CREATE TEMP TABLE by_name AS
WITH clean AS (
    SELECT n.move, n.id, n.payouts, CASE WHEN o.id IS NULL THEN n.credits ELSE 1 END AS credits
    FROM named_by_credits AS n
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
SELECT p.* FROM payouts AS p ANTI JOIN by_name AS n ON n.id = p.id WHERE p.amount <> 0;

CREATE TEMP TABLE left_credits AS
SELECT c.*
FROM credits AS c
ANTI JOIN by_name AS n ON n.move = c.move
ANTI JOIN seconds AS s ON s.move = c.move
ANTI JOIN taking_back AS t ON t.move = c.move;
