"""What clears an item that an earlier period left open, one condition of each rule at a time."""

from collections.abc import Iterable, Mapping
from datetime import date
from types import SimpleNamespace
from typing import Any

import pandas as pd
import pytest

from kusanya_books import columns
from kusanya_books.columns import ITEMS, LEDGER, MOVEMENTS, SETTLED, STATEMENT
from kusanya_books.judge import carried_legs, findings, roll_forward
from kusanya_books.judge.carried_legs import _clear_reversals, _Offsets
from kusanya_books.judge.refunds_of_books import Order, Refunds

MARCH_5, MARCH_6, MARCH_31 = (pd.Timestamp(f"2026-03-{day}") for day in ("05", "06", "31"))


def item(**said: Any) -> dict[str, Any]:
    """Return an item of a bank that had 700 too much on 5 March."""
    made = {
        "break_id": "B1",
        "leg": "bank",
        "break_code": "bank_other_credit",
        "subject": "PAY-1",
        "reference": "R-1",
        "collection_id": "col_1",
        "channel": "MPESA_TZ",
        "row_no": 4,
        "currency": "TZS",
        "amount": 700,
        "balance": 700,
        "day": MARCH_5,
    }
    return {**dict.fromkeys(ITEMS.columns), **made, **said}


def line(**said: Any) -> dict[str, Any]:
    """Return the line of a bank that takes 700 back on 6 March."""
    made = {
        "input": "b.csv",
        "line_no": 9,
        "leg": "bank",
        "currency": "TZS",
        "amount": -700,
        "status": "completed",
        "business_day": MARCH_6,
        "kind": "other",
    }
    return {**dict.fromkeys(MOVEMENTS.columns), **made, **said}


def booked(**said: Any) -> dict[str, Any]:
    """Return the line of the books that gives 700 back to the order R-1."""
    made = {
        "row_no": 3,
        "reference": "R-1",
        "amount": -700,
        "currency": "TZS",
        "kind": "refund",
        "status": "paid",
        "booked_day": MARCH_6,
    }
    return {**dict.fromkeys(LEDGER.columns), **made, **said}


def offsets(
    *lines: dict[str, Any],
    new: Iterable[dict[str, Any]] = (),
    books: list[dict[str, Any]] | None = None,
    alone: Iterable[tuple[str, int, str, str]] = (),
    booked_now: Mapping[tuple[Any, ...], int] = {},
) -> _Offsets:
    inputs: Any = SimpleNamespace(
        moved=columns.from_dicts(MOVEMENTS, lines),
        books=None if books is None else columns.from_dicts(LEDGER, books),
    )
    names = ["input", "line_no", "standing", "break_code"]
    own = pd.DataFrame([*alone], columns=names)
    return _Offsets(inputs, list(new), own, booked_now)


NAMED = line(receipt="PAY-1")


def test_a_line_that_came_since_and_takes_back_what_is_open_by_name_clears_it() -> None:
    assert offsets(NAMED).clear_named(item(), item())


@pytest.mark.parametrize(
    "said",
    [
        {"leg": "operator"},
        {"currency": "KES"},
        {"amount": 700},
        {"amount": -701},
        {"status": "failed"},
        {"business_day": MARCH_5},
        {"business_day": None},
        {"receipt": "PAY-2"},
        {"receipt": None},
    ],
    ids=str,
)
def test_a_line_that_differs_in_one_thing_clears_nothing(said: dict[str, Any]) -> None:
    assert not offsets({**NAMED, **said}).clear_named(item(), item())


@pytest.mark.parametrize("balance", [None, 0, 701, -700])
def test_what_is_not_open_by_that_sum_is_not_cleared(balance: int | None) -> None:
    assert not offsets(NAMED).clear_named(item(), item(balance=balance))


def test_what_is_open_now_says_the_sum_and_what_was_says_the_names() -> None:
    was = item(balance=None, subject="PAY-1")
    assert offsets(NAMED).clear_named(was, item(subject="line 9 of b.csv", reference=None))


