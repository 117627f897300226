"""The Live screen: collections as they happen."""
