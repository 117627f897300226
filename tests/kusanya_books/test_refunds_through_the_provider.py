"""What the provider takes out of its payouts for a refund, and what the books say of it."""

import csv
from datetime import date
from pathlib import Path
from random import Random

import pytest
from tests.kit.chain import shapes, world
from tests.kit.chain.closing import Closed, close_and_book, owed
from tests.kit.chain.world import DAY, Chain, Payment, booked

from kusanya_books.judge.report import ReportVerdict

pytestmark = pytest.mark.usefixtures("no_settings", "papers_are_blank")


@pytest.fixture
def made() -> Chain:
    """Return a clean chain of two months whose statement names each payment."""
    return world.chain(Random(5), months=2, by_item=True)  # noqa: S311 - a repeatable choice


@pytest.fixture
def paid(made: Chain) -> Payment:
    """Return a payment of the middle of March that the provider pays out."""
    return next(one for one in made.payments[0] if 5 < one.at.day < 25)


def take_back(
    made: Chain,
    paid: Payment,
    number: int,
    day: date,
    name: str,
    *,
    credited: date | None = None,
    fee: int = 0,
) -> None:
    """Let the provider take a payment back by the payout of a day, with the files of a month."""
    back = {"batch_id": name, "business_day": day, "channel": paid.channel, "currency": "TZS"}
    net = fee - paid.amount
    money = {"gross": -paid.amount, "fee": -fee, "net": net}
    made.months[number].settlement.append({**back, **money, "collection_id": paid.collection})
    then = credited or day + DAY
    credit = {**world.credited(name, net, then), "kind": "other"}
    made.months[number].bank.append(credit)


def give_back(made: Chain, paid: Payment, number: int, day: date) -> None:
    """Let the books of a month give a payment back."""
    line = booked(paid, amount=-paid.amount, kind="refund", booked_at=day)
    made.months[number].books.append(line)