@pytest.mark.parametrize(
    ("said", "is_named"),
    [
        ({"receipt": " pay-1 "}, True),
        ({"reference": "r-1"}, True),
        ({"reference": "PAY-1"}, True),
        ({"receipt": "R-1"}, True),
        ({"collection_id": "COL_1"}, True),
        ({"collection_id": "col_2"}, False),
        ({"collection_id": "PAY-1"}, False),
        ({"receipt": "col_1"}, False),
        ({"details": "back: PAY-1, thank you"}, True),
        ({"details": "back r-1"}, True),
        ({"details": "back PAY-12"}, False),
        ({"details": "col_1"}, False),
        ({}, False),
    ],
    ids=str,
)
def test_a_line_names_an_item_by_any_of_its_names_whole(
    said: dict[str, Any], is_named: bool
) -> None:
    assert offsets(line(**said)).clear_named(item(), item()) is is_named


def test_of_nobody_and_nothing_no_line_is() -> None:
    nobody = item(subject=None, reference=None, collection_id=None)
    assert not offsets(line()).clear_named(nobody, nobody)


def test_a_line_clears_one_item() -> None:
    found = offsets(NAMED)
    assert [found.clear_named(item(), item()) for _ in range(2)] == [True, False]
    two = offsets(NAMED, line(receipt="PAY-1", line_no=10))
    assert [two.clear_named(item(), item()) for _ in range(3)] == [True, True, False]


@pytest.mark.parametrize(
    ("said", "is_expected"),
    [
        ({}, True),
        ({"leg": "operator"}, False),
        ({"leg": "books"}, False),
        ({"row_no": 8}, False),
        ({"currency": "KES"}, False),
        ({"amount": 701}, False),
        ({"amount": -700}, False),
    ],
    ids=str,
)
def test_the_line_that_clears_is_expected_and_no_break_of_its_own(
    said: dict[str, Any], is_expected: bool
) -> None:
    own = item(**{"break_id": "NEW", "row_no": 9, "balance": -700, **said})
    found = offsets(NAMED, new=[own])
    assert found.clear_named(item(), item())
    assert found.expected == ({"NEW"} if is_expected else set())


def fees(**said: Any) -> dict[str, Any]:
    made = {"leg": "operator", "break_code": "operator_fees_differ", "break_id": "NEW"}
    return item(**{**made, "balance": -700, **said})


@pytest.mark.parametrize(
    ("said", "is_cleared"),
    [
        *(({}, True), ({"break_code": "operator_fee_differs"}, False), ({"channel": "X"}, False)),
        *(({"currency": "KES"}, False), ({"balance": 700}, False), ({"leg": "books"}, False)),
    ],
    ids=str,
)
def test_fees_for_many_payments_are_given_back_by_the_opposite_of_their_channel(
    said: dict[str, Any], is_cleared: bool
) -> None:
    found = offsets(new=[fees(**said)])
    left = fees(balance=700, break_id="B1")
    assert found.clear_fees(left) is is_cleared
    assert found.expected == ({"NEW"} if is_cleared else set())
    assert not found.clear_fees(left), "it gives back once"


def test_only_fees_for_many_payments_are_given_back_so() -> None:
    found = offsets(new=[fees()])
    assert not found.clear_fees(fees(balance=700, break_code="operator_fee_differs"))
    assert found.expected == set()


def single(id_: str, balance: int | None, day: str = "2026-03-05", **said: Any) -> dict[str, Any]:
    made = {"break_id": id_, "balance": balance, "day": pd.Timestamp(day)}
    return fees(break_code="operator_fee_differs", **made, **said)


