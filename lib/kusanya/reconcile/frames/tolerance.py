"""What the two sides may differ by before it counts: integers, never percentages."""

from datetime import date
from typing import Final

import msgspec
import pandas as pd

from kusanya.reconcile.frames import columns
from kusanya.reconcile.frames.columns import DType, Schema
from kusanya.reconcile.frames.days import Period


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
    small_n: int = 30
    """Fewer attempts than this make a rate that is shown in grey."""

    def __post_init__(self) -> None:
        for name in self.__struct_fields__:
            if getattr(self, name) < 0:
                raise ValueError(f"the tolerance {name} is not negative")


PLAIN: Final = Tolerance()
_COLUMNS: Final = {
    name: f"{name}_tolerance" if name in {"amount", "fee"} else name
    for name in Tolerance.__struct_fields__
}
TERMS: Final = Schema(
    "terms",
    {
        "first": DType.DAY,
        "last": DType.DAY,
        "as_of": DType.DAY,
        "net_basis": DType.FLAG,
        "everything": DType.FLAG,
        **dict.fromkeys(_COLUMNS.values(), DType.WHOLE),
    },
)
"""One row: what the queries of one reconciliation go by."""


def terms(
    period: Period,
    tolerance: Tolerance,
    *,
    as_of: date | None = None,
    basis: str = "gross",
    everything: bool = True,
) -> pd.DataFrame:
    """Return the one row of TERMS. `as_of` is the day ages are counted to, else the last one."""
    return columns.frame(
        TERMS,
        {
            "first": [pd.Timestamp(period.first)],
            "last": [pd.Timestamp(period.last)],
            "as_of": [pd.Timestamp(as_of or period.last)],
            "net_basis": [basis == "net"],
            "everything": [everything],
            **{column: [getattr(tolerance, name)] for name, column in _COLUMNS.items()},
        },
    )
