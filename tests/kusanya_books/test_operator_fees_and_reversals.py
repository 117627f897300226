"""What an operator charges against what the service says, and payments taken back by a text."""

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pandas as pd
import pytest
from tests.kit.earlier import compared
from tests.kit.movements import movements_of

from kusanya_books import columns
from kusanya_books.columns import LEDGER, RECEIPTS
from kusanya_books.match import operator
from kusanya_books.request.days import period
from kusanya_books.request.earlier_period import EarlierPeriod
from kusanya_books.request.tolerance import Tolerance

MARCH = period("2026-03")
Make = Callable[..., pd.DataFrame]


def paid(number: int, **more: Any) -> dict[str, Any]:
    return {"receipt": f"QA{number:05}", "reference": f"R-{number}", **more}


def fee(number: int, amount: int, **more: Any) -> dict[str, Any]:
    return {"receipt": f"QA{number:05}", "kind": "fee", "amount": -amount, **more}


def found(collections: pd.DataFrame, *lines: dict[str, Any], **terms: Any) -> dict[int, Any]:
    """Return the rows by the number of their line."""
    match = operator.match(
        collections, movements_of(*lines), period=MARCH, tolerance=Tolerance(**terms)
    )
    assert match.unexplained == 0
    numbers = sorted(match.rows["line_no"].dropna().astype(int))
    assert numbers == list(range(1, len(lines) + 1))
    alone = match.rows["line_no"].isna()
    return {int(row.line_no): row for row in columns.records(match.rows[~alone])}


def codes(rows: dict[int, Any]) -> list[str]:
    return [rows[number].break_code.removeprefix("operator_") for number in sorted(rows)]


@pytest.mark.parametrize("in_columns", [True, False])
def test_a_fee_that_is_not_the_services_is_a_break_with_what_can_be_claimed(
    collections_of: Make, in_columns: bool
) -> None:
    charged = (18, 268, 8, 20)
    lines = [
        paid(at, fee=amount if in_columns else None) for at, amount in enumerate(charged, start=1)
    ]
    if not in_columns:
        lines += [fee(at, amount) for at, amount in enumerate(charged, start=1)]
    rows = found(collections_of({}, {}, {}, {}), *lines, fee=2)
    assert codes(rows)[:4] == ["agrees", "fee_differs", "fee_differs", "within_tolerance"]
    assert set(codes(rows)[4:]) <= {"fee"}
    wrong = rows[2]
    assert (wrong.fee_operator, wrong.fee_service, wrong.fee_drift) == (268, 18, 250)
    assert (wrong.standing, rows[3].fee_drift) == ("break", -10)


def test_the_fees_of_both_sides_and_their_difference_stand_below_the_bridge(
    collections_of: Make,
) -> None:
    match = operator.match(
        collections_of({}, {}, {}),
        movements_of(paid(1), fee(1, 268), paid(2, fee=18), paid(3)),
        period=MARCH,
    )
    said = dict(zip(match.bridge["line"], match.bridge["amount"], strict=True))
    names = ("operator fees", "service fees", "fee difference")
    assert [int(said[name]) for name in names] == [286, 36, 250]


def test_fees_of_another_payment_currency_or_channel_are_not_this_payments(
    collections_of: Make,
) -> None:
    strange = [
        fee(1, 250, currency="KES"),
        fee(1, 250, channel="TIGO_TZ"),
        fee(2, 250, status="failed"),
    ]
    rows = found(collections_of({}, {}), paid(1), fee(1, 18), paid(2), fee(2, 18), *strange)
    assert codes(rows)[:4] == ["agrees", "fee", "agrees", "fee"]


def test_two_fee_lines_of_one_payment_are_summed_and_one_taken_back_is_subtracted(
    collections_of: Make,
) -> None:
    rows = found(collections_of({}), paid(1), fee(1, 10), fee(1, 9), fee(1, -1))
    assert codes(rows) == ["agrees", "fee", "fee", "fee"]


@pytest.mark.parametrize(("beside", "back"), [(268, -250), (18, 0), (18, None)])
def test_a_line_that_gives_back_a_fee_is_taken_from_the_fee_beside_the_payment(
    beside: int, back: int | None, collections_of: Make
) -> None:
    lines = [] if back is None else [fee(1, back)]
    assert codes(found(collections_of({}), paid(1, fee=beside), *lines))[0] == "agrees"
    rows = found(collections_of({}), paid(1, fee=beside), *lines, fee(1, -3))
    assert (codes(rows)[0], rows[1].fee_drift) == ("fee_differs", -3)
    # Nobody says what was charged: what is given back says it neither.
    assert codes(found(collections_of({}), paid(1), fee(1, -3)))[0] == "agrees"


