"""Journal entries of a period, for the import of QuickBooks Online, Xero and Odoo.

One entry per business day and channel, balanced to the whole unit: what came in on the clearing
account, the fee with its taxes apart, the customers' side; payouts from the clearing account to the
bank; refunds. Money of breaks has an entry of its own on the suspense account, or is listed as not
booked. The number of an entry is made of the day, the channel and the contents, so that a day that
is closed again has the same numbers; where an earlier close is known, an entry is only what changed
since.
"""

import hashlib
import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from datetime import date, timedelta
from pathlib import Path
from typing import Any, Final

import msgspec
import pandas as pd

from kusanya.errors import InputRefused, PackRefused
from kusanya.text import safe
from kusanya_books import columns
from kusanya_books.columns import POSTINGS
from kusanya_books.columns.dtypes import is_missing
from kusanya_books.judge.postings import (
    COLLECTIONS,
    LINE_BREAK,
    NOT_BOOKED,
    PAYOUT,
    PAYOUT_BREAK,
    REFUND,
)
from kusanya_books.pack.account_map import AccountMap
from kusanya_books.read import pack_folder
from kusanya_books.read.pack_folder import PackName

AFTER: Final = "entries_after"
"""In what a pack was made from: the runs whose entries its own continue, each with its days."""
_IMPORTED: Final = "journals/odoo.csv"
"""A pack that lists it has entries to import."""
_NUMBER_HEX: Final = 12
"""Characters of the contents in a number: QuickBooks takes 21 in all."""
_KEY: Final = ("business_day", "currency", "channel", "kind", "break_code")
_MONEY: Final = ("rows", "gross", "fee", "excise", "vat", "net")
_SUSPENSE: Final = "suspense"
_SIDES: Final = {
    PAYOUT: ("bank", "clearing", "paid out"),
    REFUND: ("refund", "clearing", "given back"),
    PAYOUT_BREAK: ("bank", _SUSPENSE, "paid out"),
    LINE_BREAK: ("clearing", _SUSPENSE, "moved at the operator"),
}
"""Of each kind: the account that is debited, the one that is credited, and in words."""
_Entry = tuple[date, str | None, bool]
"""Day, channel, and whether it is money of breaks."""


class Continued(msgspec.Struct, frozen=True, array_like=True):
    """Days, both included, and the run that booked them last."""

    first: date
    last: date
    run: str


class Booked(msgspec.Struct, frozen=True):
    """What earlier closes booked of the days of a period."""

    postings: pd.DataFrame
    """POSTINGS, of each day those of the run that booked it last."""
    runs: tuple[Continued, ...]

    def run_of(self, day: date) -> str:
        """Return the run that booked a day last; empty where none did."""
        return next((one.run for one in self.runs if one.first <= day <= one.last), "")


class Line(msgspec.Struct, frozen=True):
    """One line of an entry; a debit is positive, a credit negative."""

    account: str
    amount: int
    text: str


class JournalEntry(msgspec.Struct, frozen=True, kw_only=True):
    """One balanced entry of a day and channel."""

    number: str
    day: date
    memo: str
    lines: tuple[Line, ...]


class NotBooked(msgspec.Struct, frozen=True, kw_only=True):
    """Money of a break that is in no entry."""

    day: date
    channel: str | None
    break_code: str | None
    amount: int


class Journals(msgspec.Struct, frozen=True, kw_only=True):
    """The entries of a period in the currency of the account map."""

    entries: tuple[JournalEntry, ...]
    missing: Mapping[str, int]
    """Accounts that the map does not name, as it would name them, and how many entries need each.
    Those entries are not among `entries`."""
    not_booked: tuple[NotBooked, ...]
    other_currencies: Mapping[str, int]
    """How many postings of other currencies are left out: each needs an account map of its own."""

    @property
    def refusal(self) -> str:
        """Return why these entries must not be imported, and what to do; empty where they may."""
        if not self.missing:
            return ""
        named = ", ".join(f"{name} ({n:,} entries)" for name, n in sorted(self.missing.items()))
        return f"no journal entries: the account map names no account for {named}; add them to it"


