"""Collections in lists and by what people know of them, and the search of their texts."""
