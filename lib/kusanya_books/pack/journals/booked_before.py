"""Which entries the books have already: what earlier closes said of the days of a close.

Nights and their month are of the same days, and a later period books what came late of an earlier
one. So each day is as the close says that booked it last, its collections apart from the rest: of a
day before its period a close says no more than what the payments are.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import date, timedelta
from pathlib import Path
from typing import Any, Final

import msgspec
import pandas as pd
import pyarrow.parquet as pq

from kusanya.errors import FrameError, InputRefused
from kusanya_books import columns
from kusanya_books.columns import POSTINGS
from kusanya_books.judge.postings import COLLECTIONS
from kusanya_books.read import pack_folder
from kusanya_books.read.earlier_pack import BEGINS, COMPARED, EARNED_FILE
from kusanya_books.read.pack_folder import PackName
from kusanya_books.request.days import DAY

AFTER: Final = "entries_after"
"""In what a pack was made from: the runs whose entries its own continue, each with its days."""
LATE: Final = "late_days"
"""In a manifest: the days before the period whose collections its entries book as they are now."""
BOOKS_OTHERS: Final = "entries_of_statements"
"""Whether the entries of a pack book what statements tell, beside its collections."""
CURRENCY: Final = "entries_in"
"""What a manifest calls the currency of its entries: each has a map of accounts, and books, of its
own."""
_IMPORTED: Final = "journals/odoo.csv"
"""A pack that lists it has entries to import."""
_OTHERS: Final = "others"
_PARTS: Final = (COLLECTIONS, _OTHERS)


class Continued(msgspec.Struct, frozen=True, array_like=True):
    """Days, both included, and the run that booked them last."""

    first: date
    last: date
    run: str
    part: str = ""
    """`collections`, `others`, or both where it is empty."""

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
    """The statements that it was given, as `_given` names them."""
    books_others: bool
    """Whether it books what they tell. One that was given none, or fewer than a close before it,
    says nothing of payouts and refunds, and not that none was."""
    postings: pd.DataFrame
    earned: pd.DataFrame
    """POSTINGS of the collections of each day since `begins`."""

    @property
    def late(self) -> frozenset[date]:
        """Return the days before its period whose collections are others now."""
        return frozenset(day for day in _days(self.postings) if day < self.first)

    def of(self, span: Continued) -> pd.DataFrame:
        """Return what it says of days and a part: of days before its period, their collections."""

        def is_of_it(day: date, kind: str) -> bool:
            return span.has(day, COLLECTIONS if kind == COLLECTIONS else _OTHERS)

        before = _where(self.earned, lambda day, kind: day < self.first and is_of_it(day, kind))
        return _joined([_where(self._own, is_of_it), before])

    @property
    def _own(self) -> pd.DataFrame:
        def is_own(day: date, kind: str) -> bool:
            return day >= self.first and (self.books_others or kind == COLLECTIONS)

        return _where(self.postings, is_own)

    def unbooked(self, booked: Booked | None) -> frozenset[date]:
        """Return the late days of which no close booked the collections."""
        runs = () if booked is None else booked.runs
        return self.late - {day for one in runs for day in _each(one.first, one.last)}

    def beside(
        self, booked: Booked | None, *, by_command: bool
    ) -> tuple[pd.DataFrame, pd.DataFrame, pd.DataFrame]:
        """Return POSTINGS of what the books must have, of what they have, and what has to wait.

        What changed of a day that no close booked waits for the one that books it; `by_command`
        the books have what was known at the day's own close: somebody made its entries. What fewer
        statements tell waits too.
        """
        runs, unbooked = () if booked is None else booked.runs, self.unbooked(booked)
        late = {day for one in runs for day in _each(one.first, one.last) if day < self.first}
        changed = _where(self.postings, lambda day, _: day in unbooked)
        others = _where(self.postings, lambda day, kind: day >= self.first and kind != COLLECTIONS)
        waiting = columns.empty(POSTINGS) if self.books_others else others
        now = _joined([self._own, _where(self.earned, lambda day, _: day in late)])
        known = columns.empty(POSTINGS) if booked is None else booked.postings
        if by_command:
            return _joined([now, changed]), known, waiting
        return now, known, _joined([changed, waiting])


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
            given=_given(manifest),
            books_others=_books_others(manifest),
            begins=first if earned is None else date.fromisoformat(manifest[BEGINS]),
            postings=columns.frame(POSTINGS, rows.astype(dict.fromkeys(whole, "Int64"))),
            earned=columns.empty(POSTINGS)
            if earned is None
            else columns.check(columns.from_arrow(pq.read_table(earned)), POSTINGS),
        )
    except (OSError, ValueError, KeyError, TypeError, FrameError) as error:
        raise InputRefused(f"{folder.resolve().name}: its postings cannot be read") from error
    return found, manifest


def of_pack(
    folder: Path,
    own: ToBook,
    manifest: Mapping[str, Any],
    *,
    currency: str,
    booked: Path | None,
    is_first: bool,
) -> Booked | None:
    """Return what is booked of the days of a pack that was read; see `journal_entries.of_pack`."""
    made_from = manifest["made_from"]
    if booked is not None:
        earlier, said = read(booked)
        if not _is_of_the_same_books(said["made_from"], made_from):
            raise InputRefused(
                f"{booked.resolve().name} is of another store, mode, entity or cutoff: its entries "
                f"are not continued by those of {folder.resolve().name}"
            )
        run = str(said["run_id"])
        # What it booked of other days stays as it is.
        part = "" if own.books_others else COLLECTIONS
        runs = [Continued(own.first, own.last, run, part)]
        again = _late_days(said, earlier.first)
        known = own.late & {*again, *_each(earlier.first, earlier.last)}
        if own.first <= earlier.first <= own.last:
            known |= {day for day in again if day >= own.begins}
        runs += [Continued(day, day, run, COLLECTIONS) for day in sorted(known)]
        return Booked(_joined([earlier.of(one) for one in runs]), tuple(runs))
    beside, after = folder.resolve().parent, made_from.get(AFTER)
    if after is not None and manifest.get(CURRENCY, currency) == currency:
        return _continued(beside, _runs(folder, after))
    if not is_first and not has_entries(manifest, currency):
        _ask_which_is_booked(beside, manifest)
    return None


def has_entries(manifest: Mapping[str, Any], currency: str) -> bool:
    """Return whether a pack has entries of a currency to import."""
    return _IMPORTED in manifest["files"] and manifest.get(CURRENCY, currency) == currency


def _ask_which_is_booked(beside: Path, own: Mapping[str, Any]) -> None:
    """Raise InputRefused where another pack is of the days of one without entries of its own."""
    first, last = pack_folder.days_of(own)
    for folder, name in _packs(beside):
        if name.run == own["run_id"] or name.last < first:
            continue
        manifest = pack_folder.manifest(folder)
        of_days = name.meets(first, last)
        if int(manifest["made_from"]["as_of"]) <= int(own["made_from"]["as_of"]):
            of_days |= any(first <= day <= last for day in _late_days(manifest, name.first))
        if of_days and _is_of_the_same_books(manifest["made_from"], own["made_from"]):
            raise InputRefused(
                f"{folder.name} is of the same days: where its entries are in the books, give "
                "it with --booked, so that they are not booked twice; else give --booked none"
            )


class _Close(msgspec.Struct, frozen=True):
    """A close with entries: its days, its place of the journal, and what its entries continue."""

    name: PackName
    as_of: int
    given: frozenset[str]
    books_others: bool
    after: tuple[Continued, ...]
    late: frozenset[date]

    def books(self, day: date, part: str) -> bool:
        """Return whether its entries book a part of a day."""
        is_own = self.name.first <= day <= self.name.last
        if part == COLLECTIONS:
            return is_own or day in self.late
        return is_own and self.books_others


def earlier_close(
    out: Path, made_from: Mapping[str, Any], own: ToBook, *, currency: str
) -> Booked | None:
    """Return what the packs of a folder have booked of the days of a close; None for nothing.

    Those whose entries are in another currency booked nothing of it.
    A close that lies there already continues what it did then, whatever came after it.
    """
    same = json.loads(json.dumps(made_from))
    found: dict[str, _Close] = {}
    for folder, name in _packs(out):
        if name.mode != same["mode"] or name.last < min({own.begins, *own.late}):
            continue
        manifest = pack_folder.manifest(folder)
        late, made = _late_days(manifest, name.first), manifest["made_from"]
        after = made.pop(AFTER, ())
        # Who imports the entries may move their files away: they are booked all the same.
        if not has_entries(manifest, currency):
            continue
        if not _is_of_the_same_books(made, same):
            continue
        runs = _runs(folder, after)
        if made == same:
            has_more = own.books_others and not _books_others(manifest)
            return _continued(out, runs, has_more=has_more) if runs else None
        found[name.run] = _Close(
            name, int(made["as_of"]), _given(manifest), _books_others(manifest), runs, late
        )
    has_more = own.books_others and _has_more(own, found)
    if has_more:
        own = msgspec.structs.replace(own, books_others=False)
    runs = _as_spans(_last_of_each(own, found, as_of=int(same["as_of"])))
    return _continued(out, runs, has_more=has_more) if runs else None


def _has_more(own: ToBook, closes: Mapping[str, _Close]) -> bool:
    """Return whether a close that booked a day last was given a statement that this one lacks."""
    last = {_booked_last(day, _OTHERS, closes) for day in _each(own.first, own.last)}
    return any(not closes[run].given <= own.given for run in last if run is not None)


def _last_of_each(own: ToBook, closes: Mapping[str, _Close], *, as_of: int) -> Iterator[Continued]:
    """Yield which run booked each day and part of a close last, where one did.

    Of the days before its period those that changed, and those of which another close said more
    than the one that it follows.
    """
    newer = [one for one in closes.values() if own.known_at < one.as_of <= as_of]
    late = own.late
    others = {
        day
        for one in newer
        for day in {*one.late, *_each(one.name.first, one.name.last)}
        if own.begins <= day < own.first
    }
    for day in sorted(late | others):
        run = _booked_last(day, COLLECTIONS, closes)
        if run is not None and (day in late or closes[run] in newer):
            yield Continued(day, day, run, COLLECTIONS)
    for day in _each(own.first, own.last):
        runs = [_booked_last(day, part, closes) for part in _PARTS]
        if not own.books_others:
            runs[1] = None
        if runs[0] is not None and runs[0] == runs[1]:
            yield Continued(day, day, runs[0])
            continue
        for part, run in zip(_PARTS, runs, strict=True):
            if run is not None:
                yield Continued(day, day, run, part)


def _booked_last(day: date, part: str, closes: Mapping[str, _Close]) -> str | None:
    """Return the run that no other one continues on a day, the newest of several."""
    of_day = [close for close in closes.values() if close.books(day, part)]
    continued = {one.run for close in of_day for one in close.after if one.has(day, part)}
    left = [(close.as_of, close.name.run) for close in of_day if close.name.run not in continued]
    return max(left)[1] if left else None


def _as_spans(days: Iterable[Continued]) -> tuple[Continued, ...]:
    """Join the days that follow each other and that one run booked."""
    open_spans: dict[tuple[str, str], int] = {}
    spans: list[Continued] = []
    for one in days:
        at = open_spans.get((one.run, one.part))
        if at is not None and spans[at].last + DAY == one.first:
            spans[at] = msgspec.structs.replace(spans[at], last=one.last)
        else:
            open_spans[one.run, one.part] = len(spans)
            spans.append(one)
    return tuple(spans)


def _continued(out: Path, runs: tuple[Continued, ...], *, has_more: bool = False) -> Booked:
    """Return what the named runs booked, each on its days."""
    packs = {name.run: folder for folder, name in _packs(out)}
    parts: list[pd.DataFrame] = []
    known: dict[str, ToBook] = {}
    for one in runs:
        if one.run not in packs:
            raise InputRefused(
                f"these entries continue those of run {one.run}, whose pack is not in {out.name}: "
                "put it there, or give its folder with --booked"
            )
        if one.run not in known:
            known[one.run], _ = read(packs[one.run])
        parts.append(known[one.run].of(one))
    return Booked(_joined(parts), runs, has_more)


def _given(manifest: Mapping[str, Any]) -> frozenset[str]:
    """Return the statements that a pack was given: of payouts, and of which operators' channels."""
    own = manifest.get(COMPARED, ({},))[-1]
    return given(own.get("operators", ()), has_settlement=own.get("has_settlement", True))


