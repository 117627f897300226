"""What an unexplained amount usually is, each tried by its name; what it would mean, in one line.

A hypothesis that fits is a place to look, not a proof: with many rows some fit by chance.
"""

from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any, Final

import msgspec
import numpy as np
import pandas as pd

from kusanya.domain.business_day import EAT
from kusanya_books import columns
from kusanya_books.columns import HYPOTHESES
from kusanya_books.request.days import Period

_SHIFTS: Final = range(1, 13)
"""Hours by which another side may turn its day."""
_SHOWN: Final = 3
_LEAST_ROWS: Final = 10
"""Fewer rows than this after a change of tariff divide almost any amount."""

GapFinding = tuple[int, str]
"""How many rows it concerns, and what was found, in words."""


class Hypothesis(msgspec.Struct, frozen=True):
    """A name, what it would mean, and how it is tried on a gap, rows and a period."""

    name: str
    meaning: str
    findings: Callable[[int, pd.DataFrame, Period | None], Iterator[GapFinding]]


def tried(gap: int, rows: pd.DataFrame, period: Period | None) -> pd.DataFrame:
    """Return HYPOTHESES for a gap: each name once or, where it fits more than once, up to 3 times.

    `rows` is 0 for a hypothesis that does not fit.
    """
    found = []
    for each in ALL:
        fits = list(each.findings(gap, rows, period))
        for count, text in fits[:_SHOWN]:
            found.append((each.name, count, text, each.meaning))
        if len(fits) > _SHOWN:
            more = f"and {len(fits) - _SHOWN:,} more that fit"
            found.append((each.name, fits[_SHOWN][0], more, each.meaning))
        if not fits:
            found.append((each.name, 0, "does not fit", each.meaning))
    return columns.from_rows(HYPOTHESES, found)


def _cutoff(gap: int, rows: pd.DataFrame, period: Period | None) -> Iterator[GapFinding]:
    timed = rows[rows["at"].notna()]
    if timed.empty or period is None:
        return
    at, amount = timed["at"], timed["amount"].to_numpy(dtype="int64")

    def within(begin: Any, end: Any) -> tuple[int, int]:
        inside = ((at >= begin) & (at < end)).to_numpy(dtype=bool)
        return int(inside.sum()), int(amount[inside].sum())

    # A wider span of the same rows says nothing new.
    said: set[Any] = set()
    for hours in _SHIFTS:
        shift = timedelta(hours=hours)
        for edge, place in ((period.begins, "first"), (period.ends, "last")):
            for begin, end in ((edge - shift, edge), (edge, edge + shift)):
                count, total = within(begin, end)
                if count and abs(total) == abs(gap) and (edge, begin < edge) not in said:
                    said.add((edge, begin < edge))
                    yield count, f"the rows {_span(begin, end)}, at the {place} day's edge"
        for sign, word in ((1, "later"), (-1, "earlier")):
            moved = sorted((timedelta(0), sign * shift))
            early = within(period.begins + moved[0], period.begins + moved[1])
            late = within(period.ends + moved[0], period.ends + moved[1])
            if early[0] and late[0] and abs(late[1] - early[1]) == abs(gap) and word not in said:
                said.add(word)
                yield early[0] + late[0], f"a day that turns {hours} h {word}, at both ends"


def _span(begin: Any, end: Any) -> str:
    first, last = begin.astimezone(EAT), end.astimezone(EAT)
    return f"from {first:%Y-%m-%d %H:%M} to {last:%Y-%m-%d %H:%M} EAT"


def _whole_group(gap: int, rows: pd.DataFrame, _: Period | None) -> Iterator[GapFinding]:
    if len(rows) > 1 and abs(int(rows["amount"].sum())) == abs(gap):
        yield len(rows), "all rows together"
    yield from _groups(gap, rows, "amount", "all rows of")


