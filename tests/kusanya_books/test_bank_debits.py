"""Money out at the bank that names a payout, payouts at the statements' edge, and currencies."""

from datetime import UTC, date, datetime
from typing import Any

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.kit.movements import movements_of
from tests.kit.statements import statement_of

from kusanya_books import columns
from kusanya_books.match import bank
from kusanya_books.request.days import period
from kusanya_books.request.tolerance import Tolerance

MARCH = period("2026-03")


def payout(name: str, amount: int, day: int, **more: Any) -> dict[str, Any]:
    return {"kind": "payout", "receipt": name, "amount": -amount, "at": noon(day), **more}


def entry(amount: int, day: int, details: str = "", **more: Any) -> dict[str, Any]:
    plain = {"leg": "bank", "kind": "other", "channel": None}
    return {**plain, "amount": amount, "at": noon(day), "details": details, **more}


def noon(day: int) -> datetime:
    return datetime(2026, 3, day, 9, tzinfo=UTC)


def codes(*lines: dict[str, Any], as_of: date | None = None, **terms: Any) -> list[str]:
    """Return the codes in the order of the lines; a payout that met nothing stands at its line."""
    tolerance = Tolerance(**{"settle_days": 2, **terms})
    found = bank.match(movements_of(*lines), period=MARCH, tolerance=tolerance, as_of=as_of)
    assert found.unexplained == 0
    by_line = {
        row.payout if pd.isna(row.line_no) else int(row.line_no): row.break_code
        for row in columns.records(found.rows)
    }
    names = [line.get("receipt") for line in lines]
    listed = [
        by_line.get(at, by_line.get(name))
        for at, name in enumerate(names, start=1)
        if at in by_line or name in by_line
    ]
    return [str(code).removeprefix("bank_") for code in listed]


PAID = (payout("B0306AI", 1_000, 6), entry(1_000, 7, "MM B0306AI"))


@pytest.mark.merge
@pytest.mark.parametrize("kind", ["other", "payout", "payment", "reversal"])
def test_a_debit_that_names_a_payout_is_a_break_until_it_is_paid_again(kind: str) -> None:
    back = entry(-1_000, 8, "PAYOUT REVERSED B0306AI", kind=kind)
    assert codes(*PAID, back) == ["agrees", "taken_back"]
    again = entry(1_000, 9, "MM B0306AI")
    assert codes(*PAID, back, again) == ["agrees", "paid_again", "paid_again"]
    third = entry(1_000, 9, "MM B0306AI")
    assert codes(*PAID, back, again, third)[-1] == "credited_again"


@pytest.mark.parametrize(
    "again",
    [
        entry(999, 9, "MM B0306AI"),
        entry(1_000, 9, "MM B0306AI", currency="KES"),
        entry(1_000, 9, "MM B0306AX"),
        entry(1_000, 9, "MM B0306AI", status="pending"),
    ],
)
def test_what_is_no_second_payment_leaves_the_debit_open(again: dict[str, Any]) -> None:
    assert codes(*PAID, entry(-1_000, 8, "B0306AI"), again)[1] == "taken_back"


def test_a_second_credit_before_the_debit_is_no_payment_of_it() -> None:
    lines = (*PAID, entry(1_000, 7, "B0306AI again"), entry(-1_000, 8, "B0306AI"))
    assert codes(*lines) == ["agrees", "credited_again", "taken_back"]


@pytest.mark.parametrize(
    ("other", "code"),
    [
        ({"currency": "KES"}, "debit"),
        ({"status": "pending"}, "not_completed"),
        ({"kind": "charge"}, "charge"),
        ({"details": "REVERSED B0306AIX"}, "debit"),
    ],
)
def test_money_out_that_takes_no_payout_back(other: dict[str, Any], code: str) -> None:
    assert codes(*PAID, entry(-1_000, 8, "B0306AI") | other) == ["agrees", code]


BACK = {"line_no": 1, "batch_id": "CLAW-06", "channel": "TIGO_TZ", "currency": "TZS"}
BACK |= {"gross": -900, "fee": 0, "net": -900, "collection_id": None, "day": date(2026, 3, 6)}


