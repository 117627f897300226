-- The two sides: the lines of the bank's statements, and the payouts that they may credit.
CREATE TEMP TABLE moves AS
SELECT
    row_number() OVER (
        ORDER BY m.input, m.line_no, m.at, m.receipt, m.kind, m.amount
    ) AS move,
    m.*,
    '' AS account,
    m.business_day::DATE AS day,
    m.status = 'completed' AS is_completed,
    m.status = 'completed'
    AND m.receipt IS NOT NULL
    AND row_number() OVER (
        PARTITION BY
            m.currency, m.receipt, m.kind, m.status, m.amount, m.business_day, m.at, m.balance,
            m.details
        ORDER BY m.input, m.line_no
    ) > 1 AS is_copied,
    ' ' || trim(
        regexp_replace(
            upper(concat_ws(' ', m.details, m.reference, m.receipt)), '[^A-Z0-9]+', ' ', 'g'
        )
    ) || ' ' AS narrative
FROM movements AS m
WHERE m.leg = 'bank';

-- What may be a payout's: money in, and money out for one below zero, which the provider takes back.
CREATE TEMP TABLE credits AS
SELECT *
FROM moves
WHERE is_completed
    AND NOT is_copied
    AND (
        (amount > 0 AND kind IN ('payout', 'payment', 'other'))
        OR (amount < 0 AND kind NOT IN ('fee', 'charge', 'tax'))
    );

-- What the bank has shown in earlier periods, and when; it is only known by its name.
CREATE TEMP TABLE shown_before AS
SELECT
    -row_number() OVER (ORDER BY m.business_day, m.channel, m.currency, m.receipt, m.amount) AS id,
    m.currency,
    m.business_day::DATE AS day,
    m.at::DATE AS bank_day,
    m.receipt AS payout,
    -m.amount AS amount
FROM movements AS m
WHERE m.leg = 'shown';

-- The payouts of the operator's statements, and the settlement statement's batches, or its days where
-- a line has no batch.
CREATE TEMP TABLE payouts AS
WITH of_operator AS (
    SELECT DISTINCT
        m.channel, m.currency, m.business_day::DATE AS day, m.receipt, m.reference, m.amount,
        m.at,
        CASE WHEN m.receipt IS NULL THEN 'line ' || m.line_no || ' of ' || m.input END AS line,
        a.currency IS NOT NULL AS is_perhaps
    FROM movements AS m
    LEFT JOIN perhaps AS a
        ON a.currency = m.currency AND coalesce(a.channel, '') = coalesce(m.channel, '')
    WHERE m.leg = 'operator' AND m.kind = 'payout' AND m.status = 'completed'
),

of_batches AS (
    SELECT
        s.channel,
        s.currency,
        -- Lines of collections may say no day.
        coalesce(max(s.business_day)::DATE, {last_day}) AS day,
        s.batch_id,
        sum(s.net)::BIGINT AS amount,
        bool_or(s.is_late) AS is_late
    FROM (
        SELECT channel, currency, business_day, batch_id, net, FALSE AS is_late FROM statement
        UNION ALL
        SELECT channel, currency, business_day, batch_id, net, TRUE AS is_late FROM late
    ) AS s
    GROUP BY
        s.channel,
        s.currency,
        s.batch_id,
        CASE WHEN s.batch_id IS NULL THEN s.business_day END
),

listed AS (
    SELECT
        'operator' AS source, channel, currency, day, coalesce(receipt, line) AS payout,
        receipt AS key, reference AS second_key, -amount AS amount,
        FALSE AS is_late, is_perhaps
    FROM of_operator
    UNION ALL
    SELECT
        'statement' AS source, channel, currency, day,
        coalesce(batch_id, concat_ws(' ', channel, day::VARCHAR)) AS payout, batch_id AS key,
        NULL AS second_key, amount, is_late, FALSE AS is_perhaps
    FROM of_batches
),

-- A file may say once more what the bank has shown before the lines that are given now.
gone AS (
    SELECT b.*
    FROM shown_before AS b
    CROSS JOIN (SELECT coalesce(min(day), {first_day}) AS day FROM moves) AS begins
    WHERE b.bank_day < begins.day
)

SELECT
    row_number() OVER (ORDER BY source, day, channel, currency, payout, amount) AS id,
    listed.*
FROM listed
ANTI JOIN gone AS g
    ON g.currency = listed.currency
    AND g.payout = listed.payout
    AND g.day = listed.day
    AND g.amount = listed.amount;

CREATE TEMP TABLE shown AS
SELECT b.* FROM shown_before AS b
ANTI JOIN payouts AS p ON p.currency = b.currency AND p.payout = b.payout;
