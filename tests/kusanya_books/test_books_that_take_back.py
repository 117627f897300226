"""Money that the books take back stands with what it cancels; else it is a break with its sum."""

import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.kit.books import books_of
from tests.kit.frames import breaks_of

from kusanya_books import columns
from kusanya_books.match import ledger
from kusanya_books.match.ledger import LedgerMatch
from kusanya_books.request.days import period

MARCH = period("2026-03")
Make = Callable[..., pd.DataFrame]
Row = dict[str, Any]
Case = tuple[list[Row], list[Row], dict[int | str, str]]


def noon(day: int, month: int = 3) -> datetime:
    return datetime(2026, month, day, 9, tzinfo=UTC)


def paid(reference: str | None, amount: int, day: int = 5, month: int = 3, **more: Any) -> Row:
    at = noon(day, month)
    plain = {"fee": 0, "created_at": at, "completed_at": at, "currency": "TZS"}
    return {"reference": reference, "amount": amount, **plain, **more}


def line(reference: str | None, amount: int, kind: str = "", day: int = 5, **more: Any) -> Row:
    """Return a line of the books; what is negative is a reversal unless it says what it is."""
    said = kind or ("payment" if amount >= 0 else "reversal")
    return {"reference": reference, "amount": amount, "kind": said, "at": noon(day), **more}


def codes(found: LedgerMatch) -> dict[int | str, str]:
    assert found.unexplained == 0
    return {
        str(row.collection_id) if pd.isna(row.row_no) else int(row.row_no): row.break_code
        for row in columns.records(found.rows)
    }


