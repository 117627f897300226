-- What met by name, by amount, by sum and in turn, and every line and payout as the rows that get a verdict.
CREATE TEMP TABLE edges AS
SELECT move, id, match_rule, form FROM met_before_turns
UNION ALL
SELECT move, id, 'amount_day' AS match_rule, 'one' AS form FROM by_turn;

-- What met in a group: its two sums, and the days between which it lies.
CREATE TEMP TABLE groups AS
WITH keyed AS (
    SELECT
        e.*,
        CASE WHEN e.form = 'parts' THEN 'payout ' || e.id ELSE 'line ' || e.move END AS group_no
    FROM edges AS e
),

lines AS (
    SELECT
        g.group_no, sum(m.amount)::BIGINT AS amount, min(m.day) AS from_day, max(m.day) AS to_day,
        min(m.move) AS move
    FROM (SELECT DISTINCT group_no, move FROM keyed) AS g
    INNER JOIN moves AS m ON m.move = g.move
    GROUP BY g.group_no
),

dues AS (
    SELECT
        g.group_no, sum(p.amount)::BIGINT AS amount, min(p.day) AS from_day, max(p.day) AS to_day,
        min(p.id) AS id
    FROM (SELECT DISTINCT group_no, id FROM keyed) AS g
    INNER JOIN payouts AS p ON p.id = g.id
    GROUP BY g.group_no
)

SELECT
    l.group_no,
    l.move AS first_move,
    d.id AS first_id,
    l.amount - d.amount AS drift,
    l.from_day AS bank_from,
    l.to_day AS bank_to,
    d.from_day AS payout_from,
    d.to_day AS payout_to
FROM lines AS l
INNER JOIN dues AS d ON d.group_no = l.group_no;

-- Every line and every payout in one row: a pair stands in one, a group has a row for each.
CREATE TEMP VIEW met AS
WITH keyed AS (
    SELECT
        e.*,
        CASE WHEN e.form = 'parts' THEN 'payout ' || e.id ELSE 'line ' || e.move END AS group_no
    FROM edges AS e
),

rows AS (
    SELECT move, id, match_rule, form, group_no FROM keyed WHERE form = 'one'
    UNION ALL
    SELECT DISTINCT move, NULL::BIGINT AS id, match_rule, form, group_no
    FROM keyed
    WHERE form <> 'one'
    UNION ALL
    SELECT DISTINCT NULL::BIGINT AS move, id, match_rule, form, group_no
    FROM keyed
    WHERE form <> 'one'
    UNION ALL
    SELECT m.move, NULL::BIGINT, NULL::VARCHAR, NULL::VARCHAR, NULL::VARCHAR
    FROM moves AS m
    ANTI JOIN edges AS e ON e.move = m.move
    UNION ALL
    SELECT NULL::BIGINT, p.id, NULL::VARCHAR, NULL::VARCHAR, NULL::VARCHAR
    FROM payouts AS p
    ANTI JOIN edges AS e ON e.id = p.id
    WHERE NOT p.is_perhaps
)

SELECT
    w.match_rule,
    w.form,
    w.group_no,
    w.move,
    w.id,
    w.move IS NOT NULL AS has_line,
    g.group_no IS NOT NULL AS has_met,
    g.first_move,
    g.first_id,
    g.drift,
    g.bank_from,
    g.bank_to,
    g.payout_from,
    g.payout_to,
    m.kind,
    coalesce(m.is_completed, FALSE) AS is_completed,
    coalesce(m.is_copied, FALSE) AS is_copied,
    m.amount AS amount_bank,
    m.currency AS currency_line,
    m.day AS bank_day,
    p.amount AS amount_payout,
    p.currency AS currency_other,
    p.day AS payout_day,
    coalesce(p.day BETWEEN {first_day} AND {last_day} OR p.is_late, FALSE) AS in_payouts,
    s.move IS NOT NULL AS is_second,
    t.move IS NOT NULL AND g.group_no IS NULL AS takes_back,
    a.move IS NOT NULL AS is_paid_again,
    f.first_payout,
    f.bank_ends
FROM rows AS w
LEFT JOIN groups AS g ON g.group_no = w.group_no
LEFT JOIN moves AS m ON m.move = w.move
LEFT JOIN payouts AS p ON p.id = w.id
LEFT JOIN (SELECT DISTINCT move FROM seconds) AS s ON s.move = w.move
LEFT JOIN taking_back AS t ON t.move = w.move
LEFT JOIN (
    SELECT debit AS move FROM paid_again UNION SELECT credit AS move FROM paid_again
) AS a
    ON a.move = w.move
CROSS JOIN (
    SELECT
        (SELECT min(day) FROM payouts) AS first_payout,
        greatest((SELECT max(day) FROM moves), {last_day}) AS bank_ends
) AS f;

CREATE TEMP VIEW others AS
SELECT '' AS account, p.currency, count(*) AS rows, sum(p.amount)::BIGINT AS amount
FROM payouts AS p
WHERE (p.day BETWEEN {first_day} AND {last_day} OR p.is_late)
    AND (NOT p.is_perhaps OR p.id IN (SELECT e.id FROM edges AS e))
GROUP BY p.currency;

-- A bank charges for itself: there is nothing to hold its fees against.
CREATE TEMP VIEW fee_sums AS
SELECT '' AS account, currency, 0 AS rows, amount AS fee, amount AS fee_service
FROM payouts
WHERE FALSE;
