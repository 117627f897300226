"""Signed money, bookings of several payments, other spellings: each named, each bridge closes."""

import re
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import msgspec
import pandas as pd
import pytest
from tests.kit.books import books_of
from tests.kit.frames import breaks_of

from kusanya_books import columns
from kusanya_books.match import breaks, ledger
from kusanya_books.match.breaks import BreakRule, Standing
from kusanya_books.match.ledger import LedgerMatch
from kusanya_books.request.days import period
from kusanya_books.request.tolerance import Tolerance

MARCH = period("2026-03")
Make = Callable[..., pd.DataFrame]


def noon(day: int, month: int = 3) -> datetime:
    return datetime(2026, month, day, 9, tzinfo=UTC)


def paid(reference: str, amount: int, day: int = 5, **more: Any) -> dict[str, Any]:
    plain = {"fee": 0, "created_at": noon(day), "completed_at": noon(day)}
    return {"reference": reference, "amount": amount, **plain, **more}


def codes(found: LedgerMatch) -> dict[Any, str]:
    """Return the code of every row, by the number of its line, else by its collection."""
    assert found.unexplained == 0
    return {
        row.collection_id if pd.isna(row.row_no) else int(row.row_no): row.break_code
        for row in columns.records(found.rows)
    }


def effects(found: LedgerMatch) -> dict[str, int]:
    return dict(zip(found.bridge["line"], map(int, found.bridge["amount"]), strict=True))


def match(collections: pd.DataFrame, *lines: dict[str, Any], **options: Any) -> LedgerMatch:
    books = books_of(*lines)
    found = ledger.match(collections, books, period=MARCH, **options)
    # Nothing else is said where rows that agree are only counted.
    brief = ledger.match(collections, books, period=MARCH, everything=False, **options)
    left = found.rows[found.rows["standing"] != "ok"].reset_index(drop=True)
    pd.testing.assert_frame_equal(brief.rows, left)
    for name in ("bridge", "ageing", "doubles"):
        pd.testing.assert_frame_equal(getattr(brief, name), getattr(found, name))
    return found


def test_lines_that_are_no_payment_are_rows_of_their_own_and_part_of_the_bridge(
    collections_of: Make,
) -> None:
    found = match(
        collections_of(
            paid("R-1", 1_000), paid("R-9", 9, created_at=noon(3, 2), completed_at=noon(3, 2))
        ),
        {"reference": "R-1", "amount": 1_000},
        {"reference": "R-1", "amount": -300, "kind": "refund"},
        {"reference": "R-1", "amount": -20, "kind": "credit_note"},
        {"reference": "R-1", "amount": -50, "kind": "chargeback"},
        {"reference": None, "amount": -7, "kind": "charge"},
        {"reference": "R-9", "amount": -9, "kind": "reversal"},
        {"reference": "R-8", "amount": -5, "kind": "refund", "status": "open"},
    )
    assert codes(found) == {
        1: "matched",
        2: "refund",
        3: "credit_note",
        4: "chargeback",
        5: "bank_charges",
        6: "reversal",
        7: "not_billable",
    }
    assert effects(found) == {
        "ledger total": 614,
        "refund": 300,
        "credit_note": 20,
        "chargeback": 50,
        "bank_charges": 7,
        "reversal": 9,
        "matched": 0,
        "service total": 1_000,
        "unexplained": 0,
    }
    assert breaks_of(found) == 0
    aged = dict(zip(found.ageing["break_code"], found.ageing["bridge_effect"], strict=True))
    assert (aged["refund"], aged["bank_charges"]) == (-300, -7)


def test_a_line_and_its_reversal_stand_side_by_side(collections_of: Make) -> None:
    found = match(
        collections_of(paid("R-1", 1_000), paid("R-2", 500, status="failed"), paid("R-3", 70)),
        {"reference": "R-1", "amount": 1_000},
        {"reference": "R-1", "amount": 1_000},
        {"reference": "r-1 ", "amount": -1_000, "kind": "reversal"},
        {"reference": "R-2", "amount": 500},
        {"reference": "R-2", "amount": -500, "kind": "reversal"},
        {"reference": "R-3", "amount": 70},
        {"reference": "R-3", "amount": -70, "kind": "reversal"},
        {"reference": "R-4", "amount": -30, "kind": "refund"},
        {"reference": "R-4", "amount": 30, "kind": "reversal"},
        {"reference": "R-5", "amount": 8, "at": noon(27, 2)},
        {"reference": "R-5", "amount": -8, "kind": "reversal"},
    )
    wanted: dict[Any, str] = dict.fromkeys((1, 3, 4, 5, 6, 7, 8, 9), "reversed_pair")
    wanted |= {2: "matched", 11: "reversal"}
    assert codes(found) == {**wanted, "col_2": "not_billable", "col_3": "missing_in_ledger"}
    keys = found.rows[found.rows["break_code"] == "reversed_pair"]["group_key"]
    assert sorted(keys) == [f"row {row}" for row in (1, 1, 4, 4, 6, 6, 8, 8)]
    assert effects(found)["reversed_pair"] == 0


