"""What an earlier period left open, as the next one takes it up."""

from collections.abc import Collection, Iterator, Mapping
from datetime import date
from typing import Final

import msgspec
import pandas as pd

from kusanya_books import columns
from kusanya_books.columns import KEYS, MOVEMENTS
from kusanya_books.request.days import DAY, Period, business_days, each_day

BOOKS: Final = "books"
"""The leg of the books, in items and in the ids of breaks."""
STATEMENT: Final = "statement"
"""The leg of the settlement statement."""
SHOWN: Final = "shown"
"""The leg of payouts that the bank has shown: they are kept for their names."""
SHOWN_NAMES: Final = 10_000
"""How many of them are kept, the newest ones: each line of the bank is searched for each name."""
ALL: Final = ""
"""What stands for the channels of a settlement statement that names none."""
_MONTH: Final = 31 * DAY
REMEMBERED: Final = 92 * DAY
"""For how many days the lines of settlement statements are kept, and the payouts that came."""
REMEMBERED_LINES: Final = 200_000
"""How many of them are kept: where there are more, none is."""
READ: Final = columns.Schema(
    "read before",
    {
        name: columns.STATEMENT.columns[name]
        for name in ("business_day", "batch_id", "collection_id", "channel", "currency", "net")
    },
)
"""What a line of a settlement statement says: by it a later file's line is known again."""
CARRIED: Final = r" \(until \d+-\d+-\d+\)$"
"""How the name of a file ends whose lines were carried from an earlier period, as a pattern."""


class Compared(msgspec.Struct, frozen=True, kw_only=True):
    """What the close of a period was given beside the service: what is of its days was compared."""

    first: date
    last: date
    books: bool = False
    operators: Mapping[str, bool] = {}
    """The channels of operators' statements, and whether those named fees."""
    has_settlement: bool = False
    """Whether a settlement statement was given: it is of all channels, though it may name few."""
    settled: Collection[str] = ()
    """The channels that it names; `ALL` where it names none."""
    by_item: bool = False
    """Whether it names each collection."""
    keeps_lines: bool = False
    """Whether its lines are kept, so that they are known where a later file repeats them."""
    dated_later: Mapping[str, int] = {}
    """By how many days its lines of a channel, and those before, are dated after what they pay."""


