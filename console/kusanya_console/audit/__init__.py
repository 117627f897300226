"""The Audit screen: who did what, when, to which collection."""
