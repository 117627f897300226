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
"""

from datetime import date
from fractions import Fraction
from pathlib import Path
from typing import Any

import msgspec
import pandas as pd

from kusanya.errors import InputRefused
from kusanya.reconcile.frames import columns
from kusanya.reconcile.frames.columns import TARIFF
from kusanya.reconcile.frames.prices import ROUNDINGS
from kusanya.reconcile.inputs.mapping import read_toml
from kusanya.wire import Mode


class DeclaredBand(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One fee up to an amount, included; the last band has no end."""

    fee: int
    upto: int | None = None


class Price(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One channel's price over some days: a rate, a fee, or bands of fees."""

    channel: str
    currency: str
    mode: Mode | None = None
    """Both modes where None."""
    from_: date | None = msgspec.field(default=None, name="from")
    to: date | None = None
    basis_points: str | None = None
    rounding: str = "half_up"
    floor: int | None = None
    cap: int | None = None
    fee: int | None = None
    bands: tuple[DeclaredBand, ...] = ()

    def __post_init__(self) -> None:
        if (self.basis_points is not None) + (self.fee is not None) + bool(self.bands) != 1:
            raise ValueError("a price is one of basis_points, fee and bands")
        if self.rounding not in ROUNDINGS:
            raise ValueError(f"rounding is one of {', '.join(ROUNDINGS)}")
        if self.from_ is not None and self.to is not None and self.to < self.from_:
            raise ValueError("a price ends before it begins")
        ends = [band.upto for band in self.bands[:-1]]
        if any(end is None for end in ends) or (self.bands and self.bands[-1].upto is not None):
            raise ValueError("every band but the last has an upto")
        known = [end for end in ends if end is not None]
        if known != sorted(set(known)):
            raise ValueError("bands rise")


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
    bounds: list[dict[str, Any]]
    if price.basis_points is not None:
        rate = Fraction(price.basis_points) / 10_000
        bounds = [
            {
                "rate_num": rate.numerator,
                "rate_den": rate.denominator,
                "rounding": price.rounding,
                "floor": price.floor,
                "cap": price.cap,
            }
        ]
    elif price.fee is not None:
        bounds = [{"fee": price.fee}]
    else:
        lows = [None, *(band.upto + 1 for band in price.bands if band.upto is not None)]
        bounds = [
            {"fee": band.fee, "low": low, "high": band.upto}
            for band, low in zip(price.bands, lows, strict=True)
        ]
    return [
        {
            "mode": mode.value,
            "currency": price.currency,
            "channel": price.channel,
            "first_day": None if price.from_ is None else pd.Timestamp(price.from_),
            "last_day": None if price.to is None else pd.Timestamp(price.to),
            **bound,
        }
        for mode in modes
        for bound in bounds
    ]


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