@pytest.mark.parametrize(
    ("left", "given_back", "cleared"),
    [
        ([single("A", 30), single("B", 40)], [-70], {"A", "B"}),
        ([single("A", 30), single("B", 40)], [-30], set()),
        ([single("A", 30), single("B", 40, "2026-04-05")], [-70], {"A", "B"}),
        ([single("A", 30), single("B", 40, "2026-04-05")], [-40], {"B"}),
        ([single("A", 30), single("B", 40, "2026-04-05")], [-40, -30], {"A", "B"}),
        ([single("A", 30), single("B", 30, "2025-03-05")], [-30, -30], {"A", "B"}),
        ([single("A", 30), single("B", 40, channel="X")], [-70], set()),
        ([single("A", 30), single("B", 40, channel="X")], [-30], {"A"}),
        ([single("A", 30), single("B", 40, currency="KES")], [-30], {"A"}),
        ([single("A", 30), single("B", None)], [-30], {"A"}),
        ([single("A", 30), fees(break_id="B", balance=40)], [-30], {"A"}),
    ],
)
def test_fees_of_single_payments_are_given_back_together_or_by_months(
    left: list[dict[str, Any]], given_back: list[int], cleared: set[str]
) -> None:
    new = [fees(break_id=f"NEW{at}", balance=sum_) for at, sum_ in enumerate(given_back)]
    found = offsets(new=new)
    ids = list(found.clear_fees_together(left))
    assert sorted(ids) == sorted(cleared), "each once"


ALONE = ("b.csv", 9, "break", "bank_debit_unknown")


@pytest.mark.parametrize(
    ("alone", "is_cleared"),
    [
        ([ALONE], True),
        ([("b.csv", 9, "expected", "bank_debit")], True),
        ([("b.csv", 9, "expected", "bank_other_credit")], True),
        ([("b.csv", 9, "expected", "bank_pending")], False),
        ([("b.csv", 8, "break", "bank_debit_unknown")], False),
        ([("a.csv", 9, "break", "bank_debit_unknown")], False),
        ([], False),
    ],
)
def test_a_line_without_a_name_clears_what_alone_is_of_its_sum(
    alone: list[tuple[str, int, str, str]], is_cleared: bool
) -> None:
    found = offsets(line(), alone=alone)
    assert list(found.clear_alone([item()])) == (["B1"] if is_cleared else [])
    assert list(found.clear_alone([item()])) == [], "once"


def test_of_two_items_or_two_lines_of_a_sum_none_is_cleared() -> None:
    second = ("b.csv", 10, "break", "bank_debit_unknown")
    both = [item(), item(break_id="B2")]
    assert list(offsets(line(), alone=[ALONE]).clear_alone(both)) == []
    lines = line(), line(line_no=10)
    assert list(offsets(*lines, alone=[ALONE, second]).clear_alone([item()])) == []
    assert list(offsets(*lines, alone=[ALONE, second]).clear_alone(both)) == []
    assert list(offsets(*lines, alone=[ALONE]).clear_alone([item()])) == ["B1"]
    others = [item(), item(break_id="B2", currency="KES"), item(break_id="B3", balance=701)]
    assert list(offsets(line(), alone=[ALONE]).clear_alone(others)) == ["B1"]


def taken_back(**said: Any) -> dict[str, Any]:
    made = {"leg": "operator", "break_code": "operator_chargeback", "balance": None}
    return item(**{**made, **said})


def test_a_chargeback_is_cleared_by_the_books_that_give_it_back() -> None:
    found = offsets(books=[booked()], new=[item(leg="books", break_id="OWN", row_no=3)])
    assert found.clear_named(taken_back(), taken_back())
    assert found.expected == {"OWN"}
    assert not found.clear_named(taken_back(), taken_back()), "once"


@pytest.mark.parametrize(
    ("was", "line_"),
    [
        *(({}, {"kind": "payment"}), ({}, {"status": "open"}), ({}, {"currency": "KES"})),
        *(({}, {"reference": "R-2"}), ({}, {"reference": None}), ({}, {"amount": 700})),
        *(({}, {"amount": -701}), ({"reference": None}, {"reference": None})),
        ({"break_code": "operator_missing"}, {}),
    ],
    ids=str,
)
def test_books_that_differ_in_one_thing_clear_no_chargeback(
    was: dict[str, Any], line_: dict[str, Any]
) -> None:
    found = offsets(books=[booked(**line_)])
    assert not found.clear_named(taken_back(**was), taken_back(**was))
    assert found.expected == set()


def test_without_books_no_chargeback_is_cleared() -> None:
    assert not offsets().clear_named(taken_back(), taken_back())


