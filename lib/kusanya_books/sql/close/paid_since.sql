-- What succeeded on a day of a closed period, and was no success when it was closed: of each leg that was
-- compared of that day.
SELECT DISTINCT c.leg, n.id, n.reference
FROM now AS n
SEMI JOIN late AS l ON l.key = n.id
LEFT JOIN before AS b ON b.id = n.id
INNER JOIN compared AS c
    ON n.business_day BETWEEN c.first_day AND c.last_day
    AND (c.leg = 'books' OR c.channel = n.channel)
WHERE n.status IN {paid} AND coalesce(b.status NOT IN {paid}, TRUE)
ORDER BY n.id, c.leg
