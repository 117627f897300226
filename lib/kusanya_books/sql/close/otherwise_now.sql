-- The lines of the books that agreed with what succeeded when the period was closed, and would not agree
-- with what is known of it now: as one line for each payment, however it was booked. An order of which
-- lines or items are carried is judged by those.
SELECT
    (SELECT coalesce(min(row_no), 0) FROM lines) - row_number() OVER (ORDER BY b.id) AS row_no,
    b.reference,
    b.id AS collection_id,
    b.amount - CASE WHEN {net_basis} THEN coalesce(b.fee, 0) ELSE 0 END AS amount,
    NULL::BIGINT AS fee,
    b.currency,
    b.channel,
    'paid' AS status,
    b.at AS booked_at,
    b.business_day AS booked_day,
    'payment' AS kind
FROM changed AS b
SEMI JOIN compared AS c
    ON c.leg = 'books' AND b.business_day BETWEEN c.first_day AND c.last_day
WHERE
    (b.has_other_sum OR b.has_two_answers OR ({net_basis} AND b.has_other_fee))
    AND NOT EXISTS (
        SELECT 1
        FROM lines AS k
        WHERE
            k.collection_id = b.id
            OR lower(trim(k.reference)) = lower(trim(b.reference))
    )
    AND NOT EXISTS (
        SELECT 1
        FROM items AS i
        WHERE i.leg = 'books' AND i.collection_id = b.id
    )
ORDER BY b.id
