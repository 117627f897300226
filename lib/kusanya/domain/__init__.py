"""The tables of the field: each status, code, channel, column and number declared once."""
