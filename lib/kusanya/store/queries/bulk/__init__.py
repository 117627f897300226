"""Reading the store in bulk, as Arrow columns: for reconciliation, which looks at whole months."""