def given(operators: Iterable[str], *, has_settlement: bool) -> frozenset[str]:
    """Return the names of statements: the channels of operators, and one for payouts."""
    return frozenset({*operators, *(("",) if has_settlement else ())})


def _books_others(manifest: Mapping[str, Any]) -> bool:
    return bool(manifest.get(BOOKS_OTHERS, _given(manifest)))


def _late_days(manifest: Mapping[str, Any], first: date) -> frozenset[date]:
    """Return the days before a pack's period whose collections its entries book."""
    after = manifest["made_from"].get(AFTER, ())
    spans = [(date.fromisoformat(one[0]), date.fromisoformat(one[1])) for one in after]
    own = map(date.fromisoformat, manifest.get(LATE, ()))
    return frozenset({*own, *(day for span in spans for day in _each(*span) if day < first)})


def _each(first: date, last: date) -> Iterator[date]:
    return (first + timedelta(days=number) for number in range((last - first).days + 1))


def _is_of_the_same_books(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    return one.get("cutoff") == other["cutoff"] and pack_folder.is_of_shop(one, other)


def _runs(folder: Path, after: Any) -> tuple[Continued, ...]:
    try:
        return msgspec.convert(after, tuple[Continued, ...])
    except msgspec.ValidationError as error:
        raise pack_folder.older_pack(folder) from error


def _packs(out: Path) -> Iterator[tuple[Path, PackName]]:
    """Yield the packs of a folder by their names, damaged ones too."""
    for folder in pack_folder.packs(out):
        if (name := pack_folder.name_of(folder)) is not None:
            yield folder, name


def _days(rows: pd.DataFrame) -> "pd.Series[Any]":
    found: pd.Series[Any] = rows["business_day"].dt.date
    return found


def _where(rows: pd.DataFrame, is_of_it: Callable[[date, str], bool]) -> pd.DataFrame:
    """Return the POSTINGS of which a day and kind are asked for."""
    flags = [is_of_it(day, kind) for day, kind in zip(_days(rows), rows["kind"], strict=True)]
    found: pd.DataFrame = rows[pd.Series(flags, rows.index, dtype="bool")]
    return found


def _joined(parts: list[pd.DataFrame]) -> pd.DataFrame:
    return pd.concat([columns.empty(POSTINGS), *parts], ignore_index=True)
