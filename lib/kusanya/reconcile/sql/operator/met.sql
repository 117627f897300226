-- The lines that make no pair, and every line and every success as the rows that get a verdict.

-- A payment left over is a second one when its key leads to a collection that was met.
CREATE TEMP TABLE seconds AS
WITH left_moves AS (
    SELECT p.* FROM payments AS p ANTI JOIN pairs ON pairs.move = p.move
),

met AS (
    SELECT r.id, r.reference_key FROM received AS r SEMI JOIN pairs ON pairs.id = r.id
)

SELECT l.move FROM left_moves AS l INNER JOIN met ON met.id = l.collection_id
UNION
SELECT l.move FROM left_moves AS l INNER JOIN met ON met.reference_key = l.reference_key
UNION
SELECT l.move
FROM left_moves AS l
INNER JOIN receipts AS k ON lower(trim(k.receipt)) = l.receipt_key
INNER JOIN met ON met.id = k.collection_id
UNION
SELECT l.move
FROM left_moves AS l
INNER JOIN payments AS p
    ON p.receipt_key = l.receipt_key
    AND p.account = l.account
    AND p.amount = l.amount
    AND p.move <> l.move
INNER JOIN pairs ON pairs.move = p.move;

-- A reversal names what it takes back by that payment's receipt, or by its reference or collection.
CREATE TEMP TABLE reversals AS
WITH backs AS (
    SELECT *
    FROM moves
    WHERE is_completed AND NOT is_copied AND kind = 'reversal' AND amount < 0
),

named AS (
    SELECT b.move AS reversal, p.move AS payment
    FROM backs AS b
    INNER JOIN payments AS p ON p.receipt_key = b.receipt_key
    UNION
    SELECT b.move, p.move
    FROM backs AS b
    INNER JOIN payments AS p ON p.receipt_key = b.reference_key
    UNION
    SELECT b.move, p.move
    FROM backs AS b
    INNER JOIN payments AS p ON p.reference_key = b.reference_key
    UNION
    SELECT b.move, p.move
    FROM backs AS b
    INNER JOIN pairs AS p ON p.id = b.collection_id
),

fitting AS (
    SELECT
        n.reversal,
        n.payment,
        row_number() OVER (PARTITION BY n.reversal ORDER BY p.at DESC, p.move DESC) AS place,
        row_number() OVER (PARTITION BY n.payment ORDER BY b.at, b.move) AS place_payment
    FROM named AS n
    INNER JOIN backs AS b ON b.move = n.reversal
    INNER JOIN payments AS p
        ON p.move = n.payment
        AND p.account = b.account
        AND p.currency = b.currency
        AND p.amount = -b.amount
)

SELECT reversal, payment FROM fitting WHERE place = 1 AND place_payment = 1;

CREATE TEMP TABLE unanswered AS
SELECT DISTINCT p.move
FROM payments AS p
INNER JOIN intents AS i ON lower(trim(i.reference)) = p.reference_key;

-- Every line and every success in one row; a success counts only where a statement speaks of its
-- channel.
CREATE TEMP VIEW met AS
WITH rows AS (
    SELECT move, id, match_rule FROM pairs
    UNION ALL
    SELECT m.move, NULL::VARCHAR AS id, NULL::VARCHAR AS match_rule
    FROM moves AS m
    ANTI JOIN pairs ON pairs.move = m.move
    UNION ALL
    SELECT NULL::BIGINT AS move, r.id, NULL::VARCHAR AS match_rule
    FROM received AS r
    ANTI JOIN pairs ON pairs.id = r.id
    WHERE r.paid AND r.is_covered
)

SELECT
    w.match_rule,
    w.move,
    w.id,
    w.move IS NOT NULL AS has_line,
    w.id IS NOT NULL AS has_collection,
    m.kind,
    coalesce(m.is_completed, FALSE) AS is_completed,
    coalesce(m.is_copied, FALSE) AS is_copied,
    m.amount > 0 AS is_in,
    m.amount AS amount_operator,
    m.account AS account_line,
    m.currency AS currency_line,
    m.day AS operator_day,
    r.amount AS amount_service,
    r.fee AS fee_service,
    r.account AS account_other,
    r.currency AS currency_other,
    r.business_day,
    coalesce(r.paid, FALSE) AS paid,
    coalesce(r.is_covered, FALSE) AS is_covered,
    coalesce(r.is_reached, FALSE) AS is_reached,
    taken.payment IS NOT NULL AS is_taken_back,
    given_back.reversal IS NOT NULL AS takes_back,
    coalesce(of_payment.paid, FALSE) AS takes_back_paid,
    CASE
        WHEN taken.payment IS NOT NULL THEN taken.payment
        ELSE given_back.payment
    END AS group_move,
    seconds.move IS NOT NULL AS is_second,
    unanswered.move IS NOT NULL AS is_unanswered
FROM rows AS w
LEFT JOIN moves AS m ON m.move = w.move
LEFT JOIN received AS r ON r.id = w.id
LEFT JOIN reversals AS taken ON taken.payment = w.move
LEFT JOIN reversals AS given_back ON given_back.reversal = w.move
LEFT JOIN pairs AS pair_of_payment ON pair_of_payment.move = given_back.payment
LEFT JOIN received AS of_payment ON of_payment.id = pair_of_payment.id
LEFT JOIN seconds ON seconds.move = w.move
LEFT JOIN unanswered ON unanswered.move = w.move;

CREATE TEMP VIEW others AS
SELECT r.account, r.currency, count(*) AS rows, sum(r.amount)::BIGINT AS amount
FROM received AS r
WHERE r.paid AND r.is_covered AND r.business_day BETWEEN {first_day} AND {last_day}
GROUP BY r.account, r.currency;
