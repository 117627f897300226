"""The columns, dtypes and days of every frame."""
