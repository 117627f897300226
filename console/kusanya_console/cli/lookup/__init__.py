"""`kusanya find`, `show`, `audit`, `verify`: the command, what it prints, and its JSON."""
