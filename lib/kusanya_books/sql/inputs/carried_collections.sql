-- The collections that carried items and lines name, of whatever day.
WITH known AS (
    SELECT * FROM loaded
    UNION ALL
    SELECT * FROM outside
)

SELECT k.*
FROM known AS k
WHERE k.id IN (SELECT keys.id FROM keys WHERE keys.id IS NOT NULL)
    OR k.reference IN (SELECT keys.reference FROM keys WHERE keys.reference IS NOT NULL)
ORDER BY k.created_at, k.id