def test_the_first_lines_of_the_books_are_of_what_this_period_took_back_itself() -> None:
    books = [booked(row_no=3, reference=" r-1"), booked(row_no=5)]
    now = {("r-1", "TZS", -700): 1}
    new = [item(leg="books", break_id=f"OWN{row}", row_no=row) for row in (3, 5)]
    found = offsets(books=books, booked_now=now, new=new)
    assert found.clear_named(taken_back(), taken_back())
    assert found.expected == {"OWN5"}
    assert not offsets(books=books[:1], booked_now=now).clear_named(taken_back(), taken_back())


@pytest.mark.parametrize(
    ("first", "second", "is_cleared"),
    [
        ({}, {}, True),
        ({"subject": "X"}, {"subject": "Y"}, True),
        ({"reference": None}, {"reference": None, "subject": "pay-1 "}, True),
        ({"reference": "R-2", "subject": "X"}, {}, False),
        ({"subject": None, "reference": None}, {"subject": None, "reference": None}, False),
        ({}, {"break_code": "operator_missing"}, False),
        ({"break_code": "operator_missing"}, {}, False),
    ],
)
def test_a_reversal_is_cleared_with_the_payment_that_it_took_back(
    first: dict[str, Any], second: dict[str, Any], is_cleared: bool
) -> None:
    both = {"break_code": "operator_reversed", "leg": "operator"}
    gone, other = item(**{**both, **first}), item(**{**both, "break_id": "B2", **second})
    now: dict[str, dict[str, Any] | None] = {"B1": None, "B2": other}
    _clear_reversals([other, gone], now)
    assert (now["B2"] is None) is is_cleared


def test_an_open_reversal_clears_nothing() -> None:
    both = [item(break_code="operator_reversed", break_id=id_) for id_ in ("B1", "B2")]
    now: dict[str, dict[str, Any] | None] = {one["break_id"]: one for one in both}
    _clear_reversals(both, now)
    assert None not in now.values()


def back(**said: Any) -> dict[str, Any]:
    """Return what the provider took back of the order R-1: 680, after a fee of 20."""
    made = {"leg": "statement", "break_code": "settlement_taken_back", "balance": 680}
    return item(**{**made, "amount": 680, **said})


ORDERS = {"col_1": Order("r-1", 20)}


@pytest.mark.parametrize("amount", [-680, -700])
def test_what_the_provider_took_back_is_given_back_with_or_without_its_fee(amount: int) -> None:
    found = Refunds(columns.from_dicts(LEDGER, [booked(amount=amount)]), ORDERS)
    assert found.clears_payout(back(), back())
    [(key, owed)] = found.given_back.items()
    assert (key[:3], owed) == ((MARCH_5, "TZS", "MPESA_TZ"), 680)
    assert not found.clears_payout(back(), back()), "once"
    assert found.given_back.total() == 680


@pytest.mark.parametrize(
    ("was", "now", "line_"),
    [
        *(({}, {}, {"amount": -699}), ({}, {}, {"amount": -720}), ({}, {}, {"currency": "KES"})),
        *(({}, {}, {"reference": "R-2"}), ({}, {}, {"kind": "payment"}), ({}, {"balance": 5}, {})),
        ({"break_code": "settlement_missing"}, {}, {}),
        ({"collection_id": "col_2"}, {}, {}),
    ],
    ids=str,
)
def test_a_refund_that_differs_in_one_thing_gives_back_no_payout(
    was: dict[str, Any], now: dict[str, Any], line_: dict[str, Any]
) -> None:
    found = Refunds(columns.from_dicts(LEDGER, [booked(**line_)]), ORDERS)
    assert not found.clears_payout(back(**was), back(**was, **now))
    assert not found.given_back


def test_of_no_channel_what_is_given_back_has_none() -> None:
    found = Refunds(columns.from_dicts(LEDGER, [booked()]), ORDERS)
    assert found.clears_payout(back(channel=None), back(channel=None))
    assert [key[2] for key in found.given_back] == [None]