@pytest.mark.parametrize(("charged", "code"), [(36, "fee"), (37, "fee"), (286, "fees_differ")])
def test_one_fee_line_for_many_payments_is_held_against_the_sum_of_their_fees(
    collections_of: Make, charged: int, code: str
) -> None:
    bulk = {"receipt": None, "kind": "fee", "amount": -charged}
    collections = collections_of({}, {}, {}, {"status": "failed"})
    rows = found(collections, paid(1), paid(2), paid(3), fee(3, 18), bulk, fee=1)
    assert codes(rows) == ["agrees", "agrees", "agrees", "fee", code]
    if code == "fees_differ":
        assert (rows[5].fee_operator, rows[5].fee_service, rows[5].fee_drift) == (286, 36, 250)


def test_a_charge_beside_a_payout_is_no_fee_of_payments(collections_of: Make) -> None:
    rows = found(
        collections_of({}),
        paid(1, fee=18),
        {"receipt": "PO-1", "kind": "payout", "amount": -900},
        {"receipt": "PO-1", "kind": "fee", "amount": -50},
    )
    assert codes(rows) == ["agrees", "payout", "fee"]


@pytest.mark.parametrize("column", ["details", "reference"])
@pytest.mark.parametrize("text", ["Reversal of transaction qa00001.", "QA00001", "of (QA00001)"])
def test_a_reversal_is_tied_by_the_receipt_in_its_text(
    collections_of: Make, column: str, text: str
) -> None:
    back = {"receipt": "QZ9", "kind": "reversal", "amount": -1_000, column: text}
    rows = found(collections_of({}, {}), paid(1), paid(2), back)
    assert codes(rows) == ["reversed", "agrees", "reversed"]
    assert rows[1].group_key == rows[3].group_key


@pytest.mark.parametrize(
    "other",
    [
        {"details": "Reversal of transaction QA000019"},
        {"amount": -999},
        {"currency": "KES"},
        {"channel": "TIGO_TZ"},
        {"status": "Failed"},
    ],
)
def test_a_reversal_of_something_else_leaves_the_payment_alone(
    collections_of: Make, other: dict[str, Any]
) -> None:
    back = {"receipt": "QZ9", "kind": "reversal", "amount": -1_000}
    rows = found(collections_of({}), paid(1), back | {"details": "reversal of QA00001"} | other)
    assert codes(rows)[0] == "agrees"


@pytest.mark.parametrize("name", ["receipt", "reference", "collection_id"])
def test_a_reversal_in_another_currency_takes_nothing_back(collections_of: Make, name: str) -> None:
    back = {"kind": "reversal", "amount": -1_000, "currency": "KES"}
    names = {"receipt": "QA00001", "reference": "R-1", "collection_id": "col_1"}
    rows = found(collections_of({}), paid(1), back | {name: names[name]})
    assert codes(rows) == ["agrees", "reversal_alone"]


KNOWN = {"collection_id": ["col_1"], "receipt": ["qa00001"]}
NAMES: list[dict[str, Any]] = [
    {"reference": "r-1 "}, {"collection_id": "col_1"}, {"reference": "QA00001"},
    {"receipt": "QA00001"}, {"details": "Transaction reversal of QA00001"},
]  # fmt: skip


def rows_beside(
    collections: pd.DataFrame, *lines: dict[str, Any], books: list[dict[str, Any]]
) -> dict[int, Any]:
    """Return the rows of these lines beside books, where one receipt of February is known."""
    plain = {"kind": "refund", "status": "paid", "currency": "TZS", "amount": -1_000}
    rows = [{**dict.fromkeys(LEDGER.columns), **plain, **line} for line in books]
    kept = {**KNOWN, **{name: [None] for name in ("channel", "input", "line_no")}}
    match = operator.match(
        collections,
        movements_of(*lines),
        period=MARCH,
        receipts=columns.frame(RECEIPTS, kept),
        books=columns.frame(
            LEDGER,
            {
                name: [row[name] if name != "row_no" else 1 for row in rows]
                for name in LEDGER.columns
            },
        ),
    )
    alone = match.rows["line_no"].isna()
    return {int(row.line_no): row for row in columns.records(match.rows[~alone])}


