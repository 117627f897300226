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

-- A reversal names what it takes back by that payment's receipt, also as a word of its text, or by
-- its reference or collection. So does the refund of a payment that is no success here; that of a success
-- is a line of its own.
CREATE TEMP TABLE backs AS
SELECT *
FROM moves
WHERE is_completed
    AND NOT is_copied
    AND kind IN ('reversal', 'refund', 'chargeback')
    AND amount < 0;

-- A word of fewer than four characters would be a receipt by chance.
CREATE TEMP TABLE words_of_backs AS
SELECT move, word
FROM (
    SELECT
        move,
        unnest(string_split_regex(lower(concat_ws(' ', details, reference)), '[^a-z0-9-]+')) AS word
    FROM backs
) AS parts
WHERE length(word) >= 4;

CREATE TEMP TABLE reversals AS
WITH successes AS (
    SELECT pairs.move FROM pairs INNER JOIN received AS r ON r.id = pairs.id AND r.paid
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
    UNION
    SELECT w.move, p.move
    FROM words_of_backs AS w
    INNER JOIN payments AS p ON p.receipt_key = w.word
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
    LEFT JOIN successes AS s ON s.move = n.payment
    WHERE b.kind = 'reversal' OR (b.kind = 'refund' AND s.move IS NULL)
)

SELECT reversal, payment FROM fitting WHERE place = 1 AND place_payment = 1;

-- What is taken back of a payment whose line is not here, as that of a month before: by its collection,
-- its reference or a receipt that is known.
CREATE TEMP TABLE of_earlier AS
WITH named AS (
    SELECT b.move, b.collection_id AS id FROM backs AS b WHERE b.collection_id IS NOT NULL
    UNION
    SELECT b.move, r.id
    FROM backs AS b
    INNER JOIN received AS r ON r.reference_key = b.reference_key
    UNION
    SELECT b.move, k.collection_id AS id
    FROM backs AS b
    INNER JOIN receipts AS k ON lower(trim(k.receipt)) = b.receipt_key
    UNION
    SELECT b.move, k.collection_id AS id
    FROM backs AS b
    INNER JOIN receipts AS k ON lower(trim(k.receipt)) = b.reference_key
    UNION
    SELECT w.move, k.collection_id AS id
    FROM words_of_backs AS w
    INNER JOIN receipts AS k ON lower(trim(k.receipt)) = w.word
),

fitting AS (
    SELECT
        n.move,
        r.reference,
        row_number() OVER (PARTITION BY n.move ORDER BY r.completed_at DESC, r.id) AS place,
        row_number() OVER (PARTITION BY r.id ORDER BY b.at, b.move) AS place_id
    FROM named AS n
    INNER JOIN backs AS b ON b.move = n.move
    INNER JOIN received AS r
        ON r.id = n.id
        AND r.paid
        AND r.account = b.account
        AND r.currency = b.currency
        AND r.amount = -b.amount
    ANTI JOIN pairs ON pairs.id = r.id
    ANTI JOIN reversals AS v ON v.reversal = n.move
)

SELECT move, reference FROM fitting WHERE place = 1 AND place_id = 1;

-- The order that each line takes back from, and whether the books say so too: each of their lines is
-- of one. What is taken back of no success is not to be booked.
CREATE TEMP TABLE orders_of_backs AS
WITH ordered AS (
    SELECT
        b.move,
        b.at AS moved_at,
        b.currency,
        b.amount,
        coalesce(r.reference, p.reference, e.reference, b.reference) AS reference,
        v.payment IS NULL OR coalesce(r.paid, FALSE) AS is_to_book
    FROM backs AS b
    LEFT JOIN reversals AS v ON v.reversal = b.move
    LEFT JOIN moves AS p ON p.move = v.payment
    LEFT JOIN pairs ON pairs.move = v.payment
    LEFT JOIN received AS r ON r.id = pairs.id
    LEFT JOIN of_earlier AS e ON e.move = b.move
),

placed AS (
    SELECT
        *,
        row_number() OVER (
            PARTITION BY lower(trim(reference)), currency, amount, is_to_book ORDER BY moved_at, move
        ) AS place
    FROM ordered
)

SELECT
    o.move,
    o.reference,
    o.is_to_book AND coalesce(o.place <= b.rows, FALSE) AS is_booked
FROM placed AS o
LEFT JOIN refunds_booked AS b
    ON b.reference_key = lower(trim(o.reference))
    AND b.currency = o.currency
    AND b.amount = o.amount;

CREATE TEMP TABLE unanswered AS
SELECT DISTINCT p.move
FROM payments AS p
INNER JOIN intents AS i ON lower(trim(i.reference)) = p.reference_key;

-- What the operator charged for a payment: its lines of fees with that receipt, else the column
-- beside the payment; less what its lines give back of it. A receipt is one payment's.
CREATE TEMP TABLE fee_lines AS
SELECT move, account, currency, day, receipt_key, -amount AS fee
FROM moves
WHERE is_completed AND NOT is_copied AND kind = 'fee';