def test_without_books_nothing_is_given_back() -> None:
    assert not Refunds(None, ORDERS).clears_payout(back(), back())
    assert not Refunds(None).clears(item(break_code="double_payment"))


@pytest.mark.parametrize(
    ("said", "is_cleared"),
    [
        *(({}, True), ({"reference": " r-1"}, True), ({"reference": None}, False)),
        *(({"reference": "R-2"}, False), ({"currency": "KES"}, False), ({"amount": 701}, False)),
        *(({"break_code": "late_success"}, True), ({"break_code": "missing_in_ledger"}, False)),
    ],
    ids=str,
)
def test_a_second_payment_is_cleared_by_one_refund_of_its_order_and_sum(
    said: dict[str, Any], is_cleared: bool
) -> None:
    found = Refunds(columns.from_dicts(LEDGER, [booked()]))
    was = item(**{"break_code": "double_payment", **said})
    assert found.clears(was) is is_cleared
    assert not found.clears(was), "once"


def test_a_refund_of_the_periods_own_settlement_line_clears_nothing_else() -> None:
    row = {"break_code": "settlement_refund_booked", "currency": "TZS", "collection_id": "col_1"}
    for sums in ({"gross_settled": -700, "net_settled": -680}, {"net_settled": -700}):
        rows = columns.from_dicts(SETTLED, [{**row, **sums}])
        payouts: Any = SimpleNamespace(rows=rows)
        two = columns.from_dicts(LEDGER, [booked(), booked(row_no=4)])
        found = Refunds(two, ORDERS, payouts)
        assert [found.clears_payout(back(), back()) for _ in range(2)] == [True, False]
        assert not Refunds(two[:1], ORDERS, payouts).clears_payout(back(), back())
    stranger: Any = SimpleNamespace(
        rows=columns.from_dicts(SETTLED, [{**row, "collection_id": "col_9", **sums}])
    )
    assert Refunds(two[:1], ORDERS, stranger).clears_payout(back(), back())


@pytest.mark.parametrize(
    ("day", "net", "is_open", "is_cleared"),
    [
        # What an earlier close read and its books explained takes a line of those books away.
        (MARCH_31, -680, False, False),
        (MARCH_31, 680, False, True),
        (MARCH_31, -680, True, True),
        (pd.Timestamp("2026-04-01"), -680, False, True),
    ],
)
def test_a_line_of_the_books_that_explained_something_before_clears_nothing_more(
    day: pd.Timestamp, net: int, is_open: bool, is_cleared: bool
) -> None:
    read = {"collection_id": "col_1", "currency": "TZS", "net": net, "kind": "payment"}
    before: Any = SimpleNamespace(
        period=SimpleNamespace(last=date(2026, 3, 31)),
        settlement_lines=columns.from_dicts(STATEMENT, [read, {**read, "collection_id": "x"}]),
        items=columns.from_dicts(ITEMS, [back()] if is_open else []),
    )
    books = columns.from_dicts(LEDGER, [booked(booked_day=day)])
    assert Refunds(books, ORDERS, before=before).clears_payout(back(), back()) is is_cleared
    nothing: Any = SimpleNamespace(period=before.period, settlement_lines=None, items=before.items)
    assert Refunds(books, ORDERS, before=nothing).clears_payout(back(), back())


@pytest.mark.parametrize(
    ("said", "is_carried"),
    [
        ({"leg": "bank", "break_code": "bank_missing"}, True),
        ({"leg": "bank", "break_code": "operator_before_this_period"}, None),
        ({"leg": "books"}, False),
        ({"leg": "fees", "finding": None}, False),
        ({"leg": "fees", "finding": "fee"}, True),
    ],
)
def test_what_of_the_statements_is_carried(said: dict[str, Any], is_carried: bool | None) -> None:
    if is_carried is not None:
        assert carried_legs.is_carried(item(**said)) is is_carried
    across = min(findings.ACROSS_CODES)
    assert not carried_legs.is_carried(item(leg="operator", break_code=across))


