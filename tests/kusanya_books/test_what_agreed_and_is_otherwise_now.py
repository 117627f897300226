"""What agreed with the books at a close and would not now: its line is carried and judged again."""

from datetime import date
from typing import Any

import pandas as pd
import pytest
from tests.kit.frames import frame_of

from kusanya_books import columns
from kusanya_books.columns import CLOSED, ITEMS, LEDGER, MOVEMENTS
from kusanya_books.pack import close
from kusanya_books.request.days import period
from kusanya_books.request.earlier_period import EarlierPeriod

DAY = pd.Timestamp(date(2026, 3, 5))
PAID: dict[str, Any] = {
    "status": "succeeded", "amount": 1_000, "fee": 18, "currency": "TZS", "contradictions": 0,
    "business_day": DAY, "created_day": DAY, "channel": "MPESA_TZ", "mode": "live", "seq": 1,
}  # fmt: skip
CASES: dict[str, tuple[Any, Any, bool]] = {
    "nothing": ({}, {}, False),
    "another place in the journal": ({}, {"seq": 2}, False),
    "no success any more": ({}, {"status": "failed"}, True),
    "two finals": ({}, {"status": "contradiction", "contradictions": 1}, True),
    "a contradiction beside the success": ({}, {"contradictions": 1}, True),
    "one that was there": ({"contradictions": 1}, {"contradictions": 1, "fee": 19}, False),
    "another amount": ({}, {"amount": 999}, True),
    "another currency": ({}, {"currency": "KES"}, True),
    "another channel": ({}, {"channel": "AIRTEL_TZ"}, False),
    "another fee": ({}, {"fee": 19}, False),
    "a success that was none": ({"status": "created"}, {}, False),
    "a failure that is another one": ({"status": "failed"}, {"status": "expired"}, False),
    "of another day now": ({}, None, False),
    "of this day now": (None, {}, False),
}
"""What was said at the close, and what is said now, of one payment; and whether it is carried."""


def side(place: int) -> pd.DataFrame:
    rows = []
    for case, sides in CASES.items():
        said: Any = sides[place]
        if said is not None:
            named = {"id": case, "reference": f"R {case}"}
            rows.append({**dict.fromkeys(CLOSED.columns), **PAID, **named, **said})
    return frame_of(CLOSED, *rows)


def carried(
    *,
    lines: pd.DataFrame | None = None,
    items: pd.DataFrame | None = None,
    basis: str = "gross",
    **said: Any,
) -> EarlierPeriod:
    earlier = EarlierPeriod(
        run_id="run",
        period=period("2026-03"),
        items=columns.empty(ITEMS) if items is None else items,
        lines=columns.empty(LEDGER) if lines is None else lines,
        **{"had_books": True, **said},
    )
    sides = close._Sides(side(0), side(1), 9)
    late = close.compare(sides.before, sides.now, closed_run_id="run")
    return close._with_news(earlier, sides, late, basis=basis)


def test_what_would_not_agree_now_is_carried_as_the_line_that_agreed() -> None:
    found = carried()
    assert found.otherwise_now == {case for case, (*_, is_carried) in CASES.items() if is_carried}
    assert (found.judged_from, set(found.lines["booked_day"])) == (date(2026, 3, 1), {DAY})
    assert set(found.lines["row_no"]) == {-1, -2, -3, -4, -5}
    line = found.lines.set_index("collection_id").loc["no success any more"]
    assert (line["reference"], line["amount"], line["currency"]) == (
        "R no success any more", 1_000, "TZS",
    )  # fmt: skip
    assert (line["status"], line["kind"], line["channel"]) == ("paid", "payment", "MPESA_TZ")
    assert line["booked_at"] == pd.Timestamp("2026-03-04T21:00Z")


def test_of_books_after_the_fee_the_fee_counts_and_the_line_is_without_it() -> None:
    found = carried(basis="net")
    wanted = {case for case, (*_, is_carried) in CASES.items() if is_carried} | {
        "another fee", "one that was there",
    }  # fmt: skip
    assert found.otherwise_now == wanted
    assert set(found.lines["amount"]) == {982}


