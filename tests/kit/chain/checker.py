"""What must be open after each close of a chain: told from the files alone, in plain Python.

For each name that two sides know (a reference, a payment at its operator, a day of a channel, a
payout) everything that was ever said on either side is added up. What is not zero is open. It may
wait while its newest line lies at the very end of the month, where the other side's next file may
still bring it. Nothing here comes from the product but the columns of its files.
"""

import csv
from collections import defaultdict
from collections.abc import Iterable, Iterator
from datetime import date, datetime, timedelta
from pathlib import Path
from typing import Any, Final
from zoneinfo import ZoneInfo

import msgspec

GRACE: Final = timedelta(days=1)
_EAT: Final = ZoneInfo("Africa/Dar_es_Salaam")
_BACK: Final = frozenset({"refund", "credit_note", "chargeback"})
Key = tuple[str, str]
"""A leg (books, operator, operator fee, statement, bank) and what it is about."""
Row = dict[str, str]


class Paid(msgspec.Struct, frozen=True):
    """What the service says of a payment that succeeded."""

    collection: str
    reference: str
    channel: str
    amount: int
    fee: int
    day: date


class Balance(msgspec.Struct):
    """What one side has more than the other, and the newest day on which either spoke."""

    amount: int = 0
    newest: date = date.min

    def add(self, amount: int, day: date) -> None:
        """Count a line."""
        self.amount += amount
        self.newest = max(self.newest, day)


class Open(msgspec.Struct, frozen=True):
    """What is open after a close: what must be named, and what may still come by itself."""

    certain: dict[Key, int]
    waiting: dict[Key, int]


def open_after(
    folders: Iterable[Path], paid: Iterable[Paid], last: date, *, has_books: bool = True
) -> Open:
    """Return what is open after the close of the month that ends on `last`.

    `folders` are those of all months up to it, `paid` what the service said up to its close.
    """
    files = list(folders)
    said = [one for one in paid if one.day <= last]
    every = {
        **(_books(list(_lines(files, "books.csv")), said) if has_books else {}),
        **_operators(files, said),
        **_statement(list(_lines(files, "settlement.csv")), said),
        **_bank(files),
    }
    left = {key: balance for key, balance in every.items() if balance.amount}
    early = {key for key, balance in left.items() if balance.newest > last - GRACE}
    return Open(
        certain={key: one.amount for key, one in left.items() if key not in early},
        waiting={key: one.amount for key, one in left.items() if key in early},
    )


def _lines(folders: list[Path], name: str) -> Iterator[Row]:
    for folder in folders:
        if (folder / name).exists():
            with (folder / name).open(newline="") as file:
                yield from csv.DictReader(file)


def _books(lines: list[Row], paid: list[Paid]) -> dict[Key, Balance]:
    """Return books less service by reference; a refund pays back what was paid and no more."""
    found: defaultdict[Key, Balance] = defaultdict(Balance)
    refunds: defaultdict[Key, int] = defaultdict(int)
    booked: defaultdict[Key, int] = defaultdict(int)
    worth: defaultdict[Key, int] = defaultdict(int)
    for row in lines:
        key = ("books", row["reference"])
        amount, day = int(row["amount"]), date.fromisoformat(row["booked_at"])
        if row["kind"] in _BACK:
            refunds[key] -= amount
            found[key].add(0, day)
        elif row["status"] == "paid":
            booked[key] += amount
            found[key].add(0, day)
    for one in paid:
        worth[("books", one.reference)] += one.amount
        found[("books", one.reference)].add(0, one.day)
    for key, balance in found.items():
        # Refunded and booked before, or refunded and never booked: both are right.
        apart = booked[key] - worth[key]
        unpaid = max(0, refunds[key] - worth[key])
        paid_back = min(refunds[key], worth[key])
        balance.amount = (0 if apart + paid_back == 0 else apart) - unpaid
    return found


