-- What the provider paid out against what collections earned, net of fees, by day and channel or,
-- where the statement has a line for each, by collection. A currency is part of either: a payout in
-- another one is unexpected, and what was earned is still owed.
CREATE TEMP VIEW earned AS
SELECT
    CASE
        WHEN c.item THEN concat_ws(chr(31), c.id, c.currency)
        ELSE concat_ws(chr(31), c.business_day::VARCHAR, c.channel, c.currency)
    END AS unit,
    c.business_day BETWEEN {first_day} AND {last_day} AS inside,
    c.*
FROM successes AS c;

CREATE TEMP TABLE ours AS
SELECT
    unit,
    any_value(inside) AS inside,
    min(business_day) AS business_day,
    min(channel) AS channel,
    min(currency) AS currency,
    CASE WHEN any_value(item) THEN min(id) END AS collection_id,
    count(*) AS count,
    sum(amount)::BIGINT AS gross,
    sum(fee)::BIGINT AS fee,
    sum(amount - fee)::BIGINT AS net
FROM earned
GROUP BY unit;

-- A line that says what another one says is a duplicate: of the same batch always, on another day
-- where it is all that its day was paid too much; under another batch only on the same day, where the
-- lines before it had paid all that was earned, because a day may be paid out in equal halves. Two
-- days may earn the same sum, and nothing be known yet of the later one. What takes money back is of
-- the day of its batch, or stands alone. So does a line that an earlier period read, for what was
-- earned there: it is judged there.
CREATE TEMP TABLE lines AS
WITH said AS (
    SELECT
        CASE
            WHEN s.collection_id IS NOT NULL THEN concat_ws(chr(31), s.collection_id, s.currency)
            ELSE concat_ws(chr(31), s.business_day::VARCHAR, s.channel, s.currency)
        END AS unit_said,
        s.*
    FROM placed AS s
),

dated AS (
    SELECT
        s.*,
        s.collection_id IS NOT NULL AS item,
        s.is_again AND coalesce(o.business_day, s.business_day) < {first_day} AS known
    FROM said AS s
    LEFT JOIN ours AS o ON o.unit = s.unit_said
),

batches AS (
    SELECT batch_id, channel, currency, min(unit_said) AS unit
    FROM dated
    WHERE NOT is_back AND batch_id IS NOT NULL
    GROUP BY batch_id, channel, currency
    HAVING count(DISTINCT unit_said) = 1
),

units AS (
    SELECT
        CASE
            WHEN s.is_refund THEN NULL
            WHEN s.is_back AND NOT s.item THEN b.unit
            ELSE s.unit_said
        END AS unit,
        row_number() OVER (
            PARTITION BY
                s.batch_id, s.named, s.business_day, s.channel, s.currency, s.gross, s.fee, s.net
            ORDER BY s.line_no
        ) > 1 AS copied,
        row_number() OVER (
            PARTITION BY
                s.named, s.business_day, s.channel, s.currency, s.net
            ORDER BY s.line_no
        ) > 1 AS repeated,
        NOT s.item
        AND NOT s.is_back
        AND s.batch_id IS NOT NULL
        AND row_number() OVER (
            PARTITION BY s.batch_id, s.channel, s.currency, s.gross, s.fee, s.net
            ORDER BY s.business_day, s.line_no
        ) > 1 AS echoed,
        s.*
    FROM dated AS s
    LEFT JOIN batches AS b
        ON b.batch_id = s.batch_id AND b.channel = s.channel AND b.currency = s.currency
),

paid AS (
    SELECT
        *,
        sum(CASE WHEN copied THEN 0 ELSE net END) OVER (
            PARTITION BY unit ORDER BY line_no ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
        ) AS before,
        sum(net) OVER (PARTITION BY unit) AS unit_net,
        count(*) OVER (PARTITION BY unit, net) AS unit_same
    FROM units
)

SELECT
    p.* EXCLUDE (copied, repeated, echoed, before, unit_net, unit_same),
    p.copied
    OR (p.repeated AND NOT p.is_back AND coalesce(p.before >= o.net - {amount_tolerance}, FALSE))
    OR (
        p.echoed
        AND p.unit_same = 1
        AND abs(p.unit_net - coalesce(o.net, 0) - p.net) <= {amount_tolerance}
    ) AS again
FROM paid AS p
LEFT JOIN ours AS o ON o.unit = p.unit;

CREATE TEMP TABLE theirs AS
SELECT
    unit,
    min(unit_said) AS unit_said,
    FALSE AS again,
    FALSE AS known,
    FALSE AS is_refund,
    bool_or(is_back) AS has_back,
    min(business_day) AS business_day,
    min(channel) AS channel,
    min(currency) AS currency,
    min(collection_id) AS collection_id,
    string_agg(DISTINCT batch_id, ' ' ORDER BY batch_id) AS batch_id,
    min(line_no) AS line_no,
    sum(lines)::BIGINT AS lines,
    min(group_key) AS group_key,
    CASE WHEN count(gross) = count(*) THEN sum(gross)::BIGINT END AS gross,
    CASE WHEN count(fee) = count(*) THEN sum(fee)::BIGINT END AS fee,
    sum(net)::BIGINT AS net
