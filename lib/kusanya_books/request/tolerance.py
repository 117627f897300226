"""What the two sides may differ by before it counts: integers, never percentages."""

from datetime import date
from typing import Final

import msgspec
import pandas as pd

from kusanya_books import columns
from kusanya_books.columns import DType, Schema
from kusanya_books.request.days import Period


class Tolerance(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How far the two sides may differ, in whole units of the currency, days and minutes."""

    amount: int = 0
    fee: int = 0
    grace_days: int = 1
    """How many days a booking or a payment may still be on its way."""
    widen_days: int = 7
    """How many days beyond the period both sides are read."""
    double_minutes: int = 10
    """How close two payments of one customer lie to be suspected of being one."""
    recovery_days: int = 7
    """How long after a failure a success of the same reference still recovers it."""
    settle_days: int = 1
    """After how many days the provider pays a business day out."""
    settle_days_of: dict[str, int] = {}
    """The same for single channels, by their names."""
    small_n: int = 30
    """Fewer attempts than this make a rate that is shown in grey."""

    def __post_init__(self) -> None:
        wrong = [name for name in _WHOLE if getattr(self, name) < 0]
        wrong += [
            f"settle_days_of {name}" for name, days in self.settle_days_of.items() if days < 0
        ]
        if wrong:
            raise ValueError(f"the tolerance {wrong[0]} is not negative")
        for name, most in MOST.items():
            if getattr(self, name) > most:
                raise ValueError(f"the tolerance {name} is at most {most:,}: {_TOO_LOOSE}")
        for channel, days in self.settle_days_of.items():
            if days > MOST["settle_days"]:
                raise ValueError(
                    f"the tolerance settle_days_of {channel} is at most {MOST['settle_days']}: "
                    f"{_TOO_LOOSE}"
                )


MOST: Final = {
    "amount": 1_000,
    "fee": 1_000,
    "grace_days": 31,
    "settle_days": 62,
    "widen_days": 92,
    "recovery_days": 366,
    "double_minutes": 1_440,
    "small_n": 100_000,
}
"""A tolerance past it would call a whole month agreed, or late for nothing."""
_TOO_LOOSE: Final = "what differs by more is a break, and kusanya breaks accepts one by name"
_WHOLE: Final = tuple(name for name in Tolerance.__struct_fields__ if name != "settle_days_of")


PLAIN: Final = Tolerance()
_NAMES: Final = {
    name: f"{name}_tolerance" if name in {"amount", "fee"} else name for name in _WHOLE
}
SETTLE_DAYS: Final = Schema("settle_days_of", {"channel": DType.TEXT, "days": DType.WHOLE})
"""One row per channel that is paid out after another number of days than the others."""


def terms(
    period: Period, tolerance: Tolerance, *, as_of: date | None = None
) -> dict[str, int | date]:
    """Return what the queries of a reconciliation go by, by the names that they give it.

    `as_of` is the day that ages are counted to, else the last one.
    """
    return {
        "first_day": period.first,
        "last_day": period.last,
        "as_of": as_of or period.last,
        **{name: getattr(tolerance, asked) for asked, name in _NAMES.items()},
    }


def settle_days(tolerance: Tolerance) -> pd.DataFrame:
    """Return the rows of SETTLE_DAYS."""
    days = tolerance.settle_days_of
    return columns.frame(SETTLE_DAYS, {"channel": list(days), "days": list(days.values())})