FEBRUARY = paid("R", 1_000, 10, 2)
BOOKED = line("R", 1_000)
CASES: dict[str, Case] = {
    "a negative payment that names nothing": (
        [],
        [line(None, -500_000)],
        {1: "reversal_alone"},
    ),
    "a refund that names nothing": ([], [line(None, -5_000_000, "refund")], {1: "refund_alone"}),
    "a credit note that names nothing": ([], [line(None, -9, "credit_note")], {1: "refund_alone"}),
    "a chargeback of an unknown order": ([], [line("X", -9, "chargeback")], {1: "refund_alone"}),
    "a reversal of an unknown order": ([], [line("X", -9)], {1: "reversal_alone"}),
    "a charge that is money in": ([], [line(None, 7, "charge")], {1: "reversal_alone"}),
    "a charge": ([], [line(None, -7, "charge")], {1: "bank_charges"}),
    "a refund of 0": ([], [line(None, 0, "refund")], {1: "books_zero"}),
    "a reversal that is not booked": ([], [line("X", -9, status="open")], {1: "not_billable"}),
    "a reversal of an earlier payment": ([FEBRUARY], [line("R", -1_000)], {1: "reversal"}),
    "the same in another spelling": ([FEBRUARY], [line(" r", -1_000)], {1: "reversal"}),
    "the same, named by its id": (
        [{**FEBRUARY, "id": "col_7"}],
        [line("invoice 7", -1_000, collection_id="col_7")],
        {1: "reversal"},
    ),
    "of a collection without a reference": (
        [{**FEBRUARY, "id": "col_7", "reference": None}],
        [line(None, -1_000, collection_id="col_7")],
        {1: "reversal"},
    ),
    "a reversal of another sum": ([FEBRUARY], [line("R", -999)], {1: "reversal_alone"}),
    "a reversal in another currency": (
        [FEBRUARY],
        [line("R", -1_000, currency="KES")],
        {1: "reversal_alone"},
    ),
    "a reversal of what did not succeed": (
        [{**FEBRUARY, "status": "failed"}],
        [line("R", -1_000)],
        {1: "reversal_alone"},
    ),
    "a second reversal of one payment": (
        [FEBRUARY],
        [line("R", -1_000), line("R", -1_000, day=6)],
        {1: "reversal", 2: "reversal_alone"},
    ),
    "two reversals of two payments": (
        [FEBRUARY, paid("R", 1_000, 11, 2)],
        [line("R", -1_000), line("R", -1_000, day=6)],
        {1: "reversal", 2: "reversal"},
    ),
    "a reversal of a payment that comes later": (
        [paid("R", 1_000, 2, 4)],
        [line("R", -1_000)],
        {1: "reversal_alone"},
    ),
    "refunds up to what was paid": (
        [paid("R", 1_000)],
        [BOOKED, line("R", -600, "refund", 6), line("r ", -400, "credit_note", 7)],
        {1: "matched", 2: "refund", 3: "credit_note"},
    ),
    "refunds beyond what was paid": (
        [paid("R", 1_000)],
        [BOOKED, line("R", -600, "refund", 6), line("R", -401, "chargeback", 7)],
        {1: "matched", 2: "refund", 3: "refund_alone"},
    ),
    "a refund in another currency": (
        [paid("R", 1_000)],
        [BOOKED, line("R", -600, "refund", 6, currency="KES")],
        {1: "matched", 2: "refund_alone"},
    ),
    "a refund that is money in": (
        [paid("R", 1_000)],
        [BOOKED, line("R", 1, "refund", 6)],
        {1: "matched", 2: "refund_alone"},
    ),
    "a chargeback that was won": (
        [paid("R", 1_000)],
        [BOOKED, line("R", -900, "chargeback", 6), line("R", 900, "chargeback", 7)],
        {1: "matched", 2: "chargeback", 3: "chargeback"},
    ),
    "a refund of what only the books have": (
        [],
        [BOOKED, line("R", -1_000, "refund", 6)],
        {1: "missing_at_provider", 2: "refund"},
    ),
    "a refund of a line that is not booked": (
        [],
        [{**BOOKED, "status": "open"}, line("R", -1_000, "refund", 6)],
        {1: "not_billable", 2: "refund_alone"},
    ),
    "a refund of an order that was paid twice and refunded once": (
        [paid("R", 1_000), paid("R", 1_000, 6)],
        [BOOKED, line("R", -1_000, "refund", 7), line("R", -1_000, "refund", 8)],
        {1: "matched", 2: "refunded", "col_2": "refunded", 3: "refund"},
    ),
    "a second payment and a refund of another sum": (
        [paid("R", 1_000), paid("R", 1_000, 6)],
        [BOOKED, line("R", -999, "refund", 7)],
        {1: "matched", 2: "refund", "col_2": "double_payment"},
    ),
    "a second payment and a refund in another currency": (
        [paid("R", 1_000), paid("R", 1_000, 6)],
        [BOOKED, line("R", -1_000, "refund", 7, currency="KES")],
        {1: "matched", 2: "refund_alone", "col_2": "double_payment"},
    ),
    "a second payment and the refund of another order": (
        [paid("R", 1_000), paid("R", 1_000, 6), paid("S", 1_000)],
        [BOOKED, line("S", 1_000), line("S", -1_000, "refund", 7)],
        {1: "matched", 2: "matched", 3: "refund", "col_2": "double_payment"},
    ),
    "a payment booked with the wrong sign": (
        [paid("R", 1_000)],
        [line("r", -1_000)],
        {1: "booked_negative"},
    ),
    "two of them": (
        [paid("R", 1_000), paid("S", 1_000)],
        [line("R", -1_000), line("S", -1_000)],
        {1: "booked_negative", 2: "booked_negative"},
    ),
    "one and a reversal too many": (
        [paid("R", 1_000)],
        [line("R", -1_000), line("R", -1_000, day=6)],
        {1: "booked_negative", 2: "reversal_alone"},
    ),
    "the wrong sign, and another sum": (
        [paid("R", 1_000)],
        [line("R", -900)],
        {1: "reversal_alone", "col_1": "missing_in_ledger"},
    ),
    "the wrong sign, and another currency": (
        [paid("R", 1_000)],
        [line("R", -1_000, currency="KES")],
        {1: "reversal_alone", "col_1": "missing_in_ledger"},
    ),
    "the wrong sign, and it did not succeed": (
        [paid("R", 1_000, status="failed")],
        [line("R", -1_000)],
        {1: "reversal_alone", "col_1": "not_billable"},
    ),
    "the wrong sign, and two answers": (
        [paid("R", 1_000, contradictions=1)],
        [line("R", -1_000)],
        {1: "reversal_alone", "col_1": "contradiction"},
    ),
    "a refund of a payment that is not booked": (
        [paid("R", 1_000)],
        [line("R", -1_000, "refund")],
        {1: "refund", "col_1": "missing_in_ledger"},
    ),
    "a line without a reference and its reversal": (
        [],
        [line(None, 7), line(None, -7, day=6)],
        {1: "reversed_pair", 2: "reversed_pair"},
    ),
    "without a reference, of another sum": (
        [],
        [line(None, 7), line(None, -8, day=6)],
        {1: "missing_at_provider", 2: "reversal_alone"},
    ),
    "without a reference, in another currency": (
        [],
        [line(None, 7), line(None, -7, day=6, currency="KES")],
        {1: "missing_at_provider", 2: "reversal_alone"},
    ),
    "with a reference and without": (
        [],
        [line("X", 7), line(None, -7, day=6)],
        {1: "missing_at_provider", 2: "reversal_alone"},
    ),
    "a reversal of what is not booked": (
        [],
        [line("X", 7, status="not_paid"), line("X", -7, day=6)],
        {1: "not_billable", 2: "reversal_alone"},
    ),
    "a reversal of a reversal": (
        [],
        [line("X", -7), line("X", 7, "reversal", 6)],
        {1: "reversed_pair", 2: "reversed_pair"},
    ),
    "a reversal of a reversal in another currency": (
        [],
        [line("X", -7), line("X", 7, "reversal", 6, currency="KES")],
        {1: "reversal_alone", 2: "reversal_alone"},
    ),
    "a reversal of a reversal of another sum": (
        [],
        [line("X", -7), line("X", 8, "reversal", 6)],
        {1: "reversal_alone", 2: "reversal_alone"},
    ),
    "a reversal of a reversal of another order": (
        [],
        [line("X", -7), line("Y", 7, "reversal", 6)],
        {1: "reversal_alone", 2: "reversal_alone"},
    ),
    "a reversal that is taken back cancels nothing": (
        [paid("X", 7)],
        [line("X", 7), line("X", -7, day=6), line("X", 7, "reversal", 7)],
        {1: "matched", 2: "reversed_pair", 3: "reversed_pair"},
    ),
    "a wrong sign that is taken back and booked anew": (
        [paid("X", 7)],
        [line("X", -7), line("X", 7, "reversal", 6), line("X", 7)],
        {1: "reversed_pair", 2: "reversed_pair", 3: "matched"},
    ),
    "a line of another period and its reversal": (
        [],
        [line("X", 7, at=noon(27, 2)), line("X", -7)],
        {2: "reversal"},
    ),
    "by its id and by its reference": (
        [{**FEBRUARY, "id": "col_7", "status": "failed"}],
        [line(None, 7, collection_id="col_7"), line("r", -7, day=6)],
        {1: "reversed_pair", 2: "reversed_pair"},
    ),
    "by an id that nobody knows": (
        [],
        [line(None, 7, collection_id="col_9"), line(None, -7, day=6, collection_id="COL_9")],
        {1: "reversed_pair", 2: "reversed_pair"},
    ),
}  # fmt: skip


