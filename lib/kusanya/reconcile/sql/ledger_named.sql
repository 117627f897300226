-- Lines that name a collection of ours by its id: the first line of an id meets it, the others stay
-- alone. Only ids that are named twice are ranked.
CREATE TEMP TABLE named AS
WITH known AS (
    SELECT n.row_no, n.collection_id AS id, n.rank, n.booked_at
    FROM few_books AS n
    SEMI JOIN few_service AS s ON s.id = n.collection_id
),

repeated_names AS (SELECT id FROM known GROUP BY id HAVING count(*) > 1)

SELECT row_no, id, 1 AS place
FROM known
WHERE id NOT IN (SELECT id FROM repeated_names)
UNION ALL
SELECT row_no, id, row_number() OVER (PARTITION BY id ORDER BY rank, booked_at, row_no) AS place
FROM known
WHERE id IN (SELECT id FROM repeated_names);

CREATE TEMP VIEW rest_books AS
SELECT b.* FROM few_books AS b ANTI JOIN named ON named.row_no = b.row_no;

CREATE TEMP VIEW rest_service AS
SELECT s.* FROM few_service AS s ANTI JOIN named ON named.id = s.id;
