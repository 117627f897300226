-- What succeeded on a day of a closed period, and was no success when it was closed.
SELECT n.id, n.reference
FROM now AS n
SEMI JOIN late AS l ON l.key = n.id
LEFT JOIN before AS b ON b.id = n.id
WHERE n.status IN {paid} AND coalesce(b.status NOT IN {paid}, TRUE)
ORDER BY n.id
