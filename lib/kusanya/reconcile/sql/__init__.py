"""The queries, one per file; the engine reads them by name."""