def journals(
    postings: pd.DataFrame, accounts: AccountMap, *, booked: Booked | None = None
) -> Journals:
    """Return the entries of POSTINGS, of `booked`, those of an earlier close, what changed since.

    What changed is numbered by the run that it continues too: money that came, went and came again
    is three entries, of which the third must not be taken for the first.
    Raises PackRefused for a day whose debits and credits differ.
    """
    columns.check(postings, POSTINGS)
    ours = postings["currency"] == accounts.currency
    before = _amounts(None if booked is None else booked.postings, accounts.currency)
    now = _amounts(postings, accounts.currency)
    parts: dict[_Entry, dict[tuple[Any, ...], tuple[int, ...]]] = defaultdict(dict)
    left: list[NotBooked] = []
    for key in sorted({*now, *before}, key=str):
        none = (0,) * len(_MONEY)
        change = tuple(
            a - b for a, b in zip(now.get(key, none), before.get(key, none), strict=True)
        )
        day, channel, kind, code = key
        is_break = kind in {PAYOUT_BREAK, LINE_BREAK}
        if kind == NOT_BOOKED or (is_break and accounts.account(_SUSPENSE, channel) is None):
            if key in now:
                amount = now[key][-1]
                left.append(NotBooked(day=day, channel=channel, break_code=code, amount=amount))
        elif any(change[1:]):
            parts[day, channel, is_break][kind, code] = change
    made: list[JournalEntry] = []
    missing: Counter[str] = Counter()
    for entry, rows in sorted(parts.items(), key=str):
        past = {key: money for key, money in before.items() if _entry_of(key) == entry}
        lines, lacking = _lines(entry, rows, accounts)
        if lacking:
            missing.update(lacking)
        elif lines:
            run = "" if booked is None else booked.run_of(entry[0])
            contents = [accounts.currency, _plain(rows), _plain(past), *([run] if run else [])]
            made.append(_entry(entry, lines, contents, is_changed=bool(past)))
    others = postings.loc[~ours, "currency"]
    return Journals(
        entries=tuple(made),
        missing=dict(missing),
        not_booked=tuple(left),
        other_currencies={str(name): int(n) for name, n in others.groupby(others).size().items()},
    )


def of_pack(
    folder: Path, accounts: AccountMap, *, booked: Path | None = None, is_first: bool = False
) -> Journals:
    """Return the entries of a pack; `booked` is the earlier pack whose entries these continue.

    Without it those are the ones which the pack itself names, and which must lie beside it. A pack
    that was made without accounts names none: `is_first` says that no entry of its days is in the
    books. Raises InputRefused when a folder is no pack of this version, and where another pack of
    the same days lies beside and nobody said which is booked; else as `journals`.
    """
    postings, manifest = _read(folder)
    own = manifest["made_from"]
    first, last = _days_of(own)
    if booked is not None:
        earlier, said = _read(booked)
        if not _is_of_the_same_books(said["made_from"], own):
            raise InputRefused(
                f"{booked.resolve().name} is of another store, mode, entity or cutoff: its entries "
                f"are not continued by those of {folder.resolve().name}"
            )
        # What it booked of other days stays as it is.
        runs = (Continued(first, last, str(said["run_id"])),)
        return journals(postings, accounts, booked=Booked(_within(earlier, runs[0]), runs))
    beside, after = folder.resolve().parent, own.get(AFTER)
    if after is not None:
        return journals(postings, accounts, booked=_continued(beside, _runs(folder, after)))
    if not is_first and _IMPORTED not in manifest["files"]:
        for other, name in _packs(beside):
            if name.run == manifest["run_id"] or not name.meets(first, last):
                continue
            if _is_of_the_same_books(pack_folder.manifest(other)["made_from"], own):
                raise InputRefused(
                    f"{other.name} is of the same days: where its entries are in the books, give "
                    "it with --booked, so that they are not booked twice; else give --booked none"
                )
    return journals(postings, accounts)


def earlier_close(out: Path, made_from: Mapping[str, Any]) -> Booked | None:
    """Return what the packs of a folder have booked of the days of a period; None for nothing.

    Nights and their month are of the same days: each day is as the run says that booked it last. A
    close that lies there already continues what it did then, whatever came after it.
    """
    same = json.loads(json.dumps(made_from))
    first, last = _days_of(same)
    found: dict[str, _Close] = {}
    for folder, one in _packs(out):
        if one.mode != same["mode"] or not one.meets(first, last):
            continue
        manifest = pack_folder.manifest(folder)
        made = manifest["made_from"]
        after = made.pop(AFTER, None)
        # Who imports the entries may move their files away: they are booked all the same.
        if _IMPORTED not in manifest["files"]:
            continue
        if not _is_of_the_same_books(made, same):
            continue
        runs = () if after is None else _runs(folder, after)
        if made == same:
            return _continued(out, runs) if runs else None
        found[one.run] = _Close(one, int(made["as_of"]), runs)
    days = (first + timedelta(days=number) for number in range((last - first).days + 1))
    by_day = [(day, run) for day in days if (run := _booked_last(day, found)) is not None]
    return _continued(out, _as_spans(by_day)) if by_day else None


class _Close(msgspec.Struct, frozen=True):
    """A close with entries: its days, its place of the journal, and what its entries continue."""

    name: PackName
    as_of: int
    after: tuple[Continued, ...]


def _booked_last(day: date, closes: Mapping[str, _Close]) -> str | None:
    """Return the run that no other one continues on a day, the newest of several."""
    of_day = [close for close in closes.values() if close.name.first <= day <= close.name.last]
    continued = {one.run for close in of_day for one in close.after if one.first <= day <= one.last}
    left = [(close.as_of, close.name.run) for close in of_day if close.name.run not in continued]
    return max(left)[1] if left else None


def _as_spans(by_day: list[tuple[date, str]]) -> tuple[Continued, ...]:
    spans: list[Continued] = []
    for day, run in by_day:
        if spans and spans[-1].run == run and spans[-1].last + timedelta(days=1) == day:
            spans[-1] = Continued(spans[-1].first, day, run)
        else:
            spans.append(Continued(day, day, run))
    return tuple(spans)


