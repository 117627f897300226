"""What is read in: the store, ledgers, statements, tariffs, the sample month."""
