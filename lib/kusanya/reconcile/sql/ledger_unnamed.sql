-- No line names a collection: nothing is looked up by id.
CREATE TEMP TABLE named (row_no BIGINT, id VARCHAR, place BIGINT);

CREATE TEMP VIEW rest_books AS SELECT * FROM few_books;

CREATE TEMP VIEW rest_service AS SELECT * FROM few_service;
