"""Which line of the next month clears what one left open: by name and exact sum alone."""

from collections.abc import Callable
from datetime import datetime
from itertools import combinations
from typing import Any

import msgspec
import pandas as pd
import pytest
from tests.kit.earlier import compared
from tests.kit.movements import movements_of
from tests.kit.statements import statement_of

from kusanya.domain.business_day import EAT
from kusanya_books import columns
from kusanya_books.columns import COLLECTIONS, ITEMS, LEDGER
from kusanya_books.judge import carried_legs, refunds_of_books, roll_forward
from kusanya_books.judge.findings import CARRIED
from kusanya_books.match import bank, operator
from kusanya_books.read import load
from kusanya_books.request.close_request import CloseRequest
from kusanya_books.request.days import period
from kusanya_books.request.earlier_period import EarlierPeriod
from kusanya_books.request.report_inputs import Inputs

pytestmark = pytest.mark.usefixtures("no_settings", "papers_are_blank")
MARCH, APRIL = period("2026-03"), period("2026-04")
NAMED = ("reference", "receipt", "collection_id", "details")
UNNAMED = ("channel", "fee", "balance")
MINE = ("reference", "collection_id")
Row = dict[str, Any]


def subsets(names: tuple[str, ...]) -> list[tuple[str, ...]]:
    return [some for size in range(len(names) + 1) for some in combinations(names, size)]


def item(number: int, **more: Any) -> Row:
    """Return a payment of March that the operator's statement does not have."""
    plain = {
        "break_id": f"{number:016x}",
        "leg": "operator",
        "subject": f"key-{number}",
        "finding": "breaks of the operator's statements",
        "break_code": "operator_missing",
        "standing": "break",
        "reference": f"ref-{number}",
        "collection_id": f"col_{number}",
        "currency": "TZS",
        "amount": 1_000 + number,
        "balance": -1_000 - number,
        "figures": "",
        "day": pd.Timestamp("2026-03-10"),
        "status": "open",
    }
    return {**dict.fromkeys(ITEMS.columns), **plain, **more}


def line(number: int, **more: Any) -> Row:
    """Return a line of April of what the item of this number lacks, without any name."""
    at = datetime(2026, 4, 3, 9, tzinfo=EAT)
    return {"kind": "other", "amount": 1_000 + number, "at": at, "reference": None, **more}


@pytest.fixture(scope="module")
def plain() -> Inputs:
    made = load.inputs(CloseRequest(mode="live", period="2020-01"))
    return msgspec.structs.replace(
        made,
        collections=columns.empty(COLLECTIONS),
        ledger=None,
        statement=None,
        period=APRIL,
        judged_on=APRIL.last,
        quality=(),
    )


def cleared(plain: Inputs, items: list[Row], lines: list[Row], **given: Any) -> set[int]:
    """Return the numbers of the items that these lines of April clear."""
    frame = columns.frame(ITEMS, {name: [one[name] for one in items] for name in ITEMS.columns})
    carried = EarlierPeriod(
        run_id="march",
        period=MARCH,
        items=frame,
        lines=columns.empty(LEDGER),
        compared=compared(MARCH),
    )
    moved = movements_of(*lines)
    inputs = msgspec.structs.replace(plain, carried=carried, movements=moved, **given)
    own = bank.match(moved, None, period=APRIL, tolerance=inputs.tolerance, as_of=APRIL.last)
    at_operator = operator.match(
        inputs.collections, moved, period=APRIL, books=inputs.ledger, as_of=APRIL.last
    )
    found = carried_legs.judge(inputs, carried, [], own=own, of_operator=at_operator).now
    return {int(id_, 16) for id_, now in found.items() if now is None}


def test_a_refund_of_the_books_clears_one_item_and_not_one_of_the_period_beside_it(
    plain: Inputs,
) -> None:
    chargeback = {"kind": "chargeback", "amount": -1_001, "reference": "ref-1"}
    items = [item(1, break_code="operator_chargeback", balance=-1_001)]
    now = line(1, **chargeback)
    booked = {
        "row_no": 1, "reference": "REF-1", "currency": "TZS", "amount": -1_001,
        "kind": "refund", "status": "paid",
    }  # fmt: skip
    for lines, refunds, left in (([], 1, set()), ([now], 1, {1}), ([now], 2, set())):
        rows = [{**dict.fromkeys(LEDGER.columns), **booked, "row_no": at} for at in range(refunds)]
        books = columns.frame(LEDGER, {name: [row[name] for row in rows] for name in rows[0]})
        assert cleared(plain, items, lines, ledger=books) == {1} - left, (lines, refunds)


