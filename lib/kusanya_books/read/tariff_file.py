"""A declared tariff: what was agreed, in TOML; it wins over what is inferred.

[[price]]
channel = "MPESA_TZ"
currency = "TZS"
from = 2026-03-01            # both ends optional, days of creation, East Africa Time
basis_points = "180"         # text, so that "12.5" is exact
rounding = "up"              # or "half_up", "down"
floor = 9
cap = 5000

[[price]]
channel = "AIRTEL_TZ"
currency = "TZS"
bands = [{ upto = 10000, fee = 100 }, { fee = 300 }]

[[price]]
channel = "TIGO_TZ"
currency = "TZS"
bands = [                    # tiers: the whole amount at the rate of its tier
  { upto = 100000, basis_points = "150", plus = 50 },
  { basis_points = "120", plus = 50, cap = 9000 },
]
vat = 1800                   # basis points
excise = 1000
taxes = "inside"             # the fee holds both taxes; or "on_top": they are added to it

A rate may have a fixed sum beside it, `plus`; floor and cap bound both together. VAT is on the fee
with its excise.
"""

from datetime import date
from fractions import Fraction
from pathlib import Path
from typing import Any, Final

import msgspec
import pandas as pd

from kusanya.errors import InputRefused
from kusanya.wire import Mode
from kusanya_books import columns
from kusanya_books.columns import TARIFF
from kusanya_books.read.mapping import read_toml
from kusanya_books.request.prices import ROUNDINGS

_WHOLE: Final = 10_000
"""Basis points of one."""


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
        _refuse_amounts(self, rate=self.basis_points is not None)


class Price(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One channel's price over some days: a rate, a fee, or bands of fees or rates."""

    channel: str
    currency: str
    mode: Mode | None = None
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
        _refuse_amounts(self, rate=self.basis_points is not None)
        if self.rounding not in ROUNDINGS:
            raise ValueError(f"rounding is one of {', '.join(ROUNDINGS)}")
        if self.from_ is not None and self.to is not None and self.to < self.from_:
            raise ValueError("a price ends before it begins")
        self._refuse_taxes()
        self._refuse_ends()

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


def _refuse_amounts(price: DeclaredBand | Price, *, rate: bool) -> None:
    for name in ("fee", "plus", "floor", "cap"):
        if (getattr(price, name) or 0) < 0:
            raise ValueError(f"{name} is not negative")
    if not rate and (price.plus or price.floor is not None or price.cap is not None):
        raise ValueError("plus, floor and cap go with basis_points")
    if price.floor is not None and price.cap is not None and price.cap < price.floor:
        raise ValueError("cap is not below floor")
    if price.basis_points is not None and Fraction(price.basis_points) < 0:
        raise ValueError("basis_points is not negative")


class _Tariff(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    price: tuple[Price, ...]


def read(path: Path) -> pd.DataFrame:
    """Return a declared tariff as a frame. Raises InputRefused, also where two prices overlap."""
    try:
        prices = msgspec.convert(read_toml(path), _Tariff).price
        rows = [row for price in prices for row in _rows(price)]
    except (msgspec.ValidationError, ValueError, ZeroDivisionError) as error:
        raise InputRefused(f"the tariff {path.name} cannot be used: {error}") from None
    _refuse_overlaps(path, rows)
    return columns.frame(TARIFF, pd.DataFrame(rows, columns=list(TARIFF.columns), dtype="object"))


def _rows(price: Price) -> list[dict[str, Any]]:
    modes = [price.mode] if price.mode else list(Mode)
    bands: tuple[DeclaredBand | Price, ...] = price.bands or (price,)
    lows = [None, *(band.upto + 1 for band in price.bands if band.upto is not None)]
    highs = [band.upto for band in price.bands] or [None]
    bounds = [
        {"low": low, "high": high, **_asked(band, price)}
        for band, low, high in zip(bands, lows, highs, strict=True)
    ]
    return [
        {
            "mode": mode.value,
            "currency": price.currency,
            "channel": price.channel,
            "first_day": None if price.from_ is None else pd.Timestamp(price.from_),
            "last_day": None if price.to is None else pd.Timestamp(price.to),
            "excise_bps": price.excise or None,
            "vat_bps": price.vat or None,
            "taxes_on_top": price.taxes == "on_top",
            **bound,
        }
        for mode in modes
        for bound in bounds
    ]


def _asked(band: DeclaredBand | Price, price: Price) -> dict[str, Any]:
    if band.basis_points is None:
        return {"fee": band.fee}
    rate = Fraction(band.basis_points) / _WHOLE
    return {
        "rate_num": rate.numerator,
        "rate_den": rate.denominator,
        "plus": band.plus or None,
        "rounding": price.rounding,
        "floor": band.floor,
        "cap": band.cap,
    }


def _refuse_overlaps(path: Path, rows: list[dict[str, Any]]) -> None:
    # Two rules for one collection would count it twice.
    def clash(one: dict[str, Any], other: dict[str, Any]) -> bool:
        same = all(one[name] == other[name] for name in ("mode", "currency", "channel"))
        return (
            same and _meet(one, other, "first_day", "last_day") and _meet(one, other, "low", "high")
        )

    for place, row in enumerate(rows):
        if any(clash(row, other) for other in rows[:place]):
            raise InputRefused(f"the tariff {path.name} has two prices for one collection")


def _meet(one: dict[str, Any], other: dict[str, Any], first: str, last: str) -> bool:
    begins = [row.get(first) for row in (one, other)]
    ends = [row.get(last) for row in (other, one)]
    return all(
        begin is None or end is None or begin <= end
        for begin, end in zip(begins, ends, strict=True)
    )
