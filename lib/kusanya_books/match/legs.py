"""What every leg against a statement has: its rows, its bridge, and how much of both is left."""

from collections.abc import Collection, Iterable
from typing import ClassVar, Final

import msgspec
import pandas as pd

from kusanya_books import columns
from kusanya_books.columns import (
    BALANCES_SAID,
    LEDGER,
    LEG_BRIDGE,
    PAYERS,
    PLACES,
    Schema,
)
from kusanya_books.engine.engine import Engine, Source, literal, query
from kusanya_books.match.balances import NOTHING, Balances
from kusanya_books.request.quality import Quality

GIVES_BACK: Final = frozenset({"refund", "chargeback", "credit_note", "reversal"})
"""The kinds of lines of the books that give an order its money back."""
_BOOKED: Final = Schema(
    "booked",
    {
        name: LEDGER.columns[name]
        for name in ("reference", "currency", "amount", "kind", "status", "booked_day")
    },
    LEDGER.defaults,
)


def gives_back(books: pd.DataFrame) -> "pd.Series[bool]":
    """Return which lines of the books give an order its money back."""
    return (books["kind"].isin(GIVES_BACK) & (books["status"] == "paid")).fillna(value=False)


class Leg(msgspec.Struct, frozen=True, kw_only=True):
    """A leg's rows, worst first, and its bridge."""

    rows: pd.DataFrame
    bridge: pd.DataFrame
    places: pd.DataFrame = columns.empty(PLACES)
    """Where each line went, by `PLACES`."""
    balances: Balances = NOTHING
    """What the balances beside the lines say."""
    is_unread: bool = False
    """Whether statements were given of which no row could be read: nothing is proven."""

    other_side: ClassVar[str]
    """The line of the bridge with the other side's total."""

    @property
    def has_compared(self) -> bool:
        """Return whether the other side had anything: else the statements prove nothing."""
        return bool(self.bridge.loc[self.bridge["line"] == self.other_side, "rows"].sum())

    @property
    def unexplained(self) -> int:
        """Return the sum of what the bridges leave unexplained, signs aside; 0 is the goal."""
        left = self.bridge.loc[self.bridge["line"] == "unexplained", "amount"]
        return int(left.abs().sum())


def has_unread(loads: Iterable[Quality], *, of: str) -> bool:
    """Return whether a row of one kind of input (`operator`, `bank`) could not be read."""
    return any(load.rejected for load in loads if load.leg == of)


def payers(accounts: Collection[tuple[str | None, str]]) -> pd.DataFrame:
    """Return PAYERS of channels and currencies."""
    channels, currencies = ([one[place] for one in accounts] for place in (0, 1))
    return columns.frame(PAYERS, {"channel": channels, "currency": currencies})


def refunds_booked(engine: Engine, books: Source | None) -> None:
    """Let queries see what the books give orders back, as `refunds_booked`; the terms are known."""
    engine.register("books", books, _BOOKED)
    kinds = ", ".join(map(literal, sorted(GIVES_BACK)))
    engine.run(query("legs/refunds_booked", gives_back=f"({kinds})"))


def bridge(engine: Engine, total: str, other: str, balances: Balances) -> pd.DataFrame:
    """Return the bridge from a statement's sum, called `total`, to that of the other side."""
    engine.register("balances", balances.said, BALANCES_SAID)
    return engine.frame(query("legs/bridge", total=total, other=other), LEG_BRIDGE)
