"""What lies below Python: which SQLite there is, what a fork does, sockets with a deadline."""
