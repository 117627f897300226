"""One module per screen; each answers one question of the person who opens it."""