class EarlierPeriod(msgspec.Struct, frozen=True, kw_only=True):
    """The open items of an earlier pack, and the lines of the books that belong to them."""

    run_id: str
    period: Period
    as_of: int = 0
    """The place of the journal at which it was closed."""
    items: pd.DataFrame
    lines: pd.DataFrame
    """Lines as `LEDGER` has them; their row numbers are below zero, because they are no rows of the
    books that are given now."""
    compared: tuple[Compared, ...]
    """What was given then, and in the periods that were closed one after the other before; the
    period's own last."""
    payers: Collection[tuple[str, str]] = ()
    """Channels and currencies that operators paid out themselves."""
    movements: pd.DataFrame | None = None
    """Lines of the operator's and the bank's statements that belong to open items, and the payouts
    that the bank has shown."""
    payouts: pd.DataFrame | None = None
    """Lines of the settlement statement that a bank's open item is about."""
    settlement_lines: pd.DataFrame | None = None
    """The lines of settlement statements that it and those before it read, as `STATEMENT`: the next
    file may have them again."""
    paid_since: pd.DataFrame | None = None
    """What succeeded in it or before, as is known since its close, as `SINCE`: no side has agreed
    to it."""
    otherwise_now: frozenset[str] = frozenset()
    """The ids of what succeeded when it was closed, agreed with the books, and is no success, or
    another sum, now: its lines are among `lines`."""
    otherwise_at_operator: frozenset[str] = frozenset()
    """The same of what agreed with an operator's statement: its lines are among `movements`."""
    begins: date | None = None
    """The first day of the periods that were closed one after the other, it the last; None for its
    own."""
    not_closed: tuple[tuple[date, date], ...] = ()
    """The periods up to it whose files were not read whole, first and last day: what the rows that
    were left say is in no pack."""
    changed_from: date | None = None
    """The earliest day of which something changed since."""
    due_since: pd.DataFrame | None = None
    """What the provider owes for it since, as `DUE`."""
    earned: pd.DataFrame | None = None
    """What the payments of each day were when it was closed, and of those before it, as `POSTINGS`
    of collections."""
    earned_since: pd.DataFrame | None = None
    """How those differ now, as `EARNED`."""

    def keys(self) -> pd.DataFrame:
        """Return the ids and references of all that was carried, as `KEYS`."""
        parts = [
            self.items[["collection_id", "reference"]],
            self.lines[["collection_id", "reference"]],
        ]
        if self.paid_since is not None:
            paid = self.paid_since.rename(columns={"id": "collection_id"})
            parts.append(paid[["collection_id", "reference"]])
        if self.movements is not None:
            mine = self.movements[self.movements["leg"] == "operator"]
            parts.append(mine[["collection_id", "reference"]])
        every = pd.concat(parts, ignore_index=True).drop_duplicates(ignore_index=True)
        return columns.frame(KEYS, every.rename(columns={"collection_id": "id"}))

    def ids_since(self, leg: str) -> frozenset[str]:
        """Return the ids of what became a success in it, or would not agree with `leg` now.

        Where nothing of the leg was given of its day, nothing of it is missing there.
        """
        otherwise = self.otherwise_now if leg == BOOKS else self.otherwise_at_operator
        if self.paid_since is None:
            return otherwise
        return otherwise | frozenset(self.paid_since.loc[self.paid_since["leg"] == leg, "id"])

    def settled_of(self, due: pd.DataFrame) -> pd.DataFrame:
        """Return what is due for days whose payouts were compared."""
        spans = [(one.first, one.last) for one in self.compared if one.has_settlement]
        days = due["business_day"].dt.date
        settled = [any(first <= day <= last for first, last in spans) for day in days]
        return due[pd.Series(settled, due.index, dtype="bool")]

    def settled_days(self) -> dict[date, bool]:
        """Return the days whose payouts were compared, and whether by collections.

        Only those of which the lines are known.
        """
        begins = self.period.last - REMEMBERED
        spans = [one for one in self.compared if one.has_settlement and one.keeps_lines]
        found: dict[date, bool] = {}
        for one in spans:
            for day in each_day(max(one.first, begins), one.last):
                found[day] = found.get(day, False) or one.by_item
        return found

    @property
    def operators(self) -> frozenset[str]:
        """Return the channels of which an operator's statement was given in any of the periods."""
        return frozenset(name for one in self.compared for name in one.operators)

    @property
    def settlement(self) -> Compared:
        """Return the newest period whose settlement statement has a line, and else its own."""
        return next((one for one in reversed(self.compared) if one.settled), self.own)

    def settled_before(self, first: date) -> frozenset[str]:
        """Return the channels that settlement statements named within a month before a day.

        That of one night may name few.
        """
        return frozenset(name for one in self._lately(first) for name in one.settled)

    def operators_before(self, first: date) -> dict[str, bool]:
        """Return the same of operators' statements, and whether the newest of each named fees."""
        return {name: fee for one in self._lately(first) for name, fee in one.operators.items()}

    def _lately(self, first: date) -> list[Compared]:
        return [one for one in self.compared if one.last >= first - _MONTH]

    @property
    def chain_begins(self) -> date:
        """Return the first day of the periods that were closed one after the other, it the last."""
        return min(self.period.first, self.begins or self.period.first)

    @property
    def books_begin(self) -> date:
        """Return the first day of the closes, one after the other up to it, that books were given.

        They say of each of these days what was booked.
        """
        begins = self.period.first
        for one in reversed(self.compared):
            if not one.books or one.last + DAY < begins:
                break
            begins = min(begins, one.first)
        return begins

    @property
    def own(self) -> Compared:
        """Return what its own close was given."""
        return self.compared[-1]

    @property
    def judged_from(self) -> date:
        """Return the first day whose payments are judged again."""
        return min(self.period.first, self.changed_from or self.period.first)

    def adjoins(self, period: Period) -> bool:
        """Return whether no day lies between the earlier period and `period`."""
        return self.own.books and self.follows(period)

    def follows(self, period: Period) -> bool:
        """Return whether `period` is a later one, and begins at the latest on the day after."""
        return self.precedes(period) and self.period.last + DAY >= period.first

    def precedes(self, period: Period) -> bool:
        """Return whether `period` is a later one."""
        return period.first > self.period.first

    def with_movements(self, newer: pd.DataFrame) -> pd.DataFrame:
        """Return the lines given now, and the carried ones of days that none of them is of.

        Of a day that is given again, what is given now alone says what happened: of a business day
        and a day of the clock, by either of which a file may be cut. The name of an earlier file
        says until when it was read: a file of today may be called the same.
        """
        if self.movements is None or self.movements.empty:
            return newer
        mine = self.movements
        # Of a million lines few are of days that any of these may be of.
        near = newer[newer["business_day"] <= mine["business_day"].max() + 2 * DAY]
        by_business, by_clock = (
            then.isin(now) for then, now in zip(_days(mine), _days(near), strict=True)
        )
        earlier = mine[~(by_business & by_clock)]
        named = earlier["input"].str.contains(CARRIED, regex=True)
        until = earlier["input"] + f" (until {self.period.last})"
        earlier = earlier.assign(input=earlier["input"].where(named, until))
        return pd.concat([newer, earlier], ignore_index=True)

    def with_payouts(
        self, newer: pd.DataFrame | None, *, but: Collection[str] = ()
    ) -> pd.DataFrame | None:
        """Return the settlement lines given now, and the carried ones of payouts not among them.

        Of batches `but` none is carried.
        """
        if self.payouts is None or self.payouts.empty or newer is None:
            return self.payouts if newer is None else newer
        said = set(zip(newer["batch_id"], newer["channel"], newer["business_day"], strict=True))
        mine = self.payouts[~self.payouts["batch_id"].isin(but)]
        keys = zip(mine["batch_id"], mine["channel"], mine["business_day"], strict=True)
        return pd.concat([newer, mine[[key not in said for key in keys]]], ignore_index=True)

    @property
    def shown(self) -> pd.DataFrame:
        """Return the payouts that the bank has shown of late, as MOVEMENTS."""
        lines = columns.empty(MOVEMENTS) if self.movements is None else self.movements
        return lines[lines["leg"] == SHOWN]

    def lines_before(self, ledger: pd.DataFrame, period: Period) -> pd.DataFrame:
        """Return the carried lines of days that the books given now do not reach back to.

        Of the other days these books alone say what is booked: a line that was corrected or deleted
        there is gone.
        """
        begins = ledger["booked_day"].min()
        upto = pd.Timestamp(period.first)
        begins = upto if pd.isna(begins) else min(begins, upto)
        earlier: pd.DataFrame = self.lines[(self.lines["booked_day"] < begins).fillna(value=False)]
        return earlier


def _days(lines: pd.DataFrame) -> Iterator[pd.MultiIndex]:
    """Yield of what leg, channel and business day each line is, then of what day of the clock."""
    for days in (lines["business_day"], business_days(lines["at"])):
        yield pd.MultiIndex.from_arrays([lines["leg"], lines["channel"].fillna(""), days])
