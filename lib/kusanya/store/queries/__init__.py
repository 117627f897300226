"""What the store is asked, by subject."""
