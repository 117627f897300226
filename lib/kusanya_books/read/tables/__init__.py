"""Tables of other programs: rows of text first, then columns by our names, each cell read."""