@pytest.mark.merge
def test_a_second_payment_that_was_refunded_is_no_break_and_no_refund_to_make(
    collections_of: Make,
) -> None:
    found = match(
        collections_of(paid("R-1", 1_000), paid("R-1", 1_000, 6)),
        {"reference": "R-1", "amount": 1_000},
        {"reference": "R-1", "amount": -1_000, "kind": "refund"},
    )
    assert codes(found) == {1: "matched", 2: "refunded", "col_2": "refunded"}
    assert found.doubles.empty
    assert effects(found)["refunded"] == 2_000


@pytest.mark.merge
def test_a_payment_that_is_booked_after_its_fee_and_the_fee_beside_it_is_booked_in_two_lines(
    collections_of: Make,
) -> None:
    service = collections_of(
        {**paid("R-1", 1_000), "fee": 18}, {**paid("R-2", 1_000, 6), "fee": 18}
    )
    found = match(
        service,
        {"reference": "R-1", "amount": 982},
        {"reference": "R-1", "amount": 18},
        {"reference": "R-2", "amount": 982},
    )
    assert codes(found) == {
        1: "split_booking",
        2: "split_booking",
        "col_1": "split_booking",
        3: "booked_net",
    }
    assert effects(found)["unexplained"] == 0


def test_several_lines_of_one_payment_and_one_line_of_several_meet_by_exact_sums(
    collections_of: Make,
) -> None:
    found = match(
        collections_of(
            paid("SPLIT", 1_000),
            paid("HALVES", 1_000),
            paid("BOTH", 300),
            paid("BOTH", 400, 6),
            paid("A/1", 10),
            paid("A/2", 20),
            paid("WRONG", 900),
            paid("X-1", 31),
            paid("X-2", 32),
        ),
        {"reference": "SPLIT", "amount": 600},
        {"reference": "SPLIT", "amount": 399},
        {"reference": "HALVES", "amount": 500},
        {"reference": "HALVES", "amount": 500},
        {"reference": "BOTH", "amount": 700, "at": noon(6)},
        {"reference": "a/1, A/2", "amount": 30},
        {"reference": "WRONG", "amount": 600},
        {"reference": "WRONG", "amount": 200},
        {"reference": "X-1 + X-2 + X-3", "amount": 63},
        tolerance=Tolerance(amount=1),
    )
    assert codes(found) == {
        1: "within_tolerance",
        2: "within_tolerance",
        "col_1": "within_tolerance",
        3: "split_booking",
        4: "split_booking",
        "col_2": "split_booking",
        5: "timing",
        "col_3": "timing",
        "col_4": "timing",
        6: "booked_together",
        "col_5": "booked_together",
        "col_6": "booked_together",
        7: "amount_mismatch",
        8: "missing_at_provider",
        9: "missing_at_provider",
        "col_8": "missing_in_ledger",
        "col_9": "missing_in_ledger",
    }
    rows = found.rows.set_index("row_no")
    assert rows["group_key"].loc[[1, 3, 5, 6]].tolist() == ["col_1", "col_2", "row 5", "row 6"]
    hint = "all lines of this reference less all its payments: -100"
    assert rows["suggested_match"].loc[8] == hint


