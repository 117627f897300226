"""What agreed with the books at a close and would not now: its line is carried and judged again."""

from datetime import date
from typing import Any

import msgspec
import pandas as pd
import pytest
from tests.kit.earlier import compared
from tests.kit.frames import frame_of
from tests.kusanya_books.said_otherwise import CASES, DAY, carried, side

from kusanya_books import columns
from kusanya_books.columns import DUE, ITEMS, LEDGER, MOVEMENTS
from kusanya_books.pack import late_changes
from kusanya_books.request.days import period
from kusanya_books.request.earlier_period import EarlierPeriod


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
        "another fee", "one that was there", "a fee that was not known",
    }  # fmt: skip
    assert found.otherwise_now == wanted
    assert set(found.lines["amount"]) == {982, 1_000}
    unknown = found.lines.set_index("collection_id").loc["a fee that was not known"]
    assert unknown["amount"] == 1_000


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
    found = carried(books=False)
    assert found.otherwise_now == frozenset()
    assert found.lines.empty


LATE = {"a success that was none", "of this day now"}
"""What became a success since the close."""


@pytest.mark.parametrize(
    ("given", "books", "operator"),
    [
        ({"operators": {"MPESA_TZ": False}}, True, True),
        ({"books": False, "operators": {"AIRTEL_TZ": True}}, False, False),
        ({"span": "2026-02", "operators": {"MPESA_TZ": False}}, False, False),
        ({"span": "2026-03-05..2026-03-05", "operators": {"MPESA_TZ": True}}, True, True),
        ({"span": "2026-03-06..2026-03-31", "operators": {"MPESA_TZ": True}}, False, False),
        ({"span": "2026-03-01..2026-03-04", "operators": {"MPESA_TZ": True}}, False, False),
    ],
)
def test_what_became_known_late_lacks_only_where_something_was_given_of_its_day(
    given: dict[str, Any], *, books: bool, operator: bool
) -> None:
    found = carried(**given)
    assert found.ids_since("books") == found.otherwise_now | (LATE if books else set())
    of_operator = found.otherwise_at_operator | (LATE if operator else set())
    assert found.ids_since("operator") == of_operator
    assert bool(found.otherwise_now) is books
    assert bool(found.otherwise_at_operator) is operator
    assert set(found.keys()["id"]) == found.ids_since("books") | found.ids_since("operator")


@pytest.mark.parametrize("case", sorted(LATE))
def test_the_only_payment_of_which_something_was_heard_is_not_passed_over(case: str) -> None:
    found = carried(cases={case: CASES[case]}, operators={"MPESA_TZ": True})
    assert found.ids_since("books") == found.ids_since("operator") == {case}
    assert found.due_since is not None
    assert found.due_since["net"].tolist() == [982]


def test_what_is_said_otherwise_stands_in_one_order_and_its_money_counts_once() -> None:
    said = {
        "status": "failed", "amount": 900, "fee": 9, "business_day": DAY + pd.Timedelta(days=1),
        "currency": "KES", "channel": "AIRTEL_TZ", "reference": "R-2", "failure_code": "declined",
        "contradictions": 1,
    }  # fmt: skip
    sides = [side(place, {"all of it": ({}, said, True)}) for place in (0, 1)]
    found = late_changes.compare(*sides, closed_run_id="run")
    assert found["field"].tolist() == list(said)
    assert found["before"].isna().tolist() == [name == "failure_code" for name in said]
    assert found["amount_effect"].tolist() == [-1_000, *[0] * (len(said) - 1)]
    assert found["fee_effect"].tolist() == [-18, *[0] * (len(said) - 1)]


