-- What its neighbours say of a row that stayed alone.
CREATE TEMP TABLE alone_books AS
SELECT b.* FROM few_books AS b INNER JOIN pairs ON pairs.row_no = b.row_no WHERE pairs.id IS NULL;

CREATE TEMP TABLE alone_service AS
SELECT s.* FROM few_service AS s INNER JOIN pairs ON pairs.id = s.id WHERE pairs.row_no IS NULL;

-- A line left over is a duplicate when its twin met a collection, or names the same one.
CREATE TEMP TABLE twins AS
SELECT l.row_no
FROM alone_books AS l
INNER JOIN few_books AS b
    ON b.reference = l.reference AND b.currency = l.currency AND b.amount = l.amount
INNER JOIN pairs AS p ON p.row_no = b.row_no AND p.id IS NOT NULL
WHERE l.booked
UNION
SELECT row_no FROM alone_books WHERE booked AND named_id IS NOT NULL;

-- A success left over is a second payment when another one of its reference was met or came first.
CREATE TEMP TABLE seconds AS
SELECT DISTINCT l.id
FROM alone_service AS l
INNER JOIN few_service AS s ON s.reference = l.reference AND s.id <> l.id
INNER JOIN pairs AS p ON p.id = s.id
WHERE l.paid
    AND s.paid
    AND (
        p.row_no IS NOT NULL
        OR s.created_at < l.created_at
        OR (s.created_at = l.created_at AND s.id < l.id)
    );

-- Lines whose key exists in the other mode, and not in this one.
CREATE TEMP TABLE there AS
SELECT l.row_no, l.reference
FROM alone_books AS l
INNER JOIN other_mode AS o ON o.reference = l.reference
UNION
SELECT l.row_no, l.reference
FROM alone_books AS l
INNER JOIN other_mode AS o ON o.id = l.collection_id;

CREATE TEMP TABLE here_too AS
SELECT s.reference FROM service AS s SEMI JOIN there AS t ON t.reference = s.reference;

CREATE TEMP TABLE of_other_mode AS
SELECT there.row_no
FROM there
ANTI JOIN here_too AS h ON h.reference = there.reference;

CREATE TEMP TABLE unanswered AS
SELECT DISTINCT l.row_no
FROM alone_books AS l
INNER JOIN intents AS i ON i.reference = l.reference;