def test_a_new_rule_about_amounts_leaves_splits_and_joint_bookings_what_they_are(
    collections_of: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    twice_or_half = BreakRule(
        Standing.BREAK,
        "booked at twice or half the amount",
        "Correct the amount.",
        "amount_ledger = 2 * due OR 2 * amount_ledger = due",
        others_may_complete=True,
    )
    rules: dict[str, BreakRule] = {}
    for code, rule in breaks.LEDGER.items():
        if code == "amount_mismatch":
            rules["twice_or_half"] = twice_or_half
        rules[code] = rule
    monkeypatch.setattr(breaks, "LEDGER", rules)
    found = match(
        collections_of(
            paid("BOTH", 1_000),
            paid("BOTH", 1_000),
            paid("SPLIT", 1_000),
            paid("ALONE", 1_000),
        ),
        {"reference": "BOTH", "amount": 2_000},
        {"reference": "SPLIT", "amount": 500},
        {"reference": "SPLIT", "amount": 300},
        {"reference": "SPLIT", "amount": 200},
        {"reference": "ALONE", "amount": 2_000},
    )
    assert codes(found) == {
        1: "booked_together",
        "col_1": "booked_together",
        "col_2": "booked_together",
        2: "split_booking",
        3: "split_booking",
        4: "split_booking",
        "col_3": "split_booking",
        5: "twice_or_half",
    }


@pytest.mark.merge
def test_a_line_without_a_reference_stands_for_what_is_left_of_its_day(
    collections_of: Make,
) -> None:
    day = [paid("D-1", 100, fee=2), paid("D-2", 200, fee=3), paid("D-3", 50, channel="TIGO_TZ")]
    collections = collections_of(*day, paid("D-4", 1_000))
    named = {"reference": "D-4", "amount": 1_000}

    def of(**line: Any) -> Any:
        found = match(collections, named, {"reference": None, "at": noon(5), **line})
        return codes(found)[2]

    assert of(amount=350) == "booked_by_day"
    assert of(amount=300, channel="MPESA_TZ") == "booked_by_day"
    assert of(amount=295, channel="MPESA_TZ") == "booked_by_day_net"
    assert of(amount=350, at=noon(6)) == "timing"
    assert of(amount=350, at=noon(7)) == "missing_at_provider"
    assert of(amount=349) == "missing_at_provider"
    assert of(amount=350, fee=4) == "missing_at_provider"


EDGES = {
    "booked a day later": (noon(31), noon(1, 4), "booked_over_edge", "booked_over_edge"),
    "booked two days later": (noon(30), noon(1, 4), "booked_over_edge", "booked_over_edge"),
    "booked after the grace": (
        noon(30), noon(2, 4), "booked_in_later_period", "paid_in_earlier_period",
    ),
    "paid a day later": (noon(1, 4), noon(31), "paid_over_edge", "paid_over_edge"),
    "paid two days later": (noon(1, 4), noon(30), "paid_over_edge", "paid_over_edge"),
    "paid after the grace": (
        noon(2, 4), noon(30), "paid_in_later_period", "booked_in_earlier_period",
    ),
}  # fmt: skip
"""When it was paid and booked, and what March and April say with a grace of two days."""
FORMS: dict[str, list[tuple[str | None, int]]] = {
    "alone": [("E-1", 30), ("E-2", 40)],
    "by day": [(None, 70)],
    "together": [("E-1;E-2", 70)],
    "split": [("E-1", 10), ("E-1", 20), ("E-2", 15), ("E-2", 25)],
}


CROSSINGS = [
    (edge, form)
    for edge in EDGES
    for form in FORMS
    # A line without a reference is of payments within the grace before it.
    if form != "by day" or edge in {"booked a day later", "booked two days later"}
]


@pytest.fixture(scope="module")
def crossed(module_collections: Make) -> Callable[[str, str], list[LedgerMatch]]:
    """Return what March and April say of a crossing; all stand in both, each in its currency."""
    service: list[dict[str, Any]] = []
    lines: list[dict[str, Any]] = []
    for number, (edge, form) in enumerate(CROSSINGS):
        paid_on, booked_on, *_ = EDGES[edge]
        own = {"currency": f"T{chr(65 + number)}S"}
        at: dict[str, Any] = {"created_at": paid_on, "completed_at": paid_on, **own}
        for name, amount in (("E-1", 30), ("E-2", 40)):
            service.append(paid(f"{name}{number}", amount, **at))
        lines += [
            {
                "reference": name and re.sub(r"(E-\d)", rf"\g<1>{number}", name),
                "amount": amount, "at": booked_on, **own,
            }
            for name, amount in FORMS[form]
        ]  # fmt: skip
    terms = Tolerance(grace_days=2)
    given = module_collections(*service), books_of(*lines)
    months = [
        ledger.match(*given, period=period(month), tolerance=terms)
        for month in ("2026-03", "2026-04")
    ]

    def of(edge: str, form: str) -> list[LedgerMatch]:
        currency = f"T{chr(65 + CROSSINGS.index((edge, form)))}S"
        sides = ["currency_ledger", "currency_service"]
        return [
            msgspec.structs.replace(
                found, rows=found.rows[(found.rows[sides] == currency).any(axis=1)]
            )
            for found in months
        ]

    return of


@pytest.mark.parametrize(("edge", "form"), CROSSINGS)
def test_what_crosses_the_periods_edge_within_the_grace_is_told_from_what_comes_later(
    crossed: Callable[[str, str], list[LedgerMatch]], edge: str, form: str
) -> None:
    for found, code in zip(crossed(edge, form), EDGES[edge][2:], strict=True):
        assert set(codes(found).values()) == {code}
        assert breaks_of(found) == 0


@pytest.mark.merge
def test_a_reference_is_found_in_any_case_and_with_spaces_and_shown_as_both_wrote_it(
    collections_of: Make,
) -> None:
    found = match(
        collections_of(paid("INV-1", 100), paid("INV-2", 200), paid("AbC", 1), paid("ABC", 2)),
        {"reference": "inv-1 ", "amount": 100},
        {"reference": "Inv-2", "amount": 250},
        {"reference": "abc", "amount": 5},
    )
    assert codes(found) == {
        1: "reference_differs",
        2: "amount_mismatch",
        3: "missing_at_provider",
        "col_3": "missing_in_ledger",
        "col_4": "missing_in_ledger",
    }
    first = next(columns.records(found.rows[found.rows["row_no"].fillna(0) == 1]))
    shown = (first.match_rule, first.reference, first.reference_service)
    assert shown == ("spelling", "inv-1 ", "INV-1")
    april = ledger.match(
        collections_of(paid("INV-1", 100, 31)),
        books_of({"reference": "inv-1", "amount": 100, "at": noon(1, 4)}),
        period=period("2026-04"),
    )
    assert codes(april) == {1: "booked_over_edge"}


@pytest.mark.merge
def test_a_line_that_repeats_another_in_another_spelling_is_booked_twice(
    collections_of: Make,
) -> None:
    found = match(
        collections_of(
            paid("INV-1", 100), paid("INV-2", 200), paid("INV-3", 300), paid("INV-3", 300, 6)
        ),
        {"reference": "INV-1", "amount": 100},
        {"reference": "inv-1 ", "amount": 100, "at": noon(6)},
        {"reference": "inv-1", "amount": 99},
        {"reference": "inv-2", "amount": 200, "at": noon(6)},
        {"reference": "Inv-2", "amount": 200},
        # The second payment of its reference is left, which this line may be.
        {"reference": "INV-3", "amount": 300},
        {"reference": "inv-3", "amount": 300, "at": noon(6)},
    )
    assert codes(found) == {
        1: "matched",
        2: "duplicate_in_ledger",
        3: "missing_at_provider",
        4: "duplicate_in_ledger",
        5: "reference_differs",
        6: "matched",
        7: "reference_differs",
    }
    rows = found.rows.set_index("row_no")
    assert rows["suggested_match"].loc[[2, 4]].tolist() == [
        "row 1 books it already, as INV-1",
        "row 5 books it already, as Inv-2",
    ]
    assert set(rows["suggested_action"].loc[[2, 4]]) == {"Delete the second line."}
    assert effects(found)["unexplained"] == 0


@pytest.mark.merge
def test_references_that_stand_the_wrong_way_round_are_a_hint_and_no_match(
    collections_of: Make,
) -> None:
    found = match(
        collections_of(paid("R-1", 100), paid("R-2", 200), paid("R-3", 7)),
        {"reference": "R-1", "amount": 200},
        {"reference": "R-2", "amount": 100},
        {"reference": "R-4", "amount": 7},
    )
    rows = found.rows
    by_row = dict(zip(rows["row_no"].fillna(0), rows["suggested_match"], strict=True))
    assert set(codes(found).values()) == {
        "amount_mismatch",
        "missing_at_provider",
        "missing_in_ledger",
    }
    assert by_row[1] == "row 2: the two references may stand the wrong way round"
    assert by_row[3] == "col_3: the same amount within minutes"
    midnight = datetime(2026, 3, 4, 21, tzinfo=UTC)
    dated = match(collections_of(paid("R-3", 7)), {"reference": "R-4", "amount": 7, "at": midnight})
    hints = dated.rows["suggested_match"].tolist()
    assert hints == [
        "col_1: the only one of this amount on this day",
        "row 1: the only one of this amount on this day",
    ]