def _operators(folders: list[Path], paid: list[Paid]) -> dict[Key, Balance]:
    """Return operator less service by reference, and its fees less the service's."""
    found: defaultdict[Key, Balance] = defaultdict(Balance)
    given: set[str] = set()
    charged: defaultdict[Key, Balance] = defaultdict(Balance)
    for path in sorted({path.name for folder in folders for path in folder.glob("*_tz.csv")}):
        given.add(path.removesuffix(".csv").upper())
        for row in _lines(folders, path):
            amount = int(row["amount"])
            day = datetime.fromisoformat(row["at"]).astimezone(_EAT).date()
            name = row["reference"] or row["receipt"]
            if row["kind"] == "fee":
                charged[("operator fee", row["reference"])].add(-amount, day)
            elif row["kind"] not in {"payout", "refund"}:
                found[("operator", name)].add(amount, day)
            if row["fee"]:
                charged[("operator fee", row["reference"])].add(int(row["fee"]), day)
    for one in paid:
        if one.channel in given:
            found[("operator", one.reference)].add(-one.amount, one.day)
            charged[("operator fee", one.reference)].add(-one.fee, one.day)
    # The fee of a payment that one side does not know is open with the payment.
    alone = {name for (_, name), balance in found.items() if balance.amount}
    fees = {key: one for key, one in charged.items() if key[1] not in alone}
    return {**found, **fees}


def _statement(lines: list[Row], paid: list[Paid]) -> dict[Key, Balance]:
    """Return what the provider paid less what it owes, by collection or by channel and day."""
    found: defaultdict[Key, Balance] = defaultdict(Balance)
    by_item = any(row.get("collection_id") for row in lines)
    given = {row["channel"] for row in lines}
    for row in lines:
        day = date.fromisoformat(row["business_day"])
        name = row["collection_id"] if by_item else f"{row['channel']} {day}"
        found[("statement", name)].add(int(row["net"]), day)
    for one in paid:
        if one.channel in given:
            name = one.collection if by_item else f"{one.channel} {one.day}"
            found[("statement", name)].add(one.fee - one.amount, one.day)
    return found


def _bank(folders: list[Path]) -> dict[Key, Balance]:
    """Return what the bank credited less what was paid out, by payout."""
    found: defaultdict[Key, Balance] = defaultdict(Balance)
    own: set[str] = set()
    for path in sorted({path.name for folder in folders for path in folder.glob("*_tz.csv")}):
        for row in _lines(folders, path):
            if row["kind"] == "payout":
                own.add(row["channel"])
                day = datetime.fromisoformat(row["at"]).astimezone(_EAT).date()
                found[("bank", row["receipt"])].add(int(row["amount"]), day)
    for row in _lines(folders, "settlement.csv"):
        if row["channel"] not in own:
            day = date.fromisoformat(row["business_day"])
            found[("bank", row["batch_id"])].add(-int(row["net"]), day)
    for row in _lines(folders, "bank.csv"):
        if row["kind"] == "charge":
            continue
        day = datetime.fromisoformat(row["at"]).astimezone(_EAT).date()
        name = next((word for word in row["details"].split() if word.startswith("PO")), "?")
        found[("bank", name)].add(int(row["amount"]), day)
    return found


def is_named(key: Key, amount: int, items: list[dict[str, Any]]) -> bool:
    """Return whether the open items of a pack name what is open, with its money and no other.

    Of several items, such as two lines of a payment that is not known yet, the sum is its money.
    """
    found = [item for item in items if names(item, key)]
    balance = sum(int(item["balance"] or 0) for item in found)
    # A payout's balance is what is owed: what was paid beyond that is below zero.
    return balance == (-amount if key[0] == "statement" else amount) or any(
        int(item["amount"]) == abs(amount) for item in found
    )


def unfounded(items: list[dict[str, Any]], known: Open) -> list[dict[str, Any]]:
    """Return the breaks of a pack that nothing in the files bears out."""
    keys = [*known.certain, *known.waiting]
    stands = [item for item in items if item["standing"] == "break"]
    return [item for item in stands if not any(names(item, key) for key in keys)]


def names(item: dict[str, Any], key: Key) -> bool:
    """Return whether an open item is about a key."""
    leg, name = key
    if item["leg"] not in {"books": {"books", "doubles"}}.get(leg, {leg.partition(" ")[0]}):
        return False
    said = {item["reference"], item["collection_id"], item["subject"]}
    return name in said or f"{item['channel']} {str(item['day'])[:10]}" == name
