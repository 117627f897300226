"""The entries of a close for accounting programs, and what the books have of them already."""
