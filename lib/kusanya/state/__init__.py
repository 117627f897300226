"""State: facts about a collection, and what follows from them."""