def test_an_order_of_which_lines_or_items_are_carried_is_judged_by_those() -> None:
    line = {"row_no": -4, "currency": "TZS", "status": "paid", "kind": "payment", "amount": 1_000}
    named = {**line, "collection_id": "two finals", "booked_day": DAY}
    spelled = {**line, "reference": " r ANOTHER amount", "booked_day": DAY, "row_no": -9}
    item = {"break_id": "b", "leg": "books", "collection_id": "another currency", "amount": 1}
    elsewhere = {**item, "leg": "operator", "collection_id": "no success any more"}
    found = carried(lines=frame_of(LEDGER, named, spelled), items=frame_of(ITEMS, item, elsewhere))
    assert found.otherwise_now == {"no success any more", "a contradiction beside the success"}
    assert sorted(found.lines["row_no"]) == [-11, -10, -9, -4]


def test_without_books_then_nothing_of_them_is_carried() -> None:
    found = carried(had_books=False)
    assert found.otherwise_now == frozenset()
    assert found.lines.empty


OF_OPERATOR = {"no success any more", "two finals", "another amount", "another currency"}
"""What an operator's line would not agree with: that two answers came is no matter of his."""


@pytest.mark.parametrize(
    ("operators", "wanted"),
    [
        ({}, set()),
        ({"AIRTEL_TZ": True}, set()),
        ({"MPESA_TZ": False}, OF_OPERATOR | {"another channel"}),
        (
            {"MPESA_TZ": True, "AIRTEL_TZ": True},
            OF_OPERATOR | {"another channel", "another fee", "one that was there"},
        ),
    ],
)
def test_what_an_operator_agreed_with_and_would_not_now_is_carried_as_his_line(
    operators: dict[str, bool], wanted: set[str]
) -> None:
    found = carried(had_books=False, operators=operators)
    assert found.otherwise_at_operator == wanted
    assert found.movements is not None
    rows = found.movements.set_index("collection_id")
    assert set(rows.index) == wanted
    if wanted:
        fee = 18 if operators["MPESA_TZ"] else None
        [row] = columns.dicts(rows.loc[["another amount"]])
        assert row == {
            "input": "the operator's statement (until 2026-03-31)", "line_no": -1,
            "leg": "operator", "channel": "MPESA_TZ", "currency": "TZS",
            "at": pd.Timestamp("2026-03-04T21:00Z"), "business_day": DAY, "receipt": None,
            "reference": "R another amount", "kind": "payment", "status": "completed",
            "amount": 1_000, "fee": fee, "balance": None, "details": None,
        }  # fmt: skip


def test_what_is_carried_of_an_operator_already_is_judged_by_that() -> None:
    line = {"leg": "operator", "channel": "MPESA_TZ", "currency": "TZS", "amount": 1_000}
    by_id = {**line, "line_no": 7, "collection_id": "two finals"}
    spelled = {**line, "line_no": -3, "reference": " r ANOTHER amount"}
    of_bank = {**line, "leg": "bank", "line_no": 2, "collection_id": "no success any more"}
    item = {"break_id": "b", "leg": "operator", "collection_id": "another currency", "amount": 1}
    found = carried(
        had_books=False,
        operators={"MPESA_TZ": False},
        movements=frame_of(MOVEMENTS, by_id, spelled, of_bank),
        items=frame_of(ITEMS, item, {**item, "leg": "books", "collection_id": "another channel"}),
    )
    assert found.otherwise_at_operator == {"no success any more", "another channel"}
    assert found.movements is not None
    assert sorted(found.movements["line_no"]) == [-5, -4, -3, 2, 7]


@pytest.mark.parametrize(
    ("day", "first"), [(date(2026, 2, 3), date(2026, 2, 3)), (None, date(2026, 3, 1))]
)
def test_what_changed_before_the_period_is_judged_from_its_day_on(day: Any, first: date) -> None:
    found = carried()
    changed = EarlierPeriod(
        run_id="run", period=found.period, items=found.items, lines=found.lines, had_books=True,
        changed_from=day,
    )  # fmt: skip
    assert changed.judged_from == first
