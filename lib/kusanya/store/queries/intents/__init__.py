"""Intents: safe creations as the store keeps them, their attempts, and what may be sent."""
