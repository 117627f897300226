-- The earliest day of what a closed period says otherwise now, or said.
SELECT min(coalesce(s.business_day, s.created_day)) AS day
FROM (
    SELECT id, business_day, created_day FROM before
    UNION ALL
    SELECT id, business_day, created_day FROM now
) AS s
SEMI JOIN late AS l ON l.key = s.id