CREATE TEMP TABLE charged AS
WITH named AS (
    SELECT
        p.move,
        p.account,
        p.currency,
        p.day,
        p.receipt_key,
        p.fee AS fee_beside,
        row_number() OVER (
            PARTITION BY p.account, p.currency, p.receipt_key ORDER BY p.at, p.move
        ) AS place
    FROM payments AS p
),

sums AS (
    SELECT
        account,
        currency,
        receipt_key,
        sum(fee) FILTER (fee > 0)::BIGINT AS fee,
        -- A line of nothing says that nothing was charged, where nothing else says more.
        sum(fee) FILTER (fee = 0)::BIGINT AS nothing,
        coalesce(-sum(fee) FILTER (fee < 0), 0)::BIGINT AS given_back
    FROM fee_lines
    WHERE receipt_key IS NOT NULL
    GROUP BY account, currency, receipt_key
)

SELECT
    n.move,
    n.account,
    n.currency,
    n.day,
    (coalesce(s.fee, n.fee_beside, s.nothing) - coalesce(s.given_back, 0))::BIGINT AS fee
FROM named AS n
LEFT JOIN sums AS s
    ON s.account = n.account
    AND s.currency = n.currency
    AND s.receipt_key = n.receipt_key
    AND n.place = 1;

-- Fees with the receipt of no other line are of all payments of the period that have none.
CREATE TEMP TABLE fees_of_many AS
WITH loose AS (
    SELECT f.account, f.currency, min(f.move) AS move, sum(f.fee)::BIGINT AS fee
    FROM fee_lines AS f
    LEFT JOIN (
        SELECT DISTINCT account, currency, receipt_key
        FROM moves
        WHERE is_completed AND kind <> 'fee' AND receipt_key IS NOT NULL
    ) AS m
        ON m.account = f.account AND m.currency = f.currency AND m.receipt_key = f.receipt_key
    WHERE f.day BETWEEN {first_day} AND {last_day} AND m.receipt_key IS NULL
    GROUP BY f.account, f.currency
),

dues AS (
    SELECT c.account, c.currency, sum(r.fee)::BIGINT AS fee
    FROM charged AS c
    INNER JOIN pairs ON pairs.move = c.move
    INNER JOIN received AS r ON r.id = pairs.id AND r.currency = c.currency AND r.paid
    WHERE c.fee IS NULL AND c.day BETWEEN {first_day} AND {last_day}
    GROUP BY c.account, c.currency
)

SELECT l.move, l.account, l.currency, l.fee, coalesce(d.fee, 0) AS fee_service
FROM loose AS l
LEFT JOIN dues AS d ON d.account = l.account AND d.currency = l.currency;

CREATE TEMP VIEW fee_sums AS
WITH compared AS (
    SELECT c.account, c.currency, c.fee, r.fee AS fee_service
    FROM charged AS c
    INNER JOIN pairs ON pairs.move = c.move
    INNER JOIN received AS r ON r.id = pairs.id AND r.currency = c.currency AND r.paid
    WHERE c.fee IS NOT NULL
        AND r.fee IS NOT NULL
        AND c.day BETWEEN {first_day} AND {last_day}
    UNION ALL
    SELECT account, currency, fee, fee_service FROM fees_of_many
)

SELECT
    account, currency, count(*) AS rows, sum(fee)::BIGINT AS fee,
    sum(fee_service)::BIGINT AS fee_service
FROM compared
GROUP BY account, currency;

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
    CASE WHEN many.move IS NULL THEN r.fee ELSE many.fee_service END AS fee_service,
    coalesce(many.fee, charged.fee) AS fee_operator,
    r.account AS account_other,
    r.currency AS currency_other,
    r.business_day,
    coalesce(r.paid, FALSE) AS paid,
    coalesce(r.is_covered, FALSE) AS is_covered,
    coalesce(r.is_reached, FALSE) AS is_reached,
    taken.payment IS NOT NULL AND NOT coalesce(order_of_taken.is_booked, FALSE) AS is_taken_back,
    given_back.reversal IS NOT NULL AS takes_back,
    of_earlier.move IS NOT NULL AS takes_back_earlier,
    coalesce(order_of_back.is_booked, FALSE) AS is_booked_back,
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
LEFT JOIN charged ON charged.move = w.move
LEFT JOIN fees_of_many AS many ON many.move = w.move
LEFT JOIN reversals AS taken ON taken.payment = w.move
LEFT JOIN reversals AS given_back ON given_back.reversal = w.move
LEFT JOIN orders_of_backs AS order_of_taken ON order_of_taken.move = taken.reversal
LEFT JOIN orders_of_backs AS order_of_back ON order_of_back.move = w.move
LEFT JOIN of_earlier ON of_earlier.move = w.move
LEFT JOIN pairs AS pair_of_payment ON pair_of_payment.move = given_back.payment
LEFT JOIN received AS of_payment ON of_payment.id = pair_of_payment.id
LEFT JOIN seconds ON seconds.move = w.move
LEFT JOIN unanswered ON unanswered.move = w.move;

CREATE TEMP VIEW others AS
SELECT r.account, r.currency, count(*) AS rows, sum(r.amount)::BIGINT AS amount
FROM received AS r
WHERE r.paid AND r.is_covered AND r.business_day BETWEEN {first_day} AND {last_day}
GROUP BY r.account, r.currency;
