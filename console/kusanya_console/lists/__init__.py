"""Lists of rows: their definition, filter, pages, refresh and export."""
