"""`kusanya talk`: the console as lines, for screen readers, braille, slow lines and logs."""
