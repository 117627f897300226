"""Prices: what was agreed, and what a price asks of an amount.

A price is a share of the amount, a fee, or one of them for every run of amounts. All arithmetic is
of whole numbers; a fee is never above its amount. Assumption FEE.
"""

from collections.abc import Iterable
from datetime import date
from fractions import Fraction
from typing import Final, Literal

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


_WHOLE: Final = 10_000
"""Basis points of one."""
_WITH_RATE: Final = "plus, floor and cap go with basis_points"


class DeclaredBand(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One fee, or one rate, up to an amount, included; the last band has no end."""

    fee: int | None = None
    basis_points: str | None = None
    plus: int = 0
    floor: int | None = None
    cap: int | None = None
    upto: int | None = None

    def __post_init__(self) -> None:
        if (self.fee is None) == (self.basis_points is None):
            raise ValueError("a band has either a fee or basis_points")
        for name in ("fee", "plus", "floor", "cap"):
            if (getattr(self, name) or 0) < 0:
                raise ValueError(f"{name} is not negative")
        if self.rate is None and (self.plus or self.floor is not None or self.cap is not None):
            raise ValueError(_WITH_RATE)
        if self.floor is not None and self.cap is not None and self.cap < self.floor:
            raise ValueError("cap is not below floor")
        if self.rate is not None and self.rate < 0:
            raise ValueError("basis_points is not negative")

    @property
    def rate(self) -> Fraction | None:
        """Return the share of the amount that it asks; None where it has a fee."""
        return None if self.basis_points is None else Fraction(self.basis_points) / _WHOLE

    def bare_fee(self, amount: int, rounding: str) -> int:
        """Return what it asks before taxes."""
        if self.rate is None:
            return self.fee or 0
        share = rounded(amount * self.rate.numerator, self.rate.denominator, rounding)
        asked = self.plus + share
        return max(self.floor or 0, asked if self.cap is None else min(self.cap, asked))


class Price(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One channel's price over some days: a rate, a fee, or bands of fees or rates."""

    channel: str
    currency: str
    mode: Literal["live", "test"] | None = None
    """Both modes where None."""
    from_: date | None = msgspec.field(default=None, name="from")
    to: date | None = None
    basis_points: str | None = None
    plus: int = 0
    rounding: str = "half_up"
    floor: int | None = None
    cap: int | None = None
    fee: int | None = None
    bands: tuple[DeclaredBand, ...] = ()
    vat: int = 0
    """Basis points of the fee with its excise."""
    excise: int = 0
    """Basis points of the fee without taxes."""
    taxes: str | None = None
    """Whether the fee that is named holds the taxes already: inside, or on_top."""

    def __post_init__(self) -> None:
        if (self.basis_points is not None) + (self.fee is not None) + bool(self.bands) != 1:
            raise ValueError("a price is one of basis_points, fee and bands")
        if self.bands and (self.plus or self.floor is not None or self.cap is not None):
            raise ValueError(_WITH_RATE)
        if self.rounding not in ROUNDINGS:
            raise ValueError(f"rounding is one of {', '.join(ROUNDINGS)}")
        if self.from_ is not None and self.to is not None and self.to < self.from_:
            raise ValueError("a price ends before it begins")
        self._refuse_taxes()
        self._refuse_ends()
        _ = self.runs  # a price without bands is held to what a band is held to

    @property
    def runs(self) -> tuple[DeclaredBand, ...]:
        """Return what it asks for every run of amounts, from the smallest on."""
        return self.bands or (
            DeclaredBand(
                fee=self.fee,
                basis_points=self.basis_points,
                plus=self.plus,
                floor=self.floor,
                cap=self.cap,
            ),
        )

    def meets(self, other: "Price") -> bool:
        """Return whether a collection can have both this price and the other one."""
        same = (self.currency, self.channel) == (other.currency, other.channel)
        modes = self.mode is None or other.mode is None or self.mode == other.mode
        return same and modes and _begins_by(self, other) and _begins_by(other, self)

    def holds(self, *, mode: str, currency: str, channel: str, day: date) -> bool:
        """Return whether it is the price of a collection that was created on `day`."""
        return (
            (self.currency, self.channel) == (currency, channel)
            and self.mode in {None, mode}
            and (self.from_ is None or self.from_ <= day)
            and (self.to is None or day <= self.to)
        )

    def fee_on(self, amount: int) -> int:
        """Return the fee on an amount with what taxes come on top, never above the amount."""
        run = next(one for one in self.runs if one.upto is None or amount <= one.upto)
        fee = run.bare_fee(amount, self.rounding)
        if self.taxes == "on_top":
            for tax in (self.excise, self.vat):
                fee += rounded(fee * tax, _WHOLE, "half_up")
        return min(amount, fee)

    def _refuse_taxes(self) -> None:
        if not all(0 <= tax <= _WHOLE for tax in (self.vat, self.excise)):
            raise ValueError("vat and excise are basis points from 0 to 10000")
        if (self.taxes is not None) != bool(self.vat or self.excise):
            raise ValueError('vat or excise goes with taxes = "inside" or "on_top"')
        if self.taxes not in {None, "inside", "on_top"}:
            raise ValueError('taxes is "inside" or "on_top"')

    def _refuse_ends(self) -> None:
        ends = [band.upto for band in self.bands[:-1]]
        if any(end is None for end in ends) or (self.bands and self.bands[-1].upto is not None):
            raise ValueError("every band but the last has an upto")
        known = [end for end in ends if end is not None]
        if known != sorted(set(known)):
            raise ValueError("bands rise")
        if known and known[0] <= 0:
            raise ValueError("an upto is above 0")


def _begins_by(one: Price, other: Price) -> bool:
    return one.from_ is None or other.to is None or one.from_ <= other.to


class PriceList(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What was agreed, price by price; no collection has two of them."""

    price: tuple[Price, ...]

    def __post_init__(self) -> None:
        # Two rules for one collection would count it twice.
        for place, price in enumerate(self.price):
            if any(price.meets(other) for other in self.price[:place]):
                raise ValueError("two prices for one collection")

    def fee(self, amount: int, *, mode: str, currency: str, channel: str, day: date) -> int | None:
        """Return the fee of a collection created on `day` (East Africa Time); None without a price.

        Amount and fee are in whole units of the currency. The queries of reconciliation ask for the
        same; a test compares the two.
        """
        for price in self.price:
            if price.holds(mode=mode, currency=currency, channel=channel, day=day):
                return price.fee_on(amount)
        return None