def _continued(out: Path, runs: tuple[Continued, ...]) -> Booked:
    """Return what the named runs booked, each on its days."""
    packs = {name.run: folder for folder, name in _packs(out)}
    parts = []
    for one in runs:
        if one.run not in packs:
            raise InputRefused(
                f"these entries continue those of run {one.run}, whose pack is not in {out.name}: "
                "put it there, or give its folder with --booked"
            )
        parts.append(_within(_read(packs[one.run])[0], one))
    return Booked(pd.concat(parts, ignore_index=True), runs)


def _within(postings: pd.DataFrame, span: Continued) -> pd.DataFrame:
    days = postings["business_day"].dt.date
    found: pd.DataFrame = postings[(days >= span.first) & (days <= span.last)]
    return found


def _days_of(made_from: Mapping[str, Any]) -> tuple[date, date]:
    return date.fromisoformat(made_from["first"]), date.fromisoformat(made_from["last"])


def _is_of_the_same_books(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    is_same = all(one.get(part) == other[part] for part in ("store_id", "mode", "cutoff"))
    return is_same and pack_folder.is_of_entity(one, other["entity"])


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


def _read(folder: Path) -> tuple[pd.DataFrame, dict[str, Any]]:
    manifest = pack_folder.manifest(folder)
    path = pack_folder.as_written(folder, manifest, "csv/postings.raw.csv")
    try:
        read = pd.read_csv(path, dtype="string", keep_default_na=False)
        read = read.mask(read == "")
        whole = [name for name, kind in POSTINGS.columns.items() if kind is columns.DType.WHOLE]
        read["business_day"] = pd.to_datetime(read["business_day"])
        return columns.frame(POSTINGS, read.astype(dict.fromkeys(whole, "Int64"))), manifest
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise InputRefused(f"{folder.resolve().name}: its postings cannot be read") from error


def _amounts(
    postings: pd.DataFrame | None, currency: str
) -> dict[tuple[Any, ...], tuple[int, ...]]:
    """Return the money of POSTINGS by day, channel, kind and break code."""
    if postings is None:
        return {}
    return {
        (
            row.business_day.date(),
            *(None if is_missing(part) else str(part) for part in (row.channel, row.kind)),
            None if is_missing(row.break_code) else str(row.break_code),
        ): tuple(int(getattr(row, name)) for name in _MONEY)
        for row in columns.records(postings[postings["currency"] == currency])
    }


def _entry_of(key: tuple[Any, ...]) -> _Entry:
    day, channel, kind, _ = key
    return day, channel, kind in {PAYOUT_BREAK, LINE_BREAK}


def _lines(
    entry: _Entry, rows: Mapping[tuple[Any, ...], tuple[int, ...]], accounts: AccountMap
) -> tuple[list[Line], set[str]]:
    """Return the lines of an entry, and which accounts they lack."""
    channel = entry[1]
    named = safe(channel or "all channels", 40)
    made: list[Line] = []
    lacking: set[str] = set()
    for (kind, code), (count, gross, fee, excise, vat, net) in rows.items():
        if kind == COLLECTIONS:
            parts = [
                ("clearing", net, f"{count:,} payments less fees"),
                ("fee", fee - excise - vat, "fees"),
                ("excise", excise, "excise in the fees"),
                ("vat", vat, "VAT in the fees"),
                ("receivable", -gross, f"{count:,} payments of customers"),
            ]
        else:
            debit, credit, word = _SIDES[kind]
            said = f"{word}, {code}" if code else word
            parts = [(debit, net, said), (credit, -net, said)]
        for role, amount, text in parts:
            account = accounts.account(role, channel)
            if amount and account is None:
                lacking.add(role if channel is None else f"{role} of {named}")
            elif amount and account is not None:
                made.append(Line(account, amount, f"{named}: {text}"))
    return made, lacking


def _entry(
    entry: _Entry, lines: list[Line], contents: list[Any], *, is_changed: bool
) -> JournalEntry:
    """Return an entry whose number follows from its day, its channel and `contents`."""
    day, channel, is_break = entry
    apart = sum(line.amount for line in lines)
    if apart:
        raise PackRefused(f"the postings of {day} do not balance: debits - credits = {apart:,}")
    made_of = json.dumps([str(day), channel, is_break, *contents])
    digest = hashlib.sha256(made_of.encode()).hexdigest()[:_NUMBER_HEX]
    what = "Breaks of mobile money" if is_break else "Mobile money"
    since = ", changed since it was closed" if is_changed else ""
    return JournalEntry(
        number=f"{day:%Y%m%d}-{digest}",
        day=day,
        memo=f"{what} of {day}, {safe(channel or 'all channels', 40)}{since}",
        lines=tuple(lines),
    )


def _plain(rows: Mapping[tuple[Any, ...], Iterable[int]]) -> list[Any]:
    return sorted(([*map(str, key)], list(money)) for key, money in rows.items())