@pytest.mark.parametrize("kind", ["other", "payout", "refund", "reversal", "chargeback"])
@pytest.mark.parametrize("details", ["", "CLAW-06", "taken back: claw-06"])
def test_money_out_that_a_settlement_line_below_zero_names_is_that_line(
    kind: str, details: str
) -> None:
    out = movements_of(entry(-900, 7, details, kind=kind), entry(-900, 20, "rent"))
    found = bank.match(out, statement_of([BACK]), period=MARCH, tolerance=Tolerance(settle_days=2))
    assert found.rows["break_code"].tolist() == ["bank_debit", "bank_agrees"]
    assert found.unexplained == 0


@pytest.mark.parametrize(
    ("out", "codes"),
    [
        (entry(-700, 7, "CLAW-06"), ["bank_over"]),
        (entry(-950, 7, "CLAW-06"), ["bank_short"]),
        (entry(-900, 7, "CLAW-06", currency="KES"), ["bank_missing", "bank_debit"]),
        (entry(-900, 7, "CLAW-06", kind="charge"), ["bank_missing", "bank_charge"]),
        (entry(900, 7, "CLAW-06"), ["bank_missing", "bank_other_credit"]),
        (entry(-900, 12), ["bank_missing", "bank_debit"]),
    ],
)
def test_money_out_that_is_not_the_settlement_line_below_zero(
    out: dict[str, Any], codes: list[str]
) -> None:
    end = entry(5, 31, kind="charge")
    moved = movements_of(out, end)
    found = bank.match(
        moved, statement_of([BACK]), period=MARCH, tolerance=Tolerance(settle_days=2)
    )
    assert [code for code in found.rows["break_code"] if code != "bank_charge"] == [
        code for code in codes if code != "bank_charge"
    ]


def test_a_debit_that_takes_a_payout_back_names_it() -> None:
    found = bank.match(movements_of(*PAID, entry(-1_000, 8, "B0306AI")), period=MARCH)
    by_code = found.rows.set_index("break_code")
    assert by_code["group_key"]["bank_taken_back"] == "B0306AI"


@pytest.mark.merge
@pytest.mark.parametrize("details", ["", "B0306AI"])
def test_a_credit_in_another_currency_pays_nothing(details: str) -> None:
    lines = (payout("B0306AI", 1_000, 6), entry(1_000, 7, details, currency="KES"))
    assert codes(*lines) == ["missing", "other_credit"]
    parts = (entry(400, 7, currency="KES"), entry(600, 7, currency="KES"))
    assert codes(payout("B0306AI", 1_000, 6), *parts)[0] == "missing"
    two = (payout("P-0001", 400, 6), payout("P-0002", 600, 6))
    assert codes(*two, entry(1_000, 7, currency="KES"))[:2] == ["missing", "missing"]


@pytest.mark.parametrize("details", ["", "B0306AI"])
def test_a_pending_credit_pays_nothing(details: str) -> None:
    lines = (payout("B0306AI", 1_000, 6), entry(1_000, 7, details, status="pending"))
    assert codes(*lines) == ["missing", "not_completed"]


@pytest.mark.merge
@pytest.mark.parametrize(("day", "code"), [(29, "missing"), (30, "pending"), (31, "pending")])
def test_a_payout_that_is_due_after_the_statements_end_waits_however_late_it_is_judged(
    day: int, code: str
) -> None:
    lines = (payout("B0331", 1_000, day), entry(5, 20))
    assert codes(*lines, as_of=date(2026, 5, 1))[0] == code
    april = entry(5, 1, at=datetime(2026, 4, 9, 9, tzinfo=UTC))
    assert codes(*lines, april, as_of=date(2026, 5, 1))[0] == "missing"


def test_a_difference_within_the_tolerance_is_said() -> None:
    lines = (payout("B0306AI", 1_000, 6), entry(998, 7, "B0306AI"))
    assert codes(*lines, amount=2) == ["within_tolerance"]


def test_a_statement_without_a_payout_to_hold_it_against_has_compared_nothing() -> None:
    assert bank.match(movements_of(*PAID), period=MARCH).has_compared
    assert not bank.match(movements_of(entry(5, 20)), period=MARCH).has_compared
    of_april = [{**PAID[0], "at": datetime(2026, 4, 9, 9, tzinfo=UTC)}, PAID[1] | {"details": ""}]
    assert not bank.match(movements_of(*of_april), period=MARCH).has_compared


def test_a_gross_without_a_net_is_no_payout() -> None:
    line = {"line_no": 1, "batch_id": "B1", "channel": "TIGO_TZ", "currency": "TZS", "net": 982}
    line |= {"gross": 1_000, "fee": None, "collection_id": None, "day": date(2026, 3, 6)}
    found = bank.match(movements_of(entry(982, 7)), statement_of([line]), period=MARCH)
    assert found.rows["break_code"].tolist() == ["bank_agrees"]