def test_what_is_owed_now_beyond_what_was_owed_is_due() -> None:
    due = carried().due_since
    assert due is not None
    found = zip(due["collection_id"], due["channel"], due["currency"], due["net"], strict=True)
    plain = ("MPESA_TZ", "TZS")
    assert sorted(found) == sorted(
        [
            ("no success any more", *plain, -982),
            ("two finals", *plain, -982),
            ("one that was there", *plain, -1),
            ("another amount", *plain, -1),
            ("another currency", *plain, -982),
            ("another currency", "MPESA_TZ", "KES", 982),
            ("another channel", *plain, -982),
            ("another channel", "AIRTEL_TZ", "TZS", 982),
            ("another fee", *plain, -1),
            ("a fee that was not known", *plain, -18),
            ("a success that was none", *plain, 982),
            ("of another day now", *plain, -982),
            ("of this day now", *plain, 982),
        ]
    )


def test_payments_are_judged_again_from_the_first_day_of_which_something_changed() -> None:
    before, after = ({"business_day": DAY + pd.Timedelta(days=days)} for days in (-1, 1))
    quiet: tuple[Any, Any, bool] = (before, before, False)
    changed = {"first": ({}, {"amount": 999}, True), "next": (after, {**after, "fee": 1}, False)}
    assert carried(cases={"quiet": quiet, **changed}).changed_from == DAY.date()
    assert carried(cases={"quiet": quiet}).changed_from is None


def test_what_two_closes_were_given_of_a_day_is_one_line() -> None:
    found = carried(span="2026-03", operators={"MPESA_TZ": False})
    twice = msgspec.structs.replace(
        found,
        compared=(
            *compared(period("2026-02-20..2026-03-10"), operators={"MPESA_TZ": True}),
            *found.compared,
        ),
        lines=columns.empty(LEDGER),
        movements=None,
    )
    sides = late_changes.Sides(side(0), side(1), 9)
    late = late_changes.compare(sides.before, sides.now, closed_run_id="run")
    again = late_changes.with_news(twice, sides, late, basis="gross")
    assert len(again.lines) == len(found.lines)
    assert again.movements is not None
    assert again.movements["collection_id"].is_unique
    has_fee = again.movements.set_index("collection_id")["fee"].notna()
    assert has_fee.drop("a fee that was not known").all(), "one of the two named fees"
    assert again.paid_since is not None
    assert not again.paid_since.duplicated().any()


@pytest.mark.parametrize("is_owed", [True, False])
@pytest.mark.parametrize(("day", "is_of_it"), [(1, True), (31, True), (32, False), (0, False)])
def test_what_became_due_is_owed_where_payouts_of_its_day_were_compared(
    day: int, *, is_of_it: bool, is_owed: bool
) -> None:
    at = pd.Timestamp(date(2026, 2, 28)) + pd.Timedelta(days=day)
    due = columns.frame(
        DUE,
        {
            "collection_id": ["a"],
            "business_day": [at],
            "channel": ["MPESA_TZ"],
            "currency": ["TZS"],
            "net": [982],
        },
    )
    found = carried(has_settlement=is_owed)
    assert len(found.settled_of(due)) == (is_owed and is_of_it)
    assert list(found.settled_of(due.head(0)).columns) == list(DUE.columns)


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
            OF_OPERATOR
            | {
                *("another channel", "another fee", "one that was there"),
                "a fee that was not known",
            },
        ),
    ],
)
def test_what_an_operator_agreed_with_and_would_not_now_is_carried_as_his_line(
    operators: dict[str, bool], wanted: set[str]
) -> None:
    found = carried(books=False, operators=operators)
    assert found.otherwise_at_operator == wanted
    assert found.movements is not None
    rows = found.movements.set_index("collection_id")
    assert set(rows.index) == wanted
    if wanted:
        fee = 18 if operators["MPESA_TZ"] else None
        [row] = columns.dicts(rows.loc[["another amount"]])
        assert row == {
            "input": "the operator's statement (until 2026-03-31)", "line_no": -2 if fee else -1,
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
        books=False,
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
        run_id="run", period=found.period, items=found.items, lines=found.lines,
        compared=found.compared, changed_from=day,
    )  # fmt: skip
    assert changed.judged_from == first
