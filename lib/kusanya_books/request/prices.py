"""What a price asks: a share of the amount, or a fee for every run of amounts.

All arithmetic is of whole numbers; a fee is never above its amount. Assumption FEE.
"""

from collections.abc import Iterable
from fractions import Fraction
from typing import Final

import msgspec

Point = tuple[int, int, int]
"""An amount, the fee on it, and how many rows have both."""

ROUNDINGS: Final = ("half_up", "up", "down")


class Rate(msgspec.Struct, frozen=True, kw_only=True):
    """A share of the amount, rounded to whole units, between a floor and a cap."""

    rate: Fraction
    low: Fraction
    """The rows allow rates from here,"""
    high: Fraction
    """up to here."""
    rounding: str
    floor: int | None = None
    cap: int | None = None

    @property
    def parameters(self) -> int:
        """Return how many numbers the model has."""
        return 1 + (self.floor is not None) + (self.cap is not None)

    def fee(self, amount: int) -> int:
        """Return the fee on an amount, never above it."""
        fee = rounded(amount * self.rate.numerator, self.rate.denominator, self.rounding)
        if self.floor is not None:
            fee = max(fee, self.floor)
        if self.cap is not None:
            fee = min(fee, self.cap)
        return min(fee, amount)

    def explained(self, points: Iterable[Point]) -> int:
        """Return how many rows have exactly the fee that `fee` asks for."""
        # The same sum as in `fee`, written out: a month asks it of a million amounts.
        times, more, by = _division(self.rate, self.rounding)
        least, most = self.floor, self.cap
        rows = 0
        for amount, fee, n in points:
            asked = (amount * times + more) // by
            if least is not None and asked < least:
                asked = least
            if most is not None and asked > most:
                asked = most
            if fee == (asked if asked < amount else amount):  # noqa: FURB136 - min() is the cost
                rows += n
        return rows


class Band(msgspec.Struct, frozen=True, kw_only=True):
    """One fee for a run of amounts; its edges are known as between two amounts that were seen."""

    fee: int
    first: int
    """The smallest amount seen with this fee,"""
    last: int
    """and the largest."""


class Bands(msgspec.Struct, frozen=True):
    """A fee for every run of amounts; one band is a flat fee."""

    bands: tuple[Band, ...]

    @property
    def parameters(self) -> int:
        """Return how many numbers the model has: fees and the edges between them."""
        return 2 * len(self.bands) - 1

    def fee(self, amount: int) -> int:
        """Return the fee on an amount, never above it."""
        fee = self.bands[0].fee
        for band in self.bands:
            if amount >= band.first:
                fee = band.fee
        return min(fee, amount)

    def explained(self, points: Iterable[Point]) -> int:
        """Return how many rows have exactly the fee that `fee` asks for."""
        return sum(n for amount, fee, n in points if self.fee(amount) == fee)


Model = Rate | Bands


def rounded(share: int, of: int, rounding: str) -> int:
    """Return share / of in whole units, rounded half_up, up or down."""
    if rounding == "up":
        return -(-share // of)
    return (2 * share + of) // (2 * of) if rounding == "half_up" else share // of


def _division(rate: Fraction, rounding: str) -> tuple[int, int, int]:
    """Return what to multiply by, add, and divide by, to get what `rounded` gives."""
    over, of = rate.numerator, rate.denominator
    if rounding == "half_up":
        return 2 * over, of, 2 * of
    return over, of - 1 if rounding == "up" else 0, of
