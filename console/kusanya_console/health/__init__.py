"""The Health screen: is anything wrong, and what to do about it."""
