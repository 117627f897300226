-- The receipts that the statements gave, each with its collection.
SELECT p.id AS collection_id, m.receipt, m.channel, m.input, m.line_no
FROM pairs AS p
INNER JOIN moves AS m ON m.move = p.move
WHERE m.receipt IS NOT NULL
ORDER BY m.input, m.line_no, p.id