@pytest.mark.merge
@pytest.mark.parametrize("name", NAMES, ids=str)
def test_a_payment_of_an_earlier_month_is_taken_back_by_any_of_its_names(
    collections_of: Make, name: dict[str, Any]
) -> None:
    february = datetime(2026, 2, 3, 9, tzinfo=UTC)
    collections = collections_of({"created_at": february, "completed_at": february})
    back = {"receipt": "QZ9", "kind": "reversal", "amount": -1_000, **name}
    [row] = rows_beside(collections, back, books=[]).values()
    assert (row.break_code, row.reference) == ("operator_reversed", "R-1")
    other: list[dict[str, Any]] = [{"amount": -999}, {"currency": "KES"}, {"channel": "TIGO_TZ"}]
    for more in other:
        [row] = rows_beside(collections, back | more, books=[]).values()
        assert row.break_code == "operator_reversal_alone", more
    [row] = rows_beside(collections, back, books=[{"reference": " r-1"}]).values()
    assert (row.break_code, row.standing) == ("operator_refund_booked", "expected")


@pytest.mark.merge
@pytest.mark.parametrize("kind", ["reversal", "refund", "chargeback"])
def test_what_is_taken_back_and_booked_needs_nobody_and_each_line_is_of_one(
    collections_of: Make, kind: str
) -> None:
    back = {"receipt": "QZ9", "kind": kind, "amount": -1_000, "details": "of QA00002"}
    lines = (paid(1), paid(2), back | {"reference": "R-2"})
    collections = collections_of({}, {})
    alone = {"reversal": "reversed", "refund": "refund", "chargeback": "chargeback"}[kind]
    of_payment = "reversed" if kind == "reversal" else "agrees"
    for books, wanted in (
        ([], [of_payment, alone]),
        ([{"reference": "R-2"}], ["agrees", "refund_booked"]),
        ([{"reference": "R-1"}], [of_payment, alone]),
        ([{"reference": "R-2", "amount": -999}], [of_payment, alone]),
        ([{"reference": "R-2", "currency": "KES"}], [of_payment, alone]),
        ([{"reference": "R-2", "status": "open"}], [of_payment, alone]),
        ([{"reference": "R-2", "kind": "payment"}], [of_payment, alone]),
    ):
        assert codes(rows_beside(collections, *lines, books=books))[1:] == wanted, books
    once = {"receipt": "QZ8", "kind": "chargeback", "amount": -1_000, "reference": "R-2"}
    twice = rows_beside(collections, *lines, once, books=[{"reference": "R-2"}])
    assert codes(twice)[3] == "chargeback"


def test_what_is_taken_back_of_no_success_is_not_booked_by_a_refund(collections_of: Make) -> None:
    back = {"receipt": "QZ9", "kind": "reversal", "amount": -1_000, "reference": "R-1"}
    failed = collections_of({"status": "failed", "failure_code": "declined"})
    rows = rows_beside(failed, paid(1), back, books=[{"reference": "R-1"}])
    assert codes(rows) == ["reversed_unpaid", "reversed_unpaid"]


def test_a_difference_within_the_tolerance_is_said(collections_of: Make) -> None:
    rows = found(collections_of({}, {}), paid(1, amount=999), paid(2), amount=1)
    assert codes(rows) == ["within_tolerance", "agrees"]
    assert rows[1].standing == "expected"


def test_two_months_files_of_one_name_keep_the_order_of_their_balances(
    collections_of: Make,
) -> None:
    def month(days: list[int], of: int, opening: int) -> list[dict[str, Any]]:
        lines = []
        for number, day in enumerate(days, start=1):
            opening += 10 * number
            at = datetime(2026, of, day, 9, tzinfo=UTC)
            lines.append({"input": "tigo.csv", "amount": 10 * number, "balance": opening, "at": at})
        return lines

    february, march = month([20, 24, 28], 2, 500), month([1, 5, 9], 3, 560)
    # Last month's file says its newest line first.
    carried = movements_of(*reversed(february))
    items = columns.empty(columns.ITEMS)
    for times in range(2):
        earlier = EarlierPeriod(
            run_id="r",
            period=period("2026-02"),
            items=items,
            lines=columns.empty(columns.LEDGER),
            compared=compared(period("2026-02")),
            movements=carried,
        )
        moved = earlier.with_movements(movements_of(*march))
        assert set(moved["input"]) == {"tigo.csv", "tigo.csv (until 2026-02-28)"}, times
        carried = moved[moved["business_day"] < pd.Timestamp(MARCH.first)]
        whole = period("2026-02-01..2026-03-31")
        bridge = operator.match(collections_of(), moved, period=whole).bridge
        assert (bridge.loc[bridge["line"] == "not in the balances", "amount"] == 0).all()


def test_a_fee_line_that_two_files_hold_is_charged_once(collections_of: Make) -> None:
    again = fee(1, 18, input="z.csv")
    assert codes(found(collections_of({}), paid(1), fee(1, 18), again)) == [
        "agrees",
        "fee",
        "line_again",
    ]
