"""A provider pays a day out on the next working day: no night before that is anybody's work."""

from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from tests.kit.accounting_shop import CREDITED, FEE, MOVED, SETTLED, Shop, day

import kusanya_books as reconcile
from kusanya_books.judge.report import CloseResult
from kusanya_books.request.close_request import CloseRequest
from kusanya_books.request.tolerance import Tolerance

pytestmark = pytest.mark.usefixtures("no_settings", "papers_are_blank")
THURSDAY, FRIDAY, SUNDAY, MONDAY, TUESDAY = 4, 5, 7, 8, 9
BOOKED = "reference,amount,currency,booked_at,status"


def paid_out_on(number: int) -> int:
    """Return the next working day."""
    return next(later for later in range(number + 1, number + 4) if day(later).weekday() < 5)


class Night:
    """A shop that is closed each night with the files of its month to date."""

    def __init__(self, home: Path) -> None:
        self.shop, self.home = Shop(home), home
        self.lost: set[int] = set()
        """Days that the provider never pays out."""

    def close(self, number: int, **asked: Any) -> CloseResult:
        """Let a customer pay on each day to this one; close it on the morning after."""
        for each in range(len(self.shop.payments), number + 1):
            self.shop.pay(day(each), 1_000 + each)
        booked = [f"R-{one.number},{one.amount},TZS,{one.day},paid" for one in self.shop.payments]
        net = Counter({each: 1_000 + each - FEE for each in range(number) if each not in self.lost})
        settled = [
            f"B{each:03},{day(each)},MPESA_TZ,TZS,{net[each]}"
            for each in net
            if paid_out_on(each) <= number
        ]
        came = [
            f"{day(paid_out_on(each))},PAYOUT B{each:03},{net[each]},TZS"
            for each in net
            if paid_out_on(each) <= number
        ]
        given: dict[str, Any] = {
            "ledger": self.shop.write(BOOKED, [booked]),
            "statement": self.shop.write(SETTLED, [settled]),
            "bank": (self.shop.write(CREDITED, [came]),),
        }
        request = CloseRequest(
            period=f"{day(number)}..{day(number)}",
            store=str(self.home / "store.db"),
            mode="live",
            carry=True,
            judged_on=day(number + 1),
            tolerance=Tolerance(settle_days=3),
            expect=("books", "settlement", "bank"),
            **{**given, **asked},
        )
        return reconcile.run(request, out=self.home / "packs")


@pytest.fixture
def night(tmp_path: Path) -> Night:
    return Night(tmp_path)


@pytest.mark.merge
def test_what_is_not_due_yet_is_listed_and_the_night_is_reconciled(night: Night) -> None:
    waits = {}
    for number in range(THURSDAY, TUESDAY + 1):
        made = night.close(number)
        assert (made.exit_code, made.unproven) == (0, ()), (number, made.sentence)
        waits[number] = sum(row["rows"] for row in made.waiting)
    assert waits == {THURSDAY: 1, FRIDAY: 1, FRIDAY + 1: 2, SUNDAY: 3, MONDAY: 1, TUESDAY: 1}


@pytest.mark.merge
def test_what_is_due_and_never_came_is_somebodys_work(night: Night) -> None:
    night.lost = {THURSDAY}
    ended = {number: night.close(number).exit_code for number in range(THURSDAY, TUESDAY)}
    # Three days later it may still come; on the morning after that it is claimed.
    assert ended == {THURSDAY: 0, FRIDAY: 0, FRIDAY + 1: 0, SUNDAY: 1, MONDAY: 1}


@pytest.mark.merge
@pytest.mark.parametrize("lacks", ["statement", "bank"])
def test_a_leg_that_is_expected_and_was_not_given_is_not_proven_on_any_night(
    night: Night, lacks: str
) -> None:
    for number in (THURSDAY, FRIDAY):
        made = night.close(number, **{lacks: () if lacks == "bank" else ""})
        assert made.exit_code == 1
        assert any("nothing of it was given" in said for said in made.unproven)


@pytest.mark.merge
def test_an_operator_that_pays_out_now_and_then_leaves_the_bank_nothing_on_other_nights(
    tmp_path: Path,
) -> None:
    shop, ended = Shop(tmp_path), []
    moved, came = [], []
    for number in range(4):
        one = shop.pay(day(number), 1_000)
        at = f"{day(number)}T12:00:00+03:00"
        moved.append(f"payment,M{number},1000,{at},R-{one.number},TZS,MPESA_TZ")
        if number == 1:
            moved.append(f"payout,OUT1,-2000,{at},,TZS,MPESA_TZ")
        elif number == 2:
            came.append(f"{day(2)},TRANSFER OUT1,2000,TZS")
        booked = [f"R-{each.number},1000,TZS,{each.day},paid" for each in shop.payments]
        request = CloseRequest(
            period=f"{day(number)}..{day(number)}",
            store=str(tmp_path / "store.db"),
            mode="live",
            carry=True,
            judged_on=day(number + 1),
            ledger=shop.write(BOOKED, [booked]),
            operator=(shop.write(MOVED, [moved]),),
            bank=(shop.write(CREDITED, [came]),),
            expect=("books", "operator", "bank"),
        )
        ended.append(reconcile.run(request, out=tmp_path / "packs"))
    # Before its first payout nobody knows whether the bank's file is the right one.
    [lacks] = ended[0].unproven
    assert lacks.startswith("the bank's statements: expected, and nothing of it was compared")
    assert [made.exit_code for made in ended] == [1, 0, 0, 0], ended[3].sentence