@pytest.mark.merge
def test_a_line_clears_an_item_by_each_name_whatever_else_both_leave_out(plain: Inputs) -> None:
    items, lines, wanted = [], [], set()
    cases = [
        (lacks, given, also) for lacks in subsets(MINE) for given in subsets(NAMED)
        for also in subsets(UNNAMED)
    ]  # fmt: skip
    for number, (lacks, given, also) in enumerate(cases):
        names = {
            "reference": f" REF-{number}",
            "receipt": f"Ref-{number}",
            "collection_id": f"col_{number}",
            "details": f"put right ref-{number}, sorry",
        }
        rest = {"channel": "MPESA_TZ", "fee": 5, "balance": 9}
        unsaid = {name: value if name in also else None for name, value in rest.items()}
        said = {name: names[name] for name in given}
        items.append(item(number, **dict.fromkeys(lacks)))
        lines.append(line(number, **unsaid, **said))
        by_reference = "reference" not in lacks and {*given} - {"collection_id"}
        by_id = "collection_id" not in lacks and "collection_id" in given
        if by_reference or by_id:
            wanted.add(number)
    assert cleared(plain, items, lines) == wanted


NOT_THIS: dict[str, Row] = {
    "another currency": {"currency": "KES"},
    "a larger sum": {"amount": 1_001},
    "a smaller sum": {"amount": 999},
    "the other sign": {"amount": -1_000},
    "another leg": {"leg": "bank"},
    "not completed": {"status": "pending"},
    "the same day as the item": {"at": datetime(2026, 3, 10, 9, tzinfo=EAT)},
    "another reference": {"reference": "ref-7"},
}


@pytest.mark.merge
@pytest.mark.parametrize("other", NOT_THIS)
def test_what_is_not_of_exactly_what_is_open_clears_nothing(plain: Inputs, other: str) -> None:
    right = line(0, reference="ref-0")
    assert cleared(plain, [item(0)], [right]) == {0}
    assert cleared(plain, [item(0)], [{**right, **NOT_THIS[other]}]) == set()


@pytest.mark.merge
def test_one_line_clears_one_item(plain: Inputs) -> None:
    again = {**item(0), "break_id": f"{1:016x}", "collection_id": "col_9", "subject": "col_9"}
    assert cleared(plain, [item(0), again], [line(0, reference="ref-0")]) == {0}
    assert cleared(plain, [item(0), again], [line(0, reference="ref-0")] * 2) == {0, 1}


def credit(amount: int, **more: Any) -> Row:
    at = datetime(2026, 4, 3, 9, tzinfo=EAT)
    plain = {"leg": "bank", "channel": None, "kind": "other", "reference": None}
    return {**plain, "at": at, "amount": amount, **more}


def shortfall(number: int, balance: int, **more: Any) -> Row:
    """Return a payout of March of which the bank has `balance` too little."""
    known = {"leg": "bank", "break_code": "bank_short", "subject": f"B-{number}"}
    named = {"reference": f"B-{number}", "collection_id": None}
    return item(number, **known, **named, balance=-balance, amount=balance, **more)


@pytest.mark.merge
def test_a_shortfall_that_is_repaid_without_a_name_is_cleared_where_only_one_is_open(
    plain: Inputs,
) -> None:
    one = [shortfall(0, 700), shortfall(1, 800)]
    assert cleared(plain, one, [credit(700)]) == {0}
    assert cleared(plain, one, [credit(700, currency="KES")]) == set()
    assert cleared(plain, one, [credit(701)]) == set()
    assert cleared(plain, one, [credit(700), credit(700)]) == set()
    assert cleared(plain, [shortfall(0, 700), shortfall(1, 700)], [credit(700)]) == set()
    other = shortfall(1, 700, currency="KES")
    assert cleared(plain, [shortfall(0, 700), other], [credit(700)]) == {0}
    assert cleared(plain, one, [credit(800, details="repaid B-1")]) == {1}
    assert cleared(plain, one, [credit(700, details="repaid B-1")]) == {0}


def booked(**more: Any) -> pd.DataFrame:
    plain = {
        **dict.fromkeys(LEDGER.columns),
        "row_no": 2,
        "reference": "REF-0 ",
        "amount": -1_000,
        "currency": "TZS",
        "status": "paid",
        "kind": "refund",
        "booked_at": pd.Timestamp("2026-04-03T09:00Z"),
        "booked_day": pd.Timestamp("2026-04-03"),
    }
    row = {**plain, **more}
    return columns.frame(LEDGER, {name: [row[name]] for name in LEDGER.columns})


@pytest.mark.merge
@pytest.mark.parametrize(
    "other",
    [
        {"currency": "KES"}, {"amount": -1_001}, {"amount": -999}, {"kind": "payment"},
        {"reference": "ref-1"}, {"reference": None}, {"kind": "charge"}, {"status": "open"},
    ],
)  # fmt: skip
def test_only_a_refund_of_this_order_and_sum_books_what_was_charged_back(
    plain: Inputs, other: Row
) -> None:
    charged = [item(0, break_code="operator_chargeback", balance=None)]
    assert cleared(plain, charged, [], ledger=booked()) == {0}
    assert cleared(plain, charged, [], ledger=booked(**other)) == set()
    assert cleared(plain, [item(0)], [], ledger=booked()) == set()


