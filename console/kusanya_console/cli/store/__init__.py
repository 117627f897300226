"""`kusanya store`: care of the store that everything else reads."""
