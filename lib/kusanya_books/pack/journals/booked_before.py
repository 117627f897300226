"""Which entries the books have already: what earlier closes said of the days of a close.

Nights and their month are of the same days, and a later period books what came late of an earlier
one. So each part of each day is as the close says that booked it last.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from datetime import date
from pathlib import Path
from typing import Any, Final

import msgspec
import pandas as pd

from kusanya.errors import InputRefused
from kusanya_books.judge.postings import COLLECTIONS
from kusanya_books.pack.journals.to_book import (
    LATE_PARTS,
    OTHERS,
    PARTS,
    Booked,
    Continued,
    ToBook,
    books_others_of,
    given_to,
    joined,
    read,
)
from kusanya_books.read import pack_folder
from kusanya_books.read.pack_folder import PackName
from kusanya_books.request.days import DAY, each_day

AFTER: Final = "entries_after"
"""In what a pack was made from: the runs whose entries its own continue, each with its days."""
LATE: Final = "late_days"
"""In a manifest: the days before the period of which its entries book what changed since."""
CURRENCY: Final = "entries_in"
"""What a manifest calls the currency of its entries: each has a map of accounts, and books, of its
own."""
_IMPORTED: Final = "journals/odoo.csv"
"""A pack that lists it has entries to import."""


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
        known = own.late & {*again, *each_day(earlier.first, earlier.last)}
        if own.first <= earlier.first <= own.last:
            known |= {day for day in again if day >= own.begins}
        runs += [Continued(day, day, run, part) for day in sorted(known) for part in LATE_PARTS]
        return Booked(joined([earlier.of(one) for one in runs]), tuple(runs))
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

    def books(self, day: date, part: str) -> bool:
        """Return whether its entries book a part of a day."""
        if day < self.name.first:
            return any(one.has(day, part) for one in self.after)
        return day <= self.name.last and (self.books_others or part == COLLECTIONS)

    @property
    def days(self) -> frozenset[date]:
        """Return the days of which its entries book anything."""
        spans = [(one.first, one.last) for one in self.after]
        return frozenset(
            day for span in [*spans, (self.name.first, self.name.last)] for day in each_day(*span)
        )


def earlier_close(
    out: Path, made_from: Mapping[str, Any], own: ToBook, *, currency: str
) -> Booked | None:
    """Return what the packs of a folder have booked of the days of a close; None for nothing.

    Those whose entries are in another currency booked nothing of it.
    A close that lies there already continues what it did then, whatever came after it.
    """
    same = json.loads(json.dumps(made_from))
    found: dict[str, _Close] = {}
    made_of: dict[str, Mapping[str, Any]] = {}
    for folder, name in _packs(out):
        if name.mode != same["mode"] or name.last < min({own.begins, *own.late}):
            continue
        manifest = pack_folder.manifest(folder)
        made = manifest["made_from"]
        after = made.pop(AFTER, ())
        made_of[name.run] = made
        # Who imports the entries may move their files away: they are booked all the same.
        if not has_entries(manifest, currency):
            continue
        if not _is_of_the_same_books(made, same):
            continue
        runs = _runs(folder, after)
        if made == same:
            has_more = own.books_others and not books_others_of(manifest)
            return _continued(out, runs, has_more=has_more) if runs else None
        found[name.run] = _Close(
            name, int(made["as_of"]), given_to(manifest), books_others_of(manifest), runs
        )
    has_more = own.books_others and _has_more(own, found)
    if has_more:
        own = msgspec.structs.replace(own, books_others=False)
    chain = _chain(same, made_of)
    runs = _as_spans(_last_of_each(own, found, chain, as_of=int(same["as_of"])))
    return _continued(out, runs, has_more=has_more) if runs else None


def _chain(own: Mapping[str, Any], made_of: Mapping[str, Mapping[str, Any]]) -> frozenset[str]:
    """Return the runs that are carried to a close, and those that closed the same.

    The books of each currency have a close of their own, and the next one carries one of them.
    """
    carried, name = [], pack_folder.previous_of(own)
    while (before := made_of.get(name)) is not None:
        carried.append(pack_folder.facts(before))
        name = pack_folder.previous_of(before)
    return frozenset(run for run, one in made_of.items() if pack_folder.facts(one) in carried)


def _has_more(own: ToBook, closes: Mapping[str, _Close]) -> bool:
    """Return whether a close that booked a day last was given a statement that this one lacks."""
    last = {_booked_last(day, OTHERS, closes) for day in each_day(own.first, own.last)}
    return any(not closes[run].given <= own.given for run in last if run is not None)


def _last_of_each(
    own: ToBook, closes: Mapping[str, _Close], chain: frozenset[str], *, as_of: int
) -> Iterator[Continued]:
    """Yield which run booked each day and part of a close last, where one did.

    Of the days before its period those that changed, and those of which another close said more
    than the one that it follows. What became known of a day's statements since is so beside
    the entries of the closes of its `chain`: where another one booked them since, that one knows.
    """
    newer = [one for one in closes.values() if own.known_at < one.as_of <= as_of]
    late = own.late
    others = {day for one in newer for day in one.days if own.begins <= day < own.first}
    for day in sorted(late | others):
        others_by = _booked_last(day, OTHERS, closes)
        is_ours = others_by is None or others_by in chain
        for part in LATE_PARTS if is_ours else (COLLECTIONS,):
            # Where nobody booked a day's statements, nothing is booked of them since.
            run = _booked_last(day, part, closes) or _booked_last(day, COLLECTIONS, closes)
            if run is not None and (day in late or closes[run] in newer):
                yield Continued(day, day, run, part)
    for day in each_day(own.first, own.last):
        runs = {part: _booked_last(day, part, closes) for part in PARTS}
        last = runs[COLLECTIONS]
        if not own.books_others:
            runs = {COLLECTIONS: last}
        elif last is not None and {*runs.values()} == {last}:
            runs = {"": last}
        yield from (Continued(day, day, run, part) for part, run in runs.items() if run is not None)


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
    return Booked(joined(parts), runs, has_more)


def _late_days(manifest: Mapping[str, Any], first: date) -> frozenset[date]:
    """Return the days before a pack's period of which it says what changed since."""
    after = manifest["made_from"].get(AFTER, ())
    spans = [(date.fromisoformat(one[0]), date.fromisoformat(one[1])) for one in after]
    own = map(date.fromisoformat, manifest.get(LATE, ()))
    return frozenset({*own, *(day for span in spans for day in each_day(*span) if day < first)})


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
