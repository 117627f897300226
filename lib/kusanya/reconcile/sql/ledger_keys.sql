SELECT key FROM books WHERE reference IS NOT NULL