def _groups(gap: int, rows: pd.DataFrame, column: str, word: str) -> Iterator[GapFinding]:
    for by in ("day", "channel"):
        parts = rows.groupby(by)[column].agg(["sum", "size"])
        for name, part in parts[parts["sum"].abs() == abs(gap)].iterrows():
            shown = f"{name:%Y-%m-%d}" if by == "day" else name
            if part["size"] > 1:
                yield int(part["size"]), f"{word} {shown}"


def _fee_side(gap: int, rows: pd.DataFrame, _: Period | None) -> Iterator[GapFinding]:
    charged = rows[rows["fee"].notna() & (rows["fee"] != 0)]
    if charged.empty:
        return
    if abs(int(charged["fee"].sum())) == abs(gap):
        yield len(charged), "the fees of all rows"
    yield from _groups(gap, charged, "fee", "the fees of")
    for row in columns.records(charged[charged["fee"].abs() == abs(gap)]):
        yield 1, f"the fee of {_row(row)}"


def _digits(gap: int, rows: pd.DataFrame, _: Period | None) -> Iterator[GapFinding]:
    if gap % 9:
        return
    amounts = rows["amount"].to_numpy(dtype="int64")
    size = np.abs(amounts)
    for power in range(len(str(int(size.max(initial=0)))) - 1):
        low, high = size // 10**power % 10, size // 10 ** (power + 1) % 10
        # Only digits that the number has: 45 is not 054 with its digits swapped.
        change = 9 * (low - high) * 10**power
        inside = (size >= 10 ** (power + 1)) & (np.abs(change) == abs(gap))
        for place in np.flatnonzero(inside).tolist():
            row = rows.iloc[place]
            other = int(size[place] + change[place])
            yield 1, f"{_row(row)}: {int(size[place]):,} for {other:,}"


def _one_row(gap: int, rows: pd.DataFrame, _: Period | None) -> Iterator[GapFinding]:
    for row in columns.records(rows[rows["amount"].abs() == abs(gap)]):
        yield 1, _row(row)


def _sign(gap: int, rows: pd.DataFrame, _: Period | None) -> Iterator[GapFinding]:
    for row in columns.records(rows[rows["amount"].abs() * 2 == abs(gap)]):
        yield 1, _row(row)


def _tariff(gap: int, rows: pd.DataFrame, _: Period | None) -> Iterator[GapFinding]:
    charged = rows[rows["day"].notna() & rows["fee"].notna() & (rows["fee"] > 0)]
    if charged.empty:
        return
    parts = [("all channels", charged), *charged.groupby("channel")]
    found = []
    for name, part in parts:
        days = part.groupby("day").size().sort_index()
        left = days[::-1].cumsum()[::-1]
        most = int(part["fee"].max())
        for day, count in left.items():
            each, rest = divmod(abs(gap), int(count))
            if count >= _LEAST_ROWS and not rest and 0 < each <= most:
                found.append((int(count), f"{name}: {each:,} on each row from {day:%Y-%m-%d} on"))
    yield from sorted(found, key=lambda finding: -finding[0])


def _row(row: Any) -> str:
    named = "" if pd.isna(row.label) else f" ({row.label})"
    return f"row {row.row_no}{named}"


ALL: Final = (
    Hypothesis(
        "a whole day or channel",
        "nothing is hidden: all these rows together are the gap",
        _whole_group,
    ),
    Hypothesis(
        "shifted cut-off",
        "one side turns its day at another hour: set the cut-off, or carry these rows",
        _cutoff,
    ),
    Hypothesis(
        "fee on the wrong side",
        "gross was booked as net, or net as gross: book the fee",
        _fee_side,
    ),
    Hypothesis(
        "swapped digits",
        "two neighbouring digits of one amount were swapped: compare it with its document",
        _digits,
    ),
    Hypothesis(
        "one row doubled or missing",
        "a row of this amount stands twice on one side, or not at all on the other",
        _one_row,
    ),
    Hypothesis(
        "wrong sign",
        "a row of half the amount was added where it had to be taken off",
        _sign,
    ),
    Hypothesis(
        "tariff changed on a day",
        "each row from that day on differs by the same: compare the agreed tariff",
        _tariff,
    ),
)
"""In the order in which they are tried."""
