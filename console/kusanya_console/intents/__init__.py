"""The Intents screen: creations that were sent and what became of them."""
