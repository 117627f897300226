-- The loaded days, and what was looked up beyond them.
CREATE TEMP VIEW collections AS
SELECT * FROM loaded UNION ALL SELECT * FROM outside