def apart(row: Row, case: int) -> Row:
    """Return a row of a case under names and in currencies that no other case has."""
    own = {"currency": row.get("currency", "TZS")[0] + chr(65 + case // 26) + chr(65 + case % 26)}
    if row["reference"]:
        own["reference"] = re.sub(r"(\w+)", rf"\g<1>{case}", row["reference"])
    if row.get("collection_id"):
        own["collection_id"] = f"{row['collection_id']}_{case}"
    return {**row, **own}


@pytest.fixture(scope="module", params=[1, -1], ids=["as they stand", "backwards"])
def told(
    request: pytest.FixtureRequest, module_collections: Make
) -> dict[str, dict[int | str, str]]:
    """Return what one month of all cases says of each: a hundred small months cost a minute."""
    service: list[Row] = []
    lines: list[Row] = []
    mine: dict[int | str, tuple[str, int | str]] = {}
    for number, (case, (known, booked, _)) in enumerate(CASES.items()):
        for place, row in enumerate(known, start=1):
            name = row.get("id", f"col_{place}")
            mine[f"{name}_{number}"] = case, name
            service.append({**apart(row, number), "id": f"{name}_{number}"})
        for place, row in enumerate(booked, start=1):
            mine[len(lines) + 1] = case, place
            lines.append({**apart(row, number), "row_no": len(lines) + 1})
    written = books_of(*lines[:: request.param])
    found = ledger.match(module_collections(*service), written, period=MARCH)
    by_case: dict[str, dict[int | str, str]] = {case: {} for case in CASES}
    for key, code in codes(found).items():
        case, name = mine[key]
        by_case[case][name] = code
    return by_case


@pytest.mark.parametrize("case", CASES)
def test_what_is_taken_back_is_expected_only_with_what_it_takes_back(
    told: dict[str, dict[int | str, str]], case: str
) -> None:
    assert told[case] == CASES[case][2]


def test_a_break_tells_its_sum_and_a_wrong_sign_stands_with_its_payment(
    collections_of: Make,
) -> None:
    lines = [line("R", -1_000), line(None, -500_000, day=6)]
    found = ledger.match(collections_of(paid("R", 1_000)), books_of(*lines), period=MARCH)
    [alone, turned] = found.rows.sort_values("row_no", ascending=False).to_dict("records")
    assert (alone["break_code"], alone["bridge_effect"]) == ("reversal_alone", -500_000)
    assert (turned["amount_ledger"], turned["amount_service"]) == (-1_000, 1_000)
    assert (turned["bridge_effect"], turned["collection_id"]) == (-2_000, "col_1")
    assert breaks_of(found) == 2


def spelled(row: Row) -> str:
    return str(row["reference"] or "").strip().lower()


orders = st.sampled_from(["A", "a ", "B", None])
services = st.lists(
    st.tuples(orders.filter(bool), st.sampled_from([100, 200]), st.integers(-20, 20)), max_size=3
)
books = st.lists(
    st.tuples(
        orders,
        st.sampled_from([100, -100, 200, -200, -300, 0]),
        st.sampled_from(["payment", "reversal", "refund", "credit_note", "chargeback"]),
        st.integers(1, 28),
        st.sampled_from(["TZS", "TZS", "TZS", "KES"]),
    ).map(lambda one: (one[0], abs(one[1]), *one[2:]) if one[2] == "payment" else one),
    max_size=5,
)


@pytest.mark.merge
@pytest.mark.scale(12, 400, 3_000)
def test_no_money_of_the_books_that_nothing_explains_leaves_them_without_a_break(
    collections_of: Make, rounds: int
) -> None:
    @settings(max_examples=rounds, deadline=None, database=None)
    @given(services, books)
    def holds(service: list[Any], booked: list[Any]) -> None:
        began = noon(1)
        known = [
            paid(name, amount, created_at=at, completed_at=at)
            for name, amount, days in service
            for at in [began + timedelta(days=days)]
        ]
        lines = [
            line(name, amount, kind, day, currency=currency)
            for name, amount, kind, day, currency in booked
        ]
        found = ledger.match(collections_of(*known), books_of(*lines), period=MARCH)
        assert found.unexplained == 0
        if breaks_of(found):
            return
        for order in {(spelled(one), one["currency"]) for one in lines}:
            mine = [one["amount"] for one in lines if (spelled(one), one["currency"]) == order]
            came = sum(one["amount"] for one in known if (spelled(one), one["currency"]) == order)
            booked_in = sum(amount for amount in mine if amount > 0)
            assert -sum(amount for amount in mine if amount < 0) <= came + booked_in
            assert came or sum(mine) == 0

    holds()
