"""A shop whose accounting program imports the journal entries of every pack, each number once."""

import csv
from collections import Counter
from collections.abc import Iterable
from datetime import UTC, date, datetime, timedelta
from itertools import count
from pathlib import Path
from typing import Any, Final

import msgspec
from tests.kit.accounts import PLAIN_ACCOUNTS
from tests.kit.payments import by_event, watch

import kusanya_books as reconcile
from kusanya.store import Store
from kusanya_books.judge.report import OF_LEGS, CloseResult
from kusanya_books.request.close_request import CloseRequest

FEE: Final = 18
MOVED: Final = "kind,receipt,amount,at,reference,currency,channel"
"""The columns of an operator's statement."""
SETTLED: Final = "batch_id,business_day,channel,currency,net"
"""The columns of a settlement statement of days."""
CREDITED: Final = "date,details,amount,currency"
"""The columns of a bank's statement."""
_BEGINS: Final = date(2026, 3, 1)


def day(number: int) -> date:
    """Return a day of March and after, the first one 0."""
    return _BEGINS + timedelta(days=number)


class Payment(msgspec.Struct):
    """A payment, as the service says now."""

    number: int
    day: date
    amount: int
    is_paid: bool = True
    is_heard: bool = True
    """Whether the store knows of it."""


def assert_counts_agree(made: CloseResult) -> None:
    """Hold that the sentence and the codes count the breaks that page one counts."""
    found = sum(row["rows"] or 0 for row in made.findings if row["finding"] in OF_LEGS)
    assert (made.breaks, sum(made.by_code.values())) == (found, found), made.by_code
    assert not found or f"breaks {found:,}" in made.sentence, made.sentence


class Shop:
    """A shop whose accounting program imported the entries of every pack, each number once."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.payments: list[Payment] = []
        self._next = count()
        self.booked: dict[date, Counter[str]] = {}
        self.paid_out: Counter[date] = Counter()
        self._days_of: dict[str, set[date]] = {}
        self._numbers: set[str] = set()
        self._balance: Counter[str] = Counter()
        (home / "accounts.toml").write_text(PLAIN_ACCOUNTS)
        with Store.open(home / "store.db"):
            pass
        watch(home / "store.db")

    def pay(self, day: date, amount: int, *, is_heard: bool = True) -> Payment:
        """Let a payment of a day succeed, and the service say so unless nobody hears it."""
        one = Payment(next(self._next), day, amount, is_heard=is_heard)
        self.payments.append(one)
        if is_heard:
            self._say(one, "succeeded")
        return one

    def hear(self, one: Payment) -> None:
        """Let the store hear of a payment."""
        one.is_heard = True
        self._say(one, "succeeded")

    def holds(self, account: str) -> int:
        """Return what an account holds."""
        return self._balance[account]

    def take_back(self, one: Payment) -> None:
        """Let the service say that a payment failed, which it had called a success."""
        one.is_paid = False
        self._say(one, "failed")

    def _say(self, one: Payment, status: str) -> None:
        noon = datetime(one.day.year, one.day.month, one.day.day, 9, tzinfo=UTC)
        fields: dict[str, Any] = {"amount": one.amount, "fee": FEE, "status": status}
        if status == "failed":
            fields["failure_code"] = "declined"
        with Store.open(self.home / "store.db") as store:
            store.record(by_event(one.number, noon, **fields))

    def close(self, first: date, last: date, **asked: Any) -> Path:
        """Close a period after the newest one before it, import its entries, return its pack."""
        request = CloseRequest(
            period=f"{first}..{last}",
            store=str(self.home / "store.db"),
            mode="live",
            carry=True,
            **{"accounts": str(self.home / "accounts.toml"), **asked},
        )
        made = reconcile.run(request, out=self.home / "packs")
        assert made.folder is not None, made.sentence
        assert_counts_agree(made)
        own = {first + timedelta(days=number) for number in range((last - first).days + 1)}
        self._days_of[made.folder.name] = own | self._days_of.get(made.previous or "", set())
        for day in self._days_of[made.folder.name]:
            self.booked[day] = self.truth(day)
        if request.accounts:
            self._import(made.folder)
        return made.folder

    def truth(self, day: date) -> Counter[str]:
        """Return what the payments of a day are, on the account of each part."""
        mine = [one for one in self.payments if one.day == day and one.is_paid and one.is_heard]
        gross, fee = sum(one.amount for one in mine), FEE * len(mine)
        return Counter(Clearing=gross - fee, Charges=fee, Receivable=-gross)

    def _import(self, folder: Path) -> None:
        known, fresh = set(self._numbers), set()
        with (folder / "journals" / "xero.csv").open(newline="") as file:
            for line in csv.DictReader(file):
                number = line["*Narration"].split()[0]
                if number not in known:
                    fresh.add(number)
                    self._balance[line["*AccountCode"]] += int(line["*Amount"])
        self._numbers |= fresh

    def write(self, header: str, nights: Iterable[Iterable[str]]) -> str:
        """Write a file of the lines of some nights, called by its first column; return its path."""
        path = self.home / f"{header.partition(',')[0]}.csv"
        path.write_text("\n".join([header, *(line for night in nights for line in night), ""]))
        return str(path)

    def pay_out(self, *days: date) -> str:
        """Write a statement that pays out what some days brought; return its path."""
        lines = ["batch_id,business_day,channel,currency,gross,fee,net"]
        for day in days:
            parts = self.truth(day)
            self.paid_out[day] = net = parts["Clearing"]
            if net:
                lines.append(
                    f"P{day},{day},MPESA_TZ,TZS,{-parts['Receivable']},{parts['Charges']},{net}"
                )
        path = self.home / "statement.csv"
        path.write_text("\n".join([*lines, ""]))
        return str(path)

    def check(self) -> None:
        """Assert that the accounts hold what was known at the last close of each day."""
        wanted: Counter[str] = Counter()
        for day in self.booked.values():
            wanted.update(day)
        out, held = sum(self.paid_out.values()), Counter(self._balance)
        # What was paid out and is no payment any more waits for a person.
        held["Clearing"] += held.pop("Suspense", 0)
        wanted.update(Bank=out, Clearing=-out)
        assert {k: v for k, v in held.items() if v} == {k: v for k, v in wanted.items() if v}