def rolled(
    *endings: tuple[dict[str, Any], dict[str, Any] | None], fresh: Iterable[dict[str, Any]] = ()
) -> list[dict[str, Any]]:
    return columns.dicts(roll_forward._table(list(endings), list(fresh)))


def test_what_was_open_and_came_less_what_was_cleared_and_became_another_is_open() -> None:
    kept, gone = item(break_code="bank_missing"), item(break_code="bank_missing", amount=30)
    other = item(break_code="bank_amount", amount=5)
    fresh = [item(break_code="bank_missing", amount=9), item(leg="late"), item(leg="fees")]
    amount, missing = rolled(
        *((kept, kept), (gone, None), (item(break_code="bank_missing", amount=4), other)),
        fresh=fresh,
    )
    parts = ("opening", "new", "cleared", "changed_away", "changed_to", "closing")
    assert [missing[f"rows_{part}"] for part in parts] == [3, 1, 1, 1, 0, 2]
    assert [missing[f"amount_{part}"] for part in parts] == [734, 9, 30, 4, 0, 709]
    assert [amount[f"rows_{part}"] for part in parts] == [0, 0, 0, 0, 1, 1]
    assert [amount[f"amount_{part}"] for part in parts] == [0, 0, 0, 0, 5, 5]
    assert (amount["break_code"], amount["foots"], missing["foots"]) == ("bank_amount", True, True)


def test_an_account_of_two_currencies_and_legs_has_a_row_of_each() -> None:
    both = [item(), item(currency="KES"), item(leg="operator"), item(leg="statement")]
    found = rolled(*((one, one) for one in both))
    assert [(one["leg"], one["currency"]) for one in found] == [
        *(("bank", "KES"), ("bank", "TZS"), ("operator", "TZS"), ("statement", "TZS"))
    ]


CLEARED_ORDERS = {("reference", "R-1"), ("subject", "PAY-9")}


@pytest.mark.parametrize(
    ("said", "known", "judged", "is_expected"),
    [
        ({}, {"B1"}, set(), True),
        ({}, set(), set(), False),
        ({"status": "accepted"}, {"B1"}, set(), False),
        ({"break_code": "reversal_alone"}, set(), set(), True),
        ({"break_code": "reversal_alone"}, set(), {"B1"}, False),
        ({"break_code": "reversal_alone", "reference": "R-2"}, set(), set(), False),
        (
            {"break_code": "reversal_alone", "reference": None, "subject": "PAY-9"},
            set(),
            set(),
            True,
        ),
        ({"finding": findings.ACROSS}, set(), {"B1"}, True),
        ({"finding": findings.ACROSS, "reference": "R-2"}, set(), set(), False),
    ],
)
def test_an_item_that_clears_what_was_carried_is_expected(
    said: dict[str, Any], known: set[str], judged: set[str], is_expected: bool
) -> None:
    found = roll_forward._is_expected(
        item(**{"status": "open", **said}), frozenset(known), CLEARED_ORDERS, judged
    )
    assert found is is_expected


def test_a_carried_row_of_the_books_is_itself_or_the_one_row_that_its_order_became() -> None:
    was = item(leg="books", standing="break")
    new = item(leg="books", break_id="NEW")
    same = {**was, "amount": 5}
    assert roll_forward._Became({"B1": same, "NEW": new}, [was]).of(was) is same
    became = roll_forward._Became({"NEW": new}, [was])
    assert became.of(was) is new
    assert became.of(was) is None, "one row is one thing"
    assert roll_forward._Became({}, [was]).of(was) is None
    for other in ({"reference": "R-2"}, {"currency": "KES"}):
        assert roll_forward._Became({"NEW": {**new, **other}}, [was]).of(was) is None
    nameless = {**was, "reference": None}
    assert roll_forward._Became({"NEW": {**new, "reference": None}}, [was]).of(nameless) is None
    two = {"NEW": new, "NEW2": item(leg="books", break_id="NEW2")}
    assert roll_forward._Became(two, [was]).of(was) == {**was, "finding": findings.CARRIED}
    assert roll_forward._Became({"NEW": new}, [was, new]).of(was) is None, "it was there before"
