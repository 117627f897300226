"""Care of a store: opening, checking, rebuilding, exporting."""