def left_of(plain: Inputs, items: list[Row], lines: pd.DataFrame, **given: Any) -> dict[int, Row]:
    """Return what is still open of these items, by their numbers; `lines` are those of March."""
    frame = columns.frame(ITEMS, {name: [one[name] for one in items] for name in ITEMS.columns})
    carried = EarlierPeriod(
        run_id="march", period=MARCH, items=frame, lines=lines, compared=compared(MARCH)
    )
    inputs = msgspec.structs.replace(plain, carried=carried, **given)
    rolled = roll_forward.roll(inputs, columns.empty(ITEMS), matched=None)
    assert rolled.table["foots"].all()
    numbers = {one["break_id"]: number for number, one in enumerate(items)}
    ended = columns.dicts(rolled.carried)
    left = [row["break_id"] for row in ended if row["ending"] != roll_forward.CLEARED]
    # What is left stands in the order of what was carried, under the id that it has now.
    return {numbers[id_]: row for id_, row in zip(left, columns.dicts(rolled.items), strict=True)}


PAID: Row = {
    "line_no": 2,
    "batch_id": "B2",
    "channel": "MPESA_TZ",
    "currency": "TZS",
    "collection_id": None,
    "gross": None,
    "fee": None,
    "net": 1_000,
    "day": pd.Timestamp("2026-03-10"),
}


@pytest.mark.parametrize(
    ("paid", "balance"),
    [
        ({}, None), ({"net": 999}, None), ({"net": 1_001}, None), ({"net": 998}, 2),
        ({"net": 1_002}, -2), ({"net": -1_000}, 2_000), ({"currency": "KES"}, 1_000),
        ({"channel": "TIGO_TZ"}, 1_000), ({"channel": None}, 1_000), ({"batch_id": "B1"}, 1_000),
        ({"day": pd.Timestamp("2026-03-11")}, 1_000),
    ],
)  # fmt: skip
def test_a_carried_payout_is_paid_by_new_lines_of_its_day_channel_and_currency(
    plain: Inputs, paid: Row, balance: int | None
) -> None:
    owed = item(0, leg="statement", break_code="settlement_missing", balance=1_000, amount=1_000)
    owed |= {"channel": "MPESA_TZ", "collection_id": None, "reference": "B0 B1"}
    terms = msgspec.structs.replace(plain.tolerance, amount=1)
    left = left_of(
        plain,
        [owed],
        columns.empty(LEDGER),
        statement=statement_of([{**PAID, **paid}]),
        tolerance=terms,
    )
    codes = {None: None, 1_000: "settlement_missing", -2: "settlement_over"}
    code = codes.get(balance, "settlement_short")
    seen = left.get(0, {})
    assert (seen.get("balance"), seen.get("break_code")) == (balance, code)
    assert seen.get("amount") == (None if balance is None else abs(balance))


@pytest.mark.parametrize("own", [{}, {"currency": "KES"}])
def test_a_carried_payout_of_one_collection_is_paid_by_a_line_of_it(
    plain: Inputs, own: Row
) -> None:
    owed = item(0, leg="statement", break_code="settlement_missing", balance=1_000, amount=1_000)
    day = pd.Timestamp("2026-04-02")
    paid = [
        {**PAID, "collection_id": "col_9"},
        {**PAID, "collection_id": "col_0", "day": day} | own,
    ]
    left = left_of(plain, [owed], columns.empty(LEDGER), statement=statement_of(paid))
    assert set(left) == ({0} if own else set())


def test_two_second_payments_need_two_refunds(
    plain: Inputs, module_collections: Callable[..., pd.DataFrame]
) -> None:
    pair = [
        item(number, leg="books", break_code="double_payment", reference="ref-0", amount=1_000)
        for number in (0, 1)
    ]
    rest = {"collections": module_collections()}
    one, two = booked(), pd.concat([booked(), booked(row_no=3)], ignore_index=True)
    lines = columns.empty(LEDGER)
    refunds = refunds_of_books.Refunds(one)
    assert [refunds.clears(each) for each in pair] == [True, False]
    assert left_of(plain, pair, lines, ledger=two, **rest) == {}


def of_books(number: str, reference: str | None, currency: str = "TZS") -> Row:
    """Return a row of the books that is open."""
    return {"break_id": number, "reference": reference, "currency": currency, "standing": "break"}


def test_a_carried_row_of_the_books_is_itself_or_has_become_the_one_new_row_of_its_order() -> None:
    stays, gone, other = of_books("a", "R-1"), of_books("b", "R-2"), of_books("c", "R-2")
    nameless, foreign = of_books("d", None), of_books("e", "R-2", "KES")
    new, more, unnamed = of_books("n", "R-2"), of_books("m", "R-2"), of_books("o", None)
    carried = [stays, gone, other, nameless, foreign]

    def became(*now: Row) -> list[Row | None]:
        judged = {each["break_id"]: each for each in (stays, *now)}
        asked = roll_forward._Became(judged, carried)
        return [asked.of(was) for was in (stays, gone, nameless, foreign)]

    assert became() == [stays, None, None, None]
    assert became(other) == [stays, None, None, None], "what was there before is itself"
    assert became(new, unnamed) == [stays, new, None, None]
    left = {**gone, "finding": CARRIED}
    assert became(new, more) == [stays, left, None, None], "one of several stays what it was"
    both = roll_forward._Became({"n": new}, [gone, other])
    assert [both.of(gone), both.of(other)] == [new, None], "two have not become one"
