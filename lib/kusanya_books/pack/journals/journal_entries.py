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
from collections.abc import Iterable, Mapping
from datetime import date
from pathlib import Path
from typing import Any, Final

import msgspec
import pandas as pd

from kusanya.errors import PackRefused
from kusanya.text import safe
from kusanya_books import columns
from kusanya_books.columns import POSTINGS
from kusanya_books.columns.dtypes import is_missing
from kusanya_books.judge.postings import (
    CHARGE_SINCE,
    COLLECTIONS,
    EXPLAINED,
    FIGURES,
    LINE_BREAK,
    NOT_BOOKED,
    OVER_SINCE,
    PAID_SINCE,
    PAYOUT,
    PAYOUT_BREAK,
    PROVIDER_CHARGE,
    REFUND,
    REFUND_SINCE,
    differences,
)
from kusanya_books.pack.journals import booked_before, to_book
from kusanya_books.pack.journals.account_map import AccountMap
from kusanya_books.pack.journals.to_book import Booked, ToBook

_NUMBER_HEX: Final = 12
"""Characters of the contents in a number: QuickBooks takes 21 in all."""
_KEY: Final = ("business_day", "currency", "channel", "kind", "break_code")
_SUSPENSE: Final = "suspense"
_SIDES: Final = {
    PAYOUT: ("bank", "clearing", "paid out"),
    PAID_SINCE: ("bank", "clearing", "paid out"),
    REFUND: ("refund", "clearing", "given back"),
    REFUND_SINCE: ("refund", "clearing", "given back"),
    PROVIDER_CHARGE: ("fee", "clearing", "charged by the provider"),
    CHARGE_SINCE: ("fee", "clearing", "charged by the provider"),
    PAYOUT_BREAK: ("bank", _SUSPENSE, "paid out"),
    LINE_BREAK: ("clearing", _SUSPENSE, "moved at the operator"),
    OVER_SINCE: ("bank", _SUSPENSE, "paid out"),
    EXPLAINED: (_SUSPENSE, "clearing", "explained since"),
}
"""Of each kind: the account that is debited, the one that is credited, and in words."""
_OF_BREAKS: Final = frozenset({PAYOUT_BREAK, LINE_BREAK, OVER_SINCE, EXPLAINED})
_Entry = tuple[date, str | None, bool]
"""Day, channel, and whether it is money of breaks."""


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
    postings: pd.DataFrame,
    accounts: AccountMap,
    *,
    booked: Booked | None = None,
    first: date = date.min,
) -> Journals:
    """Return the entries of POSTINGS, of `booked`, those of an earlier close, what changed since.

    What changed is numbered by the runs that it continues too: money that came, went and came again
    is three entries, of which the third must not be taken for the first. `first` is the first day
    of the period: what is of earlier days, whose books are closed, is booked on it.
    Raises PackRefused for a day whose debits and credits differ.
    """
    columns.check(postings, POSTINGS)
    ours = postings["currency"] == accounts.currency
    before = _amounts(None if booked is None else booked.postings, accounts.currency)
    now = _amounts(postings, accounts.currency)
    parts: dict[_Entry, dict[tuple[Any, ...], tuple[int, ...]]] = defaultdict(dict)
    left: list[NotBooked] = []
    for key, change in differences(now, before):
        day, channel, kind, code = key
        is_break = kind in _OF_BREAKS
        if kind == NOT_BOOKED or (is_break and accounts.account(_SUSPENSE, channel) is None):
            # What is explained was in no entry, and nobody has to book it.
            if key in now and kind != EXPLAINED:
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
            made.append(_entry(entry, lines, contents, first, is_changed=bool(past)))
    others = postings.loc[~ours, "currency"]
    return Journals(
        entries=tuple(made),
        missing=dict(missing),
        not_booked=tuple(left),
        other_currencies={str(name): int(n) for name, n in others.groupby(others).size().items()},
    )


def of_close(
    own: ToBook, accounts: AccountMap, *, booked: Booked | None, by_command: bool = False
) -> Journals:
    """Return the entries of what is to be booked, less what is `booked` of it; as `journals`."""
    now, before, waiting = own.beside(booked, by_command=by_command)
    runs = () if booked is None else booked.runs
    made = journals(now, accounts, booked=Booked(before, runs), first=own.first)
    rest = [
        NotBooked(day=day, channel=channel, break_code=code, amount=money[-1])
        for (day, channel, _, code), money in _amounts(waiting, accounts.currency).items()
    ]
    return msgspec.structs.replace(made, not_booked=(*made.not_booked, *rest))


def of_pack(
    folder: Path, accounts: AccountMap, *, booked: Path | None = None, is_first: bool = False
) -> Journals:
    """Return the entries of a pack; `booked` is the earlier pack whose entries these continue.

    Without it those are the ones which the pack itself names, and which must lie beside it. A pack
    that was made without accounts, or with those of another currency, names none: `is_first` says
    that no entry of its days is in the books. Raises InputRefused when a folder is no pack of this
    version, and where another pack of the same days lies beside and nobody said which is booked;
    else as `journals`.
    """
    own, manifest = to_book.read(folder)
    known = booked_before.of_pack(
        folder, own, manifest, currency=accounts.currency, booked=booked, is_first=is_first
    )
    by_command = not booked_before.has_entries(manifest, accounts.currency)
    return of_close(own, accounts, booked=known, by_command=by_command)


def _amounts(
    postings: pd.DataFrame | None, currency: str
) -> dict[tuple[Any, ...], tuple[int, ...]]:
    """Return the money of POSTINGS by day, channel, kind and break code."""
    if postings is None:
        return {}
    found: dict[tuple[Any, ...], tuple[int, ...]] = {}
    for row in columns.records(postings[postings["currency"] == currency]):
        texts = (row.channel, row.kind, row.break_code)
        key = (row.business_day.date(), *(None if is_missing(one) else str(one) for one in texts))
        money = (int(getattr(row, name)) for name in FIGURES)
        known = found.get(key, (0,) * len(FIGURES))
        found[key] = tuple(a + b for a, b in zip(known, money, strict=True))
    return found


def _entry_of(key: tuple[Any, ...]) -> _Entry:
    day, channel, kind, _ = key
    return day, channel, kind in _OF_BREAKS


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
    entry: _Entry, lines: list[Line], contents: list[Any], first: date, *, is_changed: bool
) -> JournalEntry:
    """Return an entry whose number follows from its day, its channel and `contents`."""
    day, channel, is_break = entry
    apart = sum(line.amount for line in lines)
    if apart:
        raise PackRefused(f"the postings of {day} do not balance: debits - credits = {apart:,}")
    made_of = json.dumps([str(day), channel, is_break, *contents])
    digest = hashlib.sha256(made_of.encode()).hexdigest()[:_NUMBER_HEX]
    what = "Breaks of mobile money" if is_break else "Mobile money"
    booked_on = max(day, first)
    since = ", changed since it was closed" if is_changed or booked_on != day else ""
    return JournalEntry(
        number=f"{booked_on:%Y%m%d}-{digest}",
        day=booked_on,
        memo=f"{what} of {day}, {safe(channel or 'all channels', 40)}{since}",
        lines=tuple(lines),
    )


def _plain(rows: Mapping[tuple[Any, ...], Iterable[int]]) -> list[Any]:
    return sorted(([*map(str, key)], list(money)) for key, money in rows.items())
