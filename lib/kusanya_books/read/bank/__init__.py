"""Statements in the formats of banks: camt.053, MT940 and OFX."""
