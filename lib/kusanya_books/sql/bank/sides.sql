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

-- The payouts of the operator's statements; of a channel without any, the settlement statement's
-- batches, or its days where a line has no batch.
CREATE TEMP TABLE payouts AS
WITH of_operator AS (
    SELECT DISTINCT
        m.channel, m.currency, m.business_day::DATE AS day, m.receipt, m.reference, m.amount,
        m.at,
        CASE WHEN m.receipt IS NULL THEN 'line ' || m.line_no || ' of ' || m.input END AS line
    FROM movements AS m
    WHERE m.leg = 'operator' AND m.kind = 'payout' AND m.status = 'completed'
),

of_batches AS (
    SELECT
        s.channel,
        s.currency,
        -- Lines of collections may say no day.
        coalesce(max(s.business_day)::DATE, {last_day}) AS day,
        s.batch_id,
        sum(s.net)::BIGINT AS amount
    FROM statement AS s
    WHERE NOT EXISTS (
        SELECT 1
        FROM of_operator AS o
        WHERE coalesce(o.channel, '') = coalesce(s.channel, '')
            AND o.currency = s.currency
            -- Who pays a channel out may change from one period to the next.
            AND (o.day < {first_day}) = (coalesce(s.business_day::DATE, {last_day}) < {first_day})
    )
    GROUP BY
        s.channel,
        s.currency,
        s.batch_id,
        CASE WHEN s.batch_id IS NULL THEN s.business_day END
),

listed AS (
    SELECT
        'operator' AS source, channel, currency, day, coalesce(receipt, line) AS payout,
        receipt AS key, reference AS second_key, -amount AS amount
    FROM of_operator
    UNION ALL
    SELECT
        'statement' AS source, channel, currency, day,
        coalesce(batch_id, concat_ws(' ', channel, day::VARCHAR)) AS payout, batch_id AS key,
        NULL AS second_key, amount
    FROM of_batches
)

SELECT
    row_number() OVER (ORDER BY source, day, channel, currency, payout, amount) AS id,
    listed.*
FROM listed;
