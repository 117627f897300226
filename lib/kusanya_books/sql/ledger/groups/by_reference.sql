-- Several lines for one payment and one line for several payments, by the references that they name.
-- Only exact sums count, here and by day.

-- All that is left of one reference: several lines and one payment, or one line and several.
CREATE TEMP TABLE reference_sums AS
WITH lines AS (
    SELECT
        spelling, currency, count(*) AS lines, sum(amount)::BIGINT AS amount,
        CASE WHEN count(fee) = count(*) THEN sum(fee)::BIGINT END AS fee, min(row_no) AS row_no
    FROM left_lines
    WHERE spelling IS NOT NULL
    GROUP BY spelling, currency
),

payments AS (
    SELECT
        spelling, currency, count(*) AS payments, sum(due)::BIGINT AS due,
        sum(fee)::BIGINT AS fee, min(id) AS id
    FROM left_payments
    GROUP BY spelling, currency
)

SELECT
    l.spelling,
    l.currency,
    l.lines,
    p.payments,
    l.amount - p.due AS drift,
    l.fee - p.fee AS fee_drift,
    CASE
        WHEN p.payments = 1 THEN p.id
        WHEN l.lines = 1 THEN 'row ' || l.row_no
    END AS group_key
FROM lines AS l
INNER JOIN payments AS p ON p.spelling = l.spelling AND p.currency = l.currency;

CREATE TEMP TABLE by_own_reference AS
SELECT
    r.spelling,
    r.currency,
    r.group_key,
    CASE WHEN r.payments = 1 THEN 'split_booking' ELSE 'booked_together' END AS form
FROM reference_sums AS r
WHERE (r.lines = 1) <> (r.payments = 1)
    AND r.group_key IS NOT NULL
    AND abs(r.drift) <= {amount_tolerance}
    AND coalesce(abs(r.fee_drift) <= {fee_tolerance}, TRUE);

-- A line that lists references, parted by commas and the like, else by slashes and spaces, else by
-- all of them; each must have something left over.
CREATE TEMP TABLE listed_groups AS
WITH lines AS (
    SELECT l.*
    FROM left_lines AS l
    ANTI JOIN by_own_reference AS o ON o.spelling = l.spelling AND o.currency = l.currency
    WHERE l.is_alone AND regexp_matches(trim(l.reference), '[,;/ +]')
),

parts AS (
    SELECT row_no, 1 AS way, unnest(string_split_regex(lower(reference), '[,;+]+')) AS part
    FROM lines
    UNION ALL
    SELECT row_no, 2 AS way, unnest(string_split_regex(lower(reference), '[/ ]+')) AS part
    FROM lines
    UNION ALL
    SELECT row_no, 3 AS way, unnest(string_split_regex(lower(reference), '[,;/ +]+')) AS part
    FROM lines
),

named AS (
    SELECT DISTINCT row_no, way, trim(part) AS spelling FROM parts WHERE trim(part) <> ''
),

open_payments AS (
    SELECT p.*
    FROM left_payments AS p
    ANTI JOIN by_own_reference AS o ON o.spelling = p.spelling AND o.currency = p.currency
    WHERE p.is_alone
),

sums AS (
    SELECT
        spelling, currency, sum(due)::BIGINT AS due, sum(fee)::BIGINT AS fee
    FROM open_payments
    GROUP BY spelling, currency
),

fits AS (
    SELECT n.row_no, n.way
    FROM named AS n
    INNER JOIN lines AS l ON l.row_no = n.row_no
    LEFT JOIN sums AS s ON s.spelling = n.spelling AND s.currency = l.currency
    GROUP BY n.row_no, n.way
    HAVING count(*) > 1
        AND count(s.due) = count(*)
        AND abs(sum(s.due) - min(l.amount)) <= {amount_tolerance}
        AND coalesce(abs(sum(s.fee) - min(l.fee)) <= {fee_tolerance}, TRUE)
),

best AS (
    SELECT row_no, min(way) AS way FROM fits GROUP BY row_no
),

claims AS (
    SELECT
        n.row_no,
        n.spelling,
        l.currency,
        row_number() OVER (
            PARTITION BY n.spelling, l.currency ORDER BY l.booked_at, l.row_no
        ) AS place
    FROM best AS b
    INNER JOIN named AS n ON n.row_no = b.row_no AND n.way = b.way
    INNER JOIN lines AS l ON l.row_no = b.row_no
),

-- A reference that an earlier line took is not free any more.
late AS (
    SELECT DISTINCT row_no FROM claims WHERE place > 1
)

SELECT c.row_no, p.id
FROM claims AS c
ANTI JOIN late ON late.row_no = c.row_no
INNER JOIN open_payments AS p ON p.spelling = c.spelling AND p.currency = c.currency;
