-- What the provider paid out against what collections earned, net of fees, by day and channel or,
-- where the statement has a line for each, by collection. A currency is part of either: a payout in
-- another one is unexpected, and what was earned is still owed.
CREATE TEMP VIEW earned AS
SELECT
    CASE
        WHEN g.item THEN concat_ws(chr(31), c.id, c.currency)
        ELSE concat_ws(chr(31), c.business_day::VARCHAR, c.channel, c.currency)
    END AS unit,
    g.item,
    c.*
FROM collections AS c, granularity AS g
WHERE c.status = 'succeeded' AND c.business_day BETWEEN {first_day} AND {last_day};

CREATE TEMP TABLE ours AS
SELECT
    unit,
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

-- A line that says what another one says is a duplicate: of the same batch always; under another one
-- where the lines before it had paid all that was earned, because a day may be paid out in equal
-- halves; on another day where it is all that its day was paid too much.
CREATE TEMP TABLE lines AS
WITH units AS (
    SELECT
        CASE
            WHEN g.item THEN concat_ws(chr(31), s.collection_id, s.currency)
            ELSE concat_ws(chr(31), s.business_day::VARCHAR, s.channel, s.currency)
        END AS unit,
        row_number() OVER (
            PARTITION BY
                s.batch_id, s.collection_id, s.business_day, s.channel, s.currency, s.gross, s.fee,
                s.net
            ORDER BY s.line_no
        ) > 1 AS copied,
        row_number() OVER (
            PARTITION BY
                s.collection_id, s.business_day, s.channel, s.currency, s.net
            ORDER BY s.line_no
        ) > 1 AS repeated,
        NOT g.item
        AND row_number() OVER (
            PARTITION BY s.channel, s.currency, s.gross, s.fee, s.net
            ORDER BY s.business_day, s.line_no
        ) > 1 AS echoed,
        s.*
    FROM placed AS s, granularity AS g
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
    OR (p.repeated AND coalesce(p.before >= o.net - {amount_tolerance}, FALSE))
    OR (
        p.echoed
        AND p.unit_same = 1
        AND abs(p.unit_net - coalesce(o.net, 0) - p.net) <= {amount_tolerance}
    ) AS again
FROM paid AS p
LEFT JOIN ours AS o ON o.unit = p.unit;

-- A payout of a neighbouring day belongs to another period; one of a collection is ours wherever.
CREATE TEMP TABLE theirs AS
SELECT
    lines.unit,
    min(lines.business_day) AS business_day,
    min(lines.channel) AS channel,
    min(lines.currency) AS currency,
    min(lines.collection_id) AS collection_id,
    string_agg(DISTINCT lines.batch_id, ' ' ORDER BY lines.batch_id) AS batch_id,
    min(lines.line_no) AS line_no,
    min(lines.group_key) AS group_key,
    CASE WHEN count(lines.gross) = count(*) THEN sum(lines.gross)::BIGINT END AS gross,
    CASE WHEN count(lines.fee) = count(*) THEN sum(lines.fee)::BIGINT END AS fee,
    sum(lines.net)::BIGINT AS net,
    sum(lines.lines)::BIGINT AS lines
FROM lines
WHERE NOT lines.again
    AND (lines.business_day BETWEEN {first_day} AND {last_day}
        OR lines.unit IN (SELECT unit FROM ours))
GROUP BY lines.unit
UNION ALL
SELECT
    NULL AS unit,
    lines.business_day,
    lines.channel,
    lines.currency,
    lines.collection_id,
    lines.batch_id,
    lines.line_no,
    lines.group_key,
    lines.gross,
    lines.fee,
    lines.net,
    lines.lines
FROM lines
WHERE lines.again
    AND (lines.business_day BETWEEN {first_day} AND {last_day}
        OR lines.unit IN (SELECT unit FROM ours));

-- A fee is claimed where the payout's gross is what was earned; any other difference is of the payout.
CREATE TEMP TABLE settled AS
SELECT
    CASE
        WHEN t.unit IS NULL AND t.line_no IS NOT NULL THEN 'settlement_duplicate'
        WHEN o.unit IS NULL AND t.net = 0 AND coalesce(t.gross, 0) = 0 AND coalesce(t.fee, 0) = 0
            THEN 'settlement_zero'
        WHEN o.unit IS NULL THEN 'settlement_unexpected'
        WHEN t.line_no IS NULL
            AND date_diff('day', o.business_day, {as_of})
                < coalesce(d.days, {settle_days})
            THEN 'settlement_pending'
        WHEN t.line_no IS NULL THEN 'settlement_missing'
        WHEN abs(t.fee - o.fee) > {fee_tolerance}
            AND abs(coalesce(t.gross, t.net + t.fee) - o.gross) <= {amount_tolerance}
            THEN 'settlement_fee_mismatch'
        WHEN t.net < o.net - {amount_tolerance} THEN 'settlement_short'
        WHEN t.net > o.net + {amount_tolerance} THEN 'settlement_over'
        WHEN abs(t.fee - o.fee) > {fee_tolerance} THEN 'settlement_fee_mismatch'
        ELSE 'settled'
    END AS break_code,
    coalesce(o.business_day, t.business_day) AS business_day,
    coalesce(o.channel, t.channel) AS channel,
    coalesce(o.currency, t.currency) AS currency,
    coalesce(o.collection_id, t.collection_id) AS collection_id,
    t.batch_id,
    t.line_no,
    t.group_key,
    coalesce(o.count, 0) AS count,
    coalesce(o.gross, 0) AS gross,
    coalesce(o.fee, 0) AS fee,
    coalesce(o.net, 0) AS net,
    t.gross AS gross_settled,
    t.fee AS fee_settled,
    coalesce(t.net, 0) AS net_settled,
    coalesce(t.lines, 0) AS lines,
    row_number() OVER (ORDER BY o.unit, t.unit, t.line_no) AS row_no
FROM ours AS o
FULL OUTER JOIN theirs AS t ON t.unit = o.unit
LEFT JOIN settle_days_of AS d ON d.channel = o.channel;
