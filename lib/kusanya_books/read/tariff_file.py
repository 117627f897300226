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

from pathlib import Path
from typing import Any

import pandas as pd

from kusanya.domain.prices import DeclaredBand, Price, PriceList
from kusanya.errors import InputRefused
from kusanya.wire import Mode
from kusanya_books import columns
from kusanya_books.columns import TARIFF
from kusanya_books.read.toml_file import fitted, read_toml


def read(path: Path) -> pd.DataFrame:
    """Return a declared tariff as a frame. Raises InputRefused, also where two prices overlap."""
    try:
        prices = fitted(read_toml(path), PriceList, f"the tariff {path.name}").price
        rows = [row for price in prices for row in _rows(price)]
    except (ValueError, ZeroDivisionError) as error:
        raise InputRefused(f"the tariff {path.name} cannot be used: {error}") from None
    return columns.frame(TARIFF, pd.DataFrame(rows, columns=list(TARIFF.columns), dtype="object"))


def _rows(price: Price) -> list[dict[str, Any]]:
    modes = [price.mode] if price.mode else [mode.value for mode in Mode]
    lows = [None, *(run.upto + 1 for run in price.runs if run.upto is not None)]
    bounds = [
        {"low": low, "high": run.upto, **_asked(run, price.rounding)}
        for run, low in zip(price.runs, lows, strict=True)
    ]
    return [
        {
            "mode": mode,
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


def _asked(run: DeclaredBand, rounding: str) -> dict[str, Any]:
    if run.rate is None:
        return {"fee": run.fee}
    return {
        "rate_num": run.rate.numerator,
        "rate_den": run.rate.denominator,
        "plus": run.plus or None,
        "rounding": rounding,
        "floor": run.floor,
        "cap": run.cap,
    }
