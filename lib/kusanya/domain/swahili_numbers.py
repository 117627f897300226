"""Numbers in Swahili words, as clocks and amounts are said."""

from typing import Final

ONES: Final = ("moja", "mbili", "tatu", "nne", "tano", "sita", "saba", "nane", "tisa")
"""1 to 9."""
TENS: Final = (
    *("kumi", "ishirini", "thelathini", "arobaini", "hamsini"),
    *("sitini", "sabini", "themanini", "tisini"),
)
"""10 to 90."""
