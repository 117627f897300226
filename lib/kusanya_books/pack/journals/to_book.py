"""What one close has to book, and what was booked, by day and part.

Its collections, what became known of its statements since, and the rest: of a day before its period
a close says no more than the first two.
"""

from collections.abc import Callable, Iterable, Mapping
from datetime import date
from pathlib import Path
from typing import Any, Final

import msgspec
import pandas as pd
import pyarrow.parquet as pq

from kusanya.errors import FrameError, InputRefused
from kusanya_books import columns
from kusanya_books.columns import POSTINGS
from kusanya_books.judge.postings import COLLECTIONS, EXPLAINED, OF_EARLIER_DAYS
from kusanya_books.read import pack_folder
from kusanya_books.read.earlier_pack import BEGINS, COMPARED, EARNED_FILE
from kusanya_books.request.days import each_day

BOOKS_OTHERS: Final = "entries_of_statements"
"""Whether the entries of a pack book what statements tell, beside its collections."""
OTHERS: Final = "others"
SINCE: Final = "since"
PARTS: Final = (COLLECTIONS, SINCE, OTHERS)
LATE_PARTS: Final = (COLLECTIONS, SINCE)
"""What a close says of the days before its period."""
_PART_OF: Final = {COLLECTIONS: COLLECTIONS, **dict.fromkeys((EXPLAINED, *OF_EARLIER_DAYS), SINCE)}


class Continued(msgspec.Struct, frozen=True, array_like=True):
    """Days, both included, and the run that booked them last."""

    first: date
    last: date
    run: str
    part: str = ""
    """One of `PARTS`, or all of them where it is empty."""

    def has(self, day: date, part: str) -> bool:
        """Return whether it is of a part of a day."""
        return self.first <= day <= self.last and self.part in {"", part}


class Booked(msgspec.Struct, frozen=True):
    """What earlier closes booked of the days of a close."""

    postings: pd.DataFrame
    """POSTINGS, of each day and part those of the run that booked it last."""
    runs: tuple[Continued, ...]
    has_more: bool = False
    """Whether one of those closes was given a statement that this one was not."""

    def run_of(self, day: date) -> str:
        """Return the runs that booked a day last; empty where none did."""
        return " ".join(sorted({one.run for one in self.runs if one.first <= day <= one.last}))


class ToBook(msgspec.Struct, frozen=True, kw_only=True):
    """What one close has to book, of its period and of the days before it."""

    first: date
    last: date
    begins: date
    """The first day of the periods that were closed one after the other."""
    known_at: int = 0
    """The place of the journal at which the period before it was closed."""
    given: frozenset[str]
    """The statements that it was given, as `given` names them."""
    books_others: bool
    """Whether it books what they tell. One that was given none, or fewer than a close before it,
    says nothing of payouts and refunds, and not that none was."""
    postings: pd.DataFrame
    earned: pd.DataFrame
    """POSTINGS of each day since `begins`: its collections, and what became known since."""

    @property
    def late(self) -> frozenset[date]:
        """Return the days before its period of which something is otherwise now."""
        return frozenset(day for day in _days(self._changes) if day < self.first)

    @property
    def _changes(self) -> pd.DataFrame:
        found: pd.DataFrame = self.postings[self.postings["kind"].isin(_PART_OF)]
        return found

    def of(self, span: Continued) -> pd.DataFrame:
        """Return what it says of days and a part."""

        def is_of_it(day: date, kind: str) -> bool:
            return span.has(day, _part_of(kind))

        before = _where(self.earned, lambda day, kind: day < self.first and is_of_it(day, kind))
        return joined([_where(self._own, is_of_it), before])

    @property
    def _own(self) -> pd.DataFrame:
        def is_own(day: date, kind: str) -> bool:
            return day >= self.first and (self.books_others or kind == COLLECTIONS)

        return _where(self.postings, is_own)

    def unbooked(self, booked: Booked | None) -> frozenset[date]:
        """Return the late days of which no close booked anything."""
        runs = () if booked is None else booked.runs
        return self.late - {day for one in runs for day in each_day(one.first, one.last)}

    def beside(
        self, booked: Booked | None, *, by_command: bool
    ) -> tuple[pd.DataFrame, pd.DataFrame, pd.DataFrame]:
        """Return POSTINGS of what the books must have, of what they have, and what has to wait.

        What changed of a day that no close booked waits for the one that books it; `by_command`
        the books have what was known at the day's own close: somebody made its entries. What fewer
        statements tell waits too, and what a statement says of earlier days.
        """
        runs, unbooked = () if booked is None else booked.runs, self.unbooked(booked)

        def is_continued(day: date, kind: str) -> bool:
            return day < self.first and any(one.has(day, _part_of(kind)) for one in runs)

        def waits(day: date, kind: str) -> bool:
            if day < self.first:
                return _part_of(kind) == OTHERS
            return kind != COLLECTIONS and not self.books_others

        changed = _where(self._changes, lambda day, _: day in unbooked)
        waiting = _where(self.postings, waits)
        now = joined([self._own, _where(self.earned, is_continued)])
        known = columns.empty(POSTINGS) if booked is None else booked.postings
        if by_command:
            return joined([now, changed]), known, waiting
        return now, known, joined([changed, waiting])