FROM lines
WHERE NOT again AND NOT known AND unit IS NOT NULL
GROUP BY unit
UNION ALL
SELECT
    NULL AS unit,
    unit_said,
    again,
    known,
    is_refund,
    is_back AS has_back,
    business_day,
    channel,
    currency,
    collection_id,
    batch_id,
    line_no,
    lines,
    group_key,
    gross,
    fee,
    net
FROM lines
WHERE again OR known OR unit IS NULL;

-- What an earlier period left open is paid, or taken back, for that period.
CREATE TEMP TABLE owed_units AS
WITH units AS (
    SELECT
        CASE
            WHEN w.collection_id IS NOT NULL THEN concat_ws(chr(31), w.collection_id, w.currency)
            ELSE concat_ws(chr(31), w.day::TIMESTAMP::VARCHAR, w.channel, w.currency)
        END AS unit,
        w.day
    FROM debts AS w
)

SELECT unit, min(day)::TIMESTAMP AS business_day FROM units GROUP BY unit;

-- A fee is claimed where the payout's gross is what was earned; any other difference is of the payout.
-- Of another period a payout is shown with its sum: what was earned there is judged there.
CREATE TEMP TABLE settled_payments AS
SELECT
    t.unit AS unit_paid,
    CASE
        WHEN t.known THEN 'settlement_read_before'
        WHEN t.is_refund AND NOT t.again THEN 'settlement_refund_booked'
        WHEN NOT coalesce(o.inside, FALSE) AND w.unit IS NOT NULL THEN 'settlement_other_period'
        WHEN t.again THEN 'settlement_duplicate'
        WHEN t.unit IS NULL AND t.has_back THEN 'settlement_taken_back'
        WHEN o.unit IS NULL AND t.net = 0 AND coalesce(t.gross, 0) = 0 AND coalesce(t.fee, 0) = 0
            THEN 'settlement_zero'
        WHEN o.unit IS NULL AND t.has_back AND e.id IS NOT NULL THEN 'settlement_taken_back'
        WHEN o.unit IS NULL AND t.collection_id IS NOT NULL AND k.id IS NULL
            THEN 'settlement_unknown'
        WHEN o.unit IS NULL
            AND coalesce(t.business_day NOT BETWEEN {first_day} AND {last_day}, FALSE)
            THEN 'settlement_outside'
        WHEN o.unit IS NULL THEN 'settlement_unexpected'
        WHEN NOT o.inside AND p.day IS NOT NULL AND t.has_back THEN 'settlement_taken_back'
        WHEN NOT o.inside AND p.day IS NOT NULL THEN 'settlement_over'
        WHEN NOT o.inside THEN 'settlement_other_period'
        WHEN t.line_no IS NULL
            AND date_diff('day', o.business_day, {as_of})
                <= coalesce(d.days, {settle_days})
            THEN 'settlement_pending'
        WHEN t.line_no IS NULL THEN 'settlement_missing'
        WHEN t.has_back AND t.net < o.net - {amount_tolerance} THEN 'settlement_taken_back'
        WHEN abs(t.fee - o.fee) > {fee_tolerance}
            AND abs(coalesce(t.gross, t.net + t.fee) - o.gross) <= {amount_tolerance}
            THEN 'settlement_fee_mismatch'
        WHEN t.net < o.net - {amount_tolerance} THEN 'settlement_short'
        WHEN t.net > o.net + {amount_tolerance} THEN 'settlement_over'
        WHEN abs(t.fee - o.fee) > {fee_tolerance} THEN 'settlement_fee_mismatch'
        WHEN t.net <> o.net THEN 'settlement_within_tolerance'
        ELSE 'settled'
    END AS break_code,
    CASE
        WHEN t.known THEN t.business_day
        ELSE coalesce(o.business_day, w.business_day, t.business_day)
    END AS business_day,
    coalesce(o.channel, t.channel) AS channel,
    coalesce(o.currency, t.currency) AS currency,
    coalesce(o.collection_id, t.collection_id) AS collection_id,
    t.batch_id,
    t.line_no,
    coalesce(t.lines, 0) AS lines,
    t.group_key,
    CASE WHEN o.inside THEN o.count ELSE 0 END AS count,
    CASE WHEN o.inside THEN o.gross ELSE 0 END AS gross,
    CASE WHEN o.inside THEN o.fee ELSE 0 END AS fee,
    CASE WHEN o.inside THEN o.net ELSE 0 END AS net,
    t.gross AS gross_settled,
    t.fee AS fee_settled,
    coalesce(t.net, 0) AS net_settled,
    row_number() OVER (ORDER BY o.unit, t.unit, t.line_no) AS row_no
FROM ours AS o
FULL OUTER JOIN theirs AS t ON t.unit = o.unit
LEFT JOIN settle_days_of AS d ON d.channel = o.channel
LEFT JOIN (SELECT DISTINCT id FROM collections) AS k ON k.id = t.collection_id
LEFT JOIN (SELECT DISTINCT id FROM outside) AS e ON e.id = t.collection_id
LEFT JOIN owed_units AS w ON w.unit = t.unit_said
LEFT JOIN paid_days AS p
    ON p.day = o.business_day::DATE AND (o.collection_id IS NOT NULL OR NOT p.by_item)
WHERE o.inside OR t.line_no IS NOT NULL;
