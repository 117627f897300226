"""How records are written and painted: formats, vocabulary, columns, theme, terminal."""
