"""The one table that a shop needs."""
