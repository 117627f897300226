"""The Lookup screen: one payment, found by what the customer knows."""
