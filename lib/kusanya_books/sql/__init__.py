"""The queries, one per file, in a folder for each leg; the engine reads them by folder and name."""
