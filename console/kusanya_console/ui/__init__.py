"""How things are written and painted: formats, vocabulary, theme, terminal."""
