"""Closing a chain of months, each with the pack of the one before, as a shop does."""

import csv
import shutil
from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from pathlib import Path
from typing import Any

import msgspec
from tests.kit.accounts import PLAIN_ACCOUNTS
from tests.kit.chain import world
from tests.kit.chain.checker import GRACE, Given, Open, Paid, Said, open_after

from kusanya.domain.business_day import EAT
from kusanya.store import Store
from kusanya_books.judge.report import CloseResult
from kusanya_books.pack import close
from kusanya_books.request.close_request import CloseRequest
from kusanya_books.request.tolerance import PLAIN, Tolerance


class Closed(msgspec.Struct, frozen=True):
    """One month's close: what it said, what its pack lists as open, and what is open in truth."""

    number: int
    result: CloseResult
    items: list[dict[str, Any]]
    known: Open


def close_chain(
    made: world.Chain,
    home: Path,
    store: Path,
    *,
    operators: Iterable[str] = world.OPERATORS,
    has_books: bool = True,
    left_out: Collection[tuple[int, str]] = (),
    is_nightly: bool = False,
    is_twice: bool = False,
    tolerance: Tolerance | None = None,
    accounts: Path | None = None,
) -> Iterator[Closed]:
    """Close each month with the pack of the one before; `store` is an empty store.

    `left_out` are months with the operator of whom no statement is given, or with "settlement" or
    "bank". Nightly closes are judged on the next day and wait for payouts until the one after. With
    `is_twice` each is closed before its last days were heard, and again.
    """
    previous: Path | None = None
    closes: list[Given] = []
    for number, month in enumerate(made.months):
        folder = home / f"month{number}"
        world.write(made, number, folder, operators=operators)
        out = frozenset(f"{name.lower()}.csv" for at, name in left_out if at == number)
        closes.append(Given(folder, month.first, month.last, out))
        request = CloseRequest(
            period=f"{month.first}..{month.last}",
            cutoff=made.cutoff,
            store=str(store),
            mode="live",
            ledger=str(folder / "books.csv") if has_books else "",
            statement=[]
            if (number, "settlement") in left_out
            else [str(path) for path in sorted(folder.glob("*settlement.csv"))],
            operator=[
                str(path)
                for name in operators
                if (number, name) not in left_out
                for path in sorted(folder.glob(f"*{name.lower()}.csv"))
            ],
            bank=[]
            if (number, "bank") in left_out
            else [str(path) for path in sorted(folder.glob("*bank.csv"))],
            judged_on=month.last + world.DAY if is_nightly else None,
            tolerance=tolerance or (Tolerance(settle_days=2) if is_nightly else PLAIN),
            accounts="" if accounts is None else str(accounts),
            tariff=str(folder / "tariff.toml"),
            keep_receipts=made.keeps_receipts,
            previous="" if previous is None else str(previous),
        )
        if is_twice and number not in made.silent_from:
            made.silent_from[number] = month.last - 3 * world.DAY
            _learn(store, made, number)
            close.run(request, out=home / "packs")
            del made.silent_from[number]
        _learn(store, made, number)
        result = close.run(request, out=home / "packs")
        previous = result.folder
        said = Said(later=made.dated_later, together=made.paid_together)
        grace = 2 * GRACE if is_nightly else GRACE
        known = open_after(closes, _paid(made, number), has_books=has_books, said=said, grace=grace)
        yield Closed(number, result, _open_items(result), known)


def close_and_book(
    made: world.Chain, home: Path, empty_store: Path
) -> Iterator[tuple[Closed, Counter[str]]]:
    """Yield each close, and what all entries so far have on each account, in a folder's store."""
    shutil.copy(empty_store, home / "store.db")
    accounts = home / "accounts.toml"
    accounts.write_text(PLAIN_ACCOUNTS)
    for each in close_chain(made, home, home / "store.db", accounts=accounts):
        held: Counter[str] = Counter()
        for path in (home / "packs").glob("*/journals/xero.csv"):
            with path.open(newline="") as file:
                for row in csv.DictReader(file):
                    held[row["*AccountCode"]] += int(row["*Amount"])
        yield each, held


def owed(close: Closed) -> int:
    """Return what the open items of a close wait for, less what was paid out too much."""
    return sum(int(item["balance"]) for item in close.items if item["leg"] == "statement")


def _learn(store: Path, made: world.Chain, number: int) -> None:
    with Store.open(store) as opened:
        world.learn(opened, made, number)


def _paid(made: world.Chain, number: int) -> list[Paid]:
    """Return what the service has said by a close of what succeeded."""
    facts = (fact.collection for each in range(number + 1) for fact in made.heard(each, by=number))
    return [
        Paid(
            one.id,
            str(one.reference),
            str(one.channel),
            one.amount,
            one.fee,
            one.completed_at.astimezone(EAT).date(),
        )
        for one in facts
        if one.completed_at is not None and not made.is_contradicted(one.id, by=number)
    ]


def _open_items(result: CloseResult) -> list[dict[str, Any]]:
    if result.folder is None:
        return []
    with (result.folder / "csv" / "open_items.raw.csv").open(newline="") as file:
        return list(csv.DictReader(file))