def given_back(close: Closed) -> dict[str, list[int]]:
    """Return what each provider kept for refunds, what it owes, and what nothing explains."""
    assert close.result.folder is not None
    with (close.result.folder / "csv" / "providers.raw.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    names = ("given_back", "open_balance", "difference")
    return {row["channel"]: [int(row[name] or 0) for name in names] for row in rows}


@pytest.mark.merge
@pytest.mark.parametrize("gives_fee", [False, True])
def test_what_is_taken_back_and_given_back_in_a_month_needs_nobody_and_is_booked(
    made: Chain, paid: Payment, tmp_path: Path, empty_store: Path, *, gives_fee: bool
) -> None:
    day, fee = paid.at.date() + 3 * DAY, paid.fee if gives_fee else 0
    take_back(made, paid, 0, day, "POREFUND1", fee=fee)
    give_back(made, paid, 0, day)
    for close, held in close_and_book(made, tmp_path, empty_store):
        assert close.result.verdict is ReportVerdict.RECONCILED, close.result.sentence
        assert held["Clearing"] == owed(close)
        assert held["Refunds"] == paid.amount - fee
        if close.number == 0:
            assert given_back(close)[paid.channel] == [paid.amount - fee, 0, 0]


@pytest.mark.merge
@pytest.mark.parametrize("gives_fee", [False, True])
def test_what_is_taken_back_is_open_until_the_books_give_it_back(
    made: Chain, paid: Payment, tmp_path: Path, empty_store: Path, *, gives_fee: bool
) -> None:
    fee = paid.fee if gives_fee else 0
    take_back(made, paid, 0, paid.at.date() + 3 * DAY, "POREFUND1", fee=fee)
    give_back(made, paid, 1, made.months[1].first + 4 * DAY)
    (march, then), (april, now) = close_and_book(made, tmp_path, empty_store)
    [item] = [one for one in march.items if one["break_code"] == "settlement_taken_back"]
    assert (int(item["amount"]), march.result.verdict) == (paid.amount - fee, ReportVerdict.BREAKS)
    assert (then["Clearing"], then["Refunds"]) == (owed(march), 0)
    assert april.result.verdict is ReportVerdict.RECONCILED, april.result.sentence
    assert (now["Clearing"], now["Refunds"]) == (owed(april), paid.amount - fee)


@pytest.mark.merge
@pytest.mark.parametrize("is_dated_as_paid", [False, True])
def test_what_was_given_back_may_be_taken_back_by_a_later_payout(
    made: Chain, paid: Payment, tmp_path: Path, empty_store: Path, *, is_dated_as_paid: bool
) -> None:
    last = made.months[0].last
    give_back(made, paid, 0, last)
    day = paid.at.date() if is_dated_as_paid else last + 2 * DAY
    take_back(made, paid, 1, day, "POREFUND1", credited=last + 3 * DAY)
    # The books of April begin with the last days of March.
    give_back(made, paid, 1, last)
    (march, _), (april, now) = close_and_book(made, tmp_path, empty_store)
    assert march.result.verdict is ReportVerdict.RECONCILED
    assert april.result.verdict is ReportVerdict.RECONCILED, april.result.sentence
    assert (now["Clearing"], now["Refunds"]) == (owed(april), paid.amount)


@pytest.mark.merge
def test_what_is_taken_back_of_an_earlier_month_is_of_a_payment_that_is_known(
    made: Chain, paid: Payment, tmp_path: Path, empty_store: Path
) -> None:
    take_back(made, paid, 1, made.months[1].first + 9 * DAY, "POREFUND1")
    _, (april, now) = close_and_book(made, tmp_path, empty_store)
    [item] = [one for one in april.items if one["standing"] == "break"]
    assert (item["break_code"], int(item["amount"])) == ("settlement_taken_back", paid.amount)
    assert now["Clearing"] + now["Suspense"] == owed(april)


@pytest.mark.merge
def test_one_line_of_the_books_explains_one_that_takes_back(
    made: Chain, paid: Payment, tmp_path: Path, empty_store: Path
) -> None:
    day = paid.at.date() + 3 * DAY
    take_back(made, paid, 0, day, "POREFUND1")
    take_back(made, paid, 0, day, "POREFUND2")
    give_back(made, paid, 0, day)
    give_back(made, paid, 1, made.months[1].first + DAY)
    (march, _), (april, now) = close_and_book(made, tmp_path, empty_store)
    [item] = [one for one in march.items if one["break_code"] == "settlement_taken_back"]
    assert int(item["amount"]) == paid.amount
    # A second refund is more than was paid: the books have a break of their own.
    assert owed(april) == owed_of_days(april)
    assert now["Refunds"] == 2 * paid.amount


@pytest.mark.merge
@pytest.mark.parametrize("month", [0, 1])
def test_a_line_of_the_books_that_is_given_again_explains_nothing_more(
    made: Chain, paid: Payment, tmp_path: Path, empty_store: Path, month: int
) -> None:
    day = made.months[0].last - 2 * DAY
    take_back(made, paid, 0, day, "POREFUND1")
    take_back(made, paid, month, day if month == 0 else day + 6 * DAY, "POREFUND2")
    give_back(made, paid, 0, day)
    # The books of April begin with the last days of March.
    give_back(made, paid, 1, day)
    (march, _), (april, _) = close_and_book(made, tmp_path, empty_store)
    assert (march.result.verdict is ReportVerdict.RECONCILED) == (month == 1)
    [item] = [one for one in april.items if one["standing"] == "break"]
    assert (item["break_code"], int(item["amount"])) == ("settlement_taken_back", paid.amount)


def owed_of_days(close: Closed) -> int:
    return sum(int(i["balance"]) for i in close.items if i["break_code"] == "settlement_pending")


@pytest.mark.merge
def test_what_is_taken_back_after_the_period_is_booked_once_though_two_files_have_it(
    made: Chain, paid: Payment, tmp_path: Path, empty_store: Path
) -> None:
    day = made.months[1].first + DAY
    take_back(made, paid, 1, day, "POREFUND1")
    give_back(made, paid, 1, day)
    shapes.read_on(made, Random(5))  # noqa: S311 - a repeatable choice
    (march, then), (april, now) = close_and_book(made, tmp_path, empty_store)
    assert march.result.verdict is ReportVerdict.RECONCILED, march.result.sentence
    assert (then["Clearing"], then["Refunds"]) == (owed(march), 0)
    assert april.result.verdict is ReportVerdict.RECONCILED, april.result.sentence
    assert (now["Clearing"], now["Refunds"]) == (owed(april), paid.amount)
