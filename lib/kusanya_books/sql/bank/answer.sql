-- The rows for people, worst first; those of a group stand beside one another. A payout that is not at
-- the bank says which credit, the only one that nearly fits, may be it: a bank takes its charge from
-- what it credits. It is taken for nothing.
WITH nearly AS (
    SELECT
        j.payout_no,
        m.input,
        m.line_no,
        m.day,
        m.amount - p.amount AS apart,
        count(*) OVER (PARTITION BY j.payout_no) AS of_payout,
        count(*) OVER (PARTITION BY m.move) AS of_line
    FROM judged AS j
    INNER JOIN payouts AS p ON p.id = j.payout_no
    CROSS JOIN (SELECT unnest(range(8)) AS days) AS later
    INNER JOIN moves AS m
        ON m.currency = p.currency
        AND m.day = (p.day + later.days * INTERVAL 1 DAY)::DATE
        AND 10 * abs(m.amount - p.amount) <= p.amount
    INNER JOIN judged AS o ON o.move = m.move AND o.break_code = 'bank_other_credit'
    WHERE j.break_code = 'bank_missing'
)

SELECT
    j.break_code,
    rule.standing,
    j.match_rule,
    CASE
        WHEN j.form = 'parts' THEN fp.payout
        WHEN j.form = 'together' THEN 'line ' || fm.line_no || ' of ' || fm.input
        ELSE t.payout
    END AS group_key,
    p.payout,
    p.source,
    m.input,
    m.line_no,
    m.kind,
    coalesce(p.channel, m.channel) AS channel,
    coalesce(m.currency, p.currency) AS currency,
    m.amount AS amount_bank,
    p.amount AS amount_payout,
    j.counted_line AS counted_bank,
    j.counted_other AS counted_payout,
    j.counted_line - j.counted_other AS bridge_effect,
    CASE
        -- A group is of one sum: that of the row which stands for all of the other side.
        WHEN (j.form = 'parts' AND j.move IS NOT NULL)
            OR (j.form = 'together' AND j.payout_no IS NOT NULL)
            THEN 0
        WHEN j.drift <> 0 THEN abs(j.drift)
        ELSE abs(coalesce(m.amount, p.amount))
    END AS at_stake,
    m.day::TIMESTAMP AS bank_day,
    p.day::TIMESTAMP AS payout_day,
    j.age_days,
    CASE
        WHEN n.payout_no IS NULL THEN m.details
        ELSE 'perhaps line ' || n.line_no || ' of ' || n.input || ', ' || n.day || ': '
            || abs(n.apart) || CASE WHEN n.apart < 0 THEN ' less' ELSE ' more' END
    END AS details,
    rule.action AS suggested_action
FROM judged AS j
INNER JOIN rules AS rule ON rule.break_code = j.break_code
LEFT JOIN moves AS m ON m.move = j.move
LEFT JOIN payouts AS p ON p.id = j.payout_no
LEFT JOIN moves AS fm ON fm.move = j.first_move
LEFT JOIN payouts AS fp ON fp.id = j.first_id
LEFT JOIN taking_back AS t ON t.move = j.move
LEFT JOIN nearly AS n
    ON n.payout_no = j.payout_no AND j.break_code = 'bank_missing'
    AND n.of_payout = 1 AND n.of_line = 1
WHERE $everything OR rule.standing <> 'ok'
ORDER BY
    CASE rule.standing WHEN 'break' THEN 0 WHEN 'expected' THEN 1 ELSE 2 END,
    rule.place,
    group_key NULLS FIRST,
    j.age_days DESC,
    p.payout NULLS FIRST,
    m.input NULLS LAST,
    m.line_no NULLS LAST,
    j.payout_no NULLS LAST,
    j.move NULLS LAST