@pytest.mark.merge
@pytest.mark.scale(12, 80, 500)
def test_every_line_of_the_bank_is_in_one_row_with_a_standing(rounds: int) -> None:
    lines = st.builds(
        entry,
        st.sampled_from([-1_000, -300, 0, 300, 700, 1_000]),
        st.integers(1, 31),
        st.sampled_from(["", "B0306AI", "reversed b0306ai", "B0306AI B0307AI", "rent"]),
        currency=st.sampled_from(["TZS", "TZS", "KES"]),
        status=st.sampled_from(["completed", "completed", "pending"]),
        kind=st.sampled_from(["other", "other", "payout", "charge", "reversal", "fee"]),
        receipt=st.sampled_from([None, None, "X-1"]),
    )

    @settings(max_examples=rounds, deadline=None, database=None)
    @given(st.lists(lines, max_size=8))
    def holds(came: list[dict[str, Any]]) -> None:
        moved = movements_of(PAID[0], payout("B0307AI", 700, 7), *came)
        found = bank.match(moved, period=MARCH, tolerance=Tolerance(settle_days=2))
        numbers = sorted(found.rows["line_no"].dropna().astype(int))
        assert numbers == list(range(3, len(moved) + 1))
        assert set(found.rows["standing"]) <= {"break", "expected", "ok"}
        assert found.unexplained == 0
        done = moved[(moved["leg"] == "bank") & (moved["status"] == "completed")]
        for currency, part in found.bridge.groupby("currency"):
            total = int(part.loc[part["line"] == "bank total", "amount"].sum())
            assert total == int(done.loc[done["currency"] == currency, "amount"].sum())
            rows = found.rows[found.rows["currency"] == currency]
            assert int(rows["counted_bank"].sum()) == total

    holds()


def shown(name: str, amount: int, day: int) -> dict[str, Any]:
    """Return a payout that an earlier statement of the bank has shown."""
    return payout(name, amount, day, leg="shown")


@pytest.mark.merge
def test_what_an_earlier_statement_has_shown_is_known_by_its_name() -> None:
    before = shown("B0226AI", 1_000, 2)
    back, again = entry(-1_000, 8, "RETURN B0226AI"), entry(1_000, 9, "MM B0226AI")
    assert codes(before, back) == ["taken_back"]
    assert bank.match(movements_of(before, back), period=MARCH).has_compared
    assert codes(before, back, again) == ["paid_again", "paid_again"]
    assert codes(before, again) == ["credited_again"]
    # The credit that showed it is no second one; another sum is somebody else's.
    assert codes(before, entry(1_000, 2, "MM B0226AI")) == ["other_credit"]
    assert codes(before, entry(900, 9, "MM B0226AI")) == ["other_credit"]
    # A name of fewer than four characters stands in a narrative by chance.
    assert codes(shown("B226", 1_000, 2), entry(-1_000, 8, "RETURN B226")) == ["taken_back"]
    assert codes(shown("226", 1_000, 2), entry(-1_000, 8, "RETURN 226")) == ["debit"]
    # A part of it that was taken back may be paid again.
    part = entry(-900, 8, "RETURN B0226AI"), entry(900, 9, "MM B0226AI")
    assert codes(before, *part) == ["paid_again", "paid_again"]


def test_a_credit_that_names_two_payouts_that_were_shown_stands_in_one_row() -> None:
    both = shown("B0226AI", 1_000, 2), shown("B0227AI", 1_000, 3)
    assert codes(*both, entry(1_000, 9, "B0226AI B0227AI")) == ["credited_again"]
    found = bank.match(movements_of(*both, entry(1_000, 9, "B0226AI B0227AI")), period=MARCH)
    assert len(found.rows) == 1


def test_a_payout_that_was_shown_and_is_said_again_waits_for_no_credit() -> None:
    before, said = shown("B0226AI", 1_000, 2), payout("B0226AI", 1_000, 2)
    later = entry(5, 9)
    assert codes(before, said, later) == ["other_credit"]
    # Lines that reach back to its credit say so themselves.
    assert codes(before, said, entry(1_000, 2, "B0226AI"), later) == ["agrees", "other_credit"]
    for other in (payout("B0226AI", 1_001, 2), payout("B0226AI", 1_000, 1)):
        assert "missing" in codes(before, other, later)