def read(folder: Path) -> tuple[ToBook, dict[str, Any]]:
    """Return what a pack has to book, and its manifest.

    Raises InputRefused when the folder is no pack of this version, or a file is not as written.
    """
    manifest = pack_folder.manifest(folder)
    path = pack_folder.as_written(folder, manifest, "csv/postings.raw.csv")
    # An older version's pack books its own days alone: closed again, it continues its entries.
    is_older = EARNED_FILE not in manifest["files"]
    earned = None if is_older else pack_folder.as_written(folder, manifest, EARNED_FILE)
    try:
        rows = pd.read_csv(path, dtype="string", keep_default_na=False)
        rows = rows.mask(rows == "")
        whole = [name for name, kind in POSTINGS.columns.items() if kind is columns.DType.WHOLE]
        rows["business_day"] = pd.to_datetime(rows["business_day"])
        first, last = pack_folder.days_of(manifest)
        found = ToBook(
            first=first,
            last=last,
            given=given_to(manifest),
            books_others=books_others_of(manifest),
            begins=first if earned is None else date.fromisoformat(manifest[BEGINS]),
            postings=columns.frame(POSTINGS, rows.astype(dict.fromkeys(whole, "Int64"))),
            earned=columns.empty(POSTINGS)
            if earned is None
            else columns.check(columns.from_arrow(pq.read_table(earned)), POSTINGS),
        )
    except (OSError, ValueError, KeyError, TypeError, FrameError) as error:
        raise InputRefused(f"{folder.resolve().name}: its postings cannot be read") from error
    return found, manifest


def given_to(manifest: Mapping[str, Any]) -> frozenset[str]:
    """Return the statements that a pack was given: of payouts, and of which operators' channels."""
    own = manifest.get(COMPARED, ({},))[-1]
    return given(own.get("operators", ()), has_settlement=own.get("has_settlement", True))


def given(operators: Iterable[str], *, has_settlement: bool) -> frozenset[str]:
    """Return the names of statements: the channels of operators, and one for payouts."""
    return frozenset({*operators, *(("",) if has_settlement else ())})


def books_others_of(manifest: Mapping[str, Any]) -> bool:
    """Return whether the entries of a pack book what its statements tell."""
    return bool(manifest.get(BOOKS_OTHERS, given_to(manifest)))


def _part_of(kind: str) -> str:
    return _PART_OF.get(kind, OTHERS)


def _days(rows: pd.DataFrame) -> "pd.Series[Any]":
    found: pd.Series[Any] = rows["business_day"].dt.date
    return found


def _where(rows: pd.DataFrame, is_of_it: Callable[[date, str], bool]) -> pd.DataFrame:
    """Return the POSTINGS of which a day and kind are asked for."""
    flags = [is_of_it(day, kind) for day, kind in zip(_days(rows), rows["kind"], strict=True)]
    found: pd.DataFrame = rows[pd.Series(flags, rows.index, dtype="bool")]
    return found


def joined(parts: list[pd.DataFrame]) -> pd.DataFrame:
    """Return POSTINGS one after the other, of no part an empty one."""
    return pd.concat([columns.empty(POSTINGS), *parts], ignore_index=True)
