"""What must be open after each close of a chain: told from the files alone, in plain Python.

For each name that two sides know (a reference, a payment at its operator, a day of a channel, a
payout) everything that was ever said on either side is added up. What is not zero is open. It may
wait while its newest line lies at the very end of the month, where the other side's next file may
still bring it. Nothing here comes from the product but the columns of its files.
"""

import csv
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
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


class Given(msgspec.Struct, frozen=True):
    """The files that one close was given, and the days that they are of."""

    folder: Path
    first: date
    last: date
    left_out: frozenset[str] = frozenset()
    """Names of files that lie in the folder and were not given."""

    def has(self, name: str) -> bool:
        """Return whether a file was given."""
        return name not in self.left_out and (self.folder / name).exists()


class Said(msgspec.Struct, frozen=True, kw_only=True):
    """How the lines of a settlement statement say what they pay."""

    later: timedelta = timedelta()
    """How much later than the payments' day the day of a line is."""
    together: Mapping[str, str] = {}
    """Days of a channel that the line of another day pays with its own."""


PLAINLY: Final = Said()


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
    closes: Sequence[Given],
    paid: Iterable[Paid],
    *,
    has_books: bool = True,
    said: Said = PLAINLY,
    grace: timedelta = GRACE,
) -> Open:
    """Return what is open after the last of these closes; `paid` is what the service said by it."""
    last = closes[-1].last
    known = [one for one in paid if one.day <= last]
    every = {
        **(_books(list(_lines(closes, "books.csv")), known) if has_books else {}),
        **_operators(closes, known),
        **_statement(closes, known, said),
        **_bank(closes),
    }
    left = {key: balance for key, balance in every.items() if balance.amount}
    early = {key for key, balance in left.items() if balance.newest > last - grace}
    return Open(
        certain={key: one.amount for key, one in left.items() if key not in early},
        waiting={key: one.amount for key, one in left.items() if key in early},
    )


def _lines(closes: Sequence[Given], name: str) -> Iterator[Row]:
    """Yield the lines of a file of each close; of a second account's file too."""
    for close in closes:
        for path in sorted(close.folder.glob(f"*{name}")) if close.has(name) else []:
            with path.open(newline="") as file:
                yield from csv.DictReader(file)


def _is_compared(closes: Sequence[Given], name: str, day: date) -> bool:
    """Return whether a file of a day was given."""
    return any(close.has(name) for close in closes if close.first <= day <= close.last)


def _day_of(row: Row) -> date:
    return datetime.fromisoformat(row["at"]).astimezone(_EAT).date()


def _operator_files(closes: Sequence[Given]) -> list[str]:
    paths = (path for close in closes for path in close.folder.glob("[!0-9]*_tz.csv"))
    return sorted({path.name for path in paths})


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


def _operators(closes: Sequence[Given], paid: list[Paid]) -> dict[Key, Balance]:
    """Return operator less service by reference, and its fees less the service's."""
    found: defaultdict[Key, Balance] = defaultdict(Balance)
    charged: defaultdict[Key, Balance] = defaultdict(Balance)
    for path in _operator_files(closes):
        for row in _lines(closes, path):
            amount = int(row["amount"])
            day = _day_of(row)
            name = row["reference"] or row["receipt"]
            if row["kind"] == "fee":
                charged[("operator fee", row["reference"])].add(-amount, day)
            elif row["kind"] not in {"payout", "refund", "own"}:
                found[("operator", name)].add(amount, day)
            if row["fee"]:
                charged[("operator fee", row["reference"])].add(int(row["fee"]), day)
    for one in paid:
        if _is_compared(closes, f"{one.channel.lower()}.csv", one.day):
            found[("operator", one.reference)].add(-one.amount, one.day)
            charged[("operator fee", one.reference)].add(-one.fee, one.day)
    # The fee of a payment that one side does not know is open with the payment.
    alone = {name for (_, name), balance in found.items() if balance.amount}
    fees = {key: one for key, one in charged.items() if key[1] not in alone}
    return {**found, **fees}


def _statement(closes: Sequence[Given], paid: list[Paid], said: Said) -> dict[Key, Balance]:
    """Return what the provider paid less what it owes, by collection or by channel and day."""
    found: defaultdict[Key, Balance] = defaultdict(Balance)
    every = _lines(closes, "settlement.csv")
    # What the provider itself charges pays for nothing.
    lines = [row for row in every if row["kind"] != "charge"]
    by_item = any(row.get("collection_id") for row in lines)
    given = {row["channel"] for row in lines}

    def key_of(channel: str, day: date) -> Key:
        name = f"{channel} {day}"
        other = said.together.get(name, name)
        # The line that pays two days may lie in a month that is not closed yet.
        return "statement", other if other[-10:] <= f"{closes[-1].last}" else name

    for row in lines:
        day = date.fromisoformat(row["business_day"])
        # What takes back says the day of what it takes.
        day -= said.later if int(row["net"]) >= 0 else timedelta()
        key = ("statement", row["collection_id"]) if by_item else key_of(row["channel"], day)
        found[key].add(int(row["net"]), day)
    for one in paid:
        key = ("statement", one.collection) if by_item else key_of(one.channel, one.day)
        is_compared = _is_compared(closes, "settlement.csv", one.day) or key in found
        if one.channel in given and is_compared:
            found[key].add(one.fee - one.amount, one.day)
    return found


def _bank(closes: Sequence[Given]) -> dict[Key, Balance]:
    """Return what the bank credited less what was paid out, by payout.

    A credit of a payout that no file tells of is known by its own line.
    """
    found: defaultdict[Key, Balance] = defaultdict(Balance)
    for place, close in enumerate(closes):
        is_given = [each.has("bank.csv") for each in closes[place : place + 2]]
        for name, amount, day in _paid_out(close):
            # What the last day pays out comes on the day after.
            if is_given[0] or (day == close.last and is_given[-1]):
                found[("bank", name)].add(-amount, day)
    banked = _lines(closes, "bank.csv")
    for row in (row for row in banked if row["kind"] != "charge"):
        day = _day_of(row)
        name = next((word for word in row["details"].split() if word.startswith("PO")), "")
        if not name:
            continue  # of no payout
        if ("bank", name) not in found:
            name = f"line {day} {row['amount']}"
        found[("bank", name)].add(int(row["amount"]), day)
    return found


def _paid_out(close: Given) -> Iterator[tuple[str, int, date]]:
    """Yield the payouts that the files of a close tell of: the operators', else the provider's."""
    moved = (row for path in _operator_files([close]) for row in _lines([close], path))
    own: set[str] = set()
    for row in (row for row in moved if row["kind"] == "payout"):
        own.add(row["channel"])
        yield row["receipt"], -int(row["amount"]), _day_of(row)
    for row in _lines([close], "settlement.csv"):
        if row["channel"] not in own:
            yield row["batch_id"], int(row["net"]), date.fromisoformat(row["business_day"])


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
