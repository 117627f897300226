"""The store as an input: its collections, its facts and its own totals."""
