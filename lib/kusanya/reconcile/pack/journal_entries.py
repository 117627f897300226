"""Journal entries of a period, for the import of QuickBooks Online, Xero and Odoo.

One entry per business day, balanced to the whole unit, with lines of each channel: what came in on
the clearing account, the fee with its taxes apart, the customers' side; payouts from the clearing
account to the bank; refunds. The number of an entry is made of the run id and the day, so that a
second import of the same run is recognised.
"""

import json
from collections.abc import Iterable, Mapping
from datetime import date
from pathlib import Path
from typing import Any, Final

import msgspec
import pandas as pd

from kusanya.errors import InputRefused, PackRefused
from kusanya.reconcile.analysis.postings import COLLECTIONS, PAYOUT
from kusanya.reconcile.frames import columns
from kusanya.reconcile.frames.columns import POSTINGS
from kusanya.reconcile.pack.account_map import AccountMap
from kusanya.text import safe

_NUMBER_HEX: Final = 8
"""Characters of the run id in a number: QuickBooks takes 21 in all."""


class Line(msgspec.Struct, frozen=True):
    """One line of an entry; a debit is positive, a credit negative."""

    account: str
    amount: int
    text: str


class JournalEntry(msgspec.Struct, frozen=True, kw_only=True):
    """One balanced entry of a day."""

    number: str
    day: date
    memo: str
    lines: tuple[Line, ...]


class Journals(msgspec.Struct, frozen=True, kw_only=True):
    """The entries of a period in the currency of the account map."""

    entries: tuple[JournalEntry, ...]
    other_currencies: Mapping[str, int]
    """How many postings of other currencies are left out: each needs an account map of its own."""


def journals(postings: pd.DataFrame, accounts: AccountMap, *, run_id: str) -> Journals:
    """Return the entries of POSTINGS.

    Raises InputRefused when an account that is needed has no name, PackRefused for a day whose
    debits and credits differ.
    """
    columns.check(postings, POSTINGS)
    ours = postings["currency"] == accounts.currency
    days: dict[date, list[Line]] = {}
    for row in columns.records(postings[ours]):
        days.setdefault(row.business_day.date(), []).extend(_lines(row, accounts))
    others = postings.loc[~ours, "currency"]
    return Journals(
        entries=tuple(
            _entry(day, lines, accounts, run_id) for day, lines in sorted(days.items()) if lines
        ),
        other_currencies={str(name): int(n) for name, n in others.groupby(others).size().items()},
    )


def of_pack(folder: Path, accounts: AccountMap) -> Journals:
    """Return the entries of a pack.

    Raises InputRefused when the folder is no pack of this version, else as `journals`.
    """
    try:
        run_id = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))["run_id"]
        read = pd.read_csv(
            folder / "csv" / "postings.raw.csv", dtype="string", keep_default_na=False
        )
        read = read.mask(read == "")
        whole = [name for name, kind in POSTINGS.columns.items() if kind is columns.DType.WHOLE]
        read["business_day"] = pd.to_datetime(read["business_day"])
        postings = columns.frame(POSTINGS, read.astype(dict.fromkeys(whole, "Int64")))
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise InputRefused(
            f"{folder.resolve().name} is not the folder of a pack of this version"
        ) from error
    return journals(postings, accounts, run_id=str(run_id))


def _lines(row: Any, accounts: AccountMap) -> Iterable[Line]:
    channel = None if pd.isna(row.channel) else str(row.channel)
    where = f"{channel or 'all channels'}, {row.business_day:%Y-%m-%d}"

    def line(role: str, amount: int, text: str) -> Line | None:
        if not amount:
            return None
        return Line(accounts.account(role, channel, needed_by=where), amount, text)

    named = safe(channel or "all channels", 40)
    made: list[Line | None]
    if row.kind == COLLECTIONS:
        bare = int(row.fee) - int(row.excise) - int(row.vat)
        made = [
            line("clearing", int(row.net), f"{named}: {row.rows:,} payments less fees"),
            line("fee", bare, f"{named}: fees"),
            line("excise", int(row.excise), f"{named}: excise in the fees"),
            line("vat", int(row.vat), f"{named}: VAT in the fees"),
            line("receivable", -int(row.gross), f"{named}: {row.rows:,} payments of customers"),
        ]
    else:
        role, word = ("bank", "paid out") if row.kind == PAYOUT else ("refund", "given back")
        made = [
            line(role, int(row.net), f"{named}: {word}"),
            line("clearing", -int(row.net), f"{named}: {word}"),
        ]
    return [each for each in made if each is not None]


def _entry(day: date, lines: list[Line], accounts: AccountMap, run_id: str) -> JournalEntry:
    apart = sum(line.amount for line in lines)
    if apart:
        raise PackRefused(f"the postings of {day} do not balance: debits - credits = {apart:,}")
    return JournalEntry(
        number=f"{run_id[:_NUMBER_HEX]}-{day:%Y%m%d}-{accounts.currency}",
        day=day,
        memo=f"Mobile money of {day}, run {run_id}",
        lines=tuple(lines),
    )
