"""What differs between machines: which SQLite there is, and what a fork does."""
