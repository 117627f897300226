"""What operators and banks say: every planted fault by its name, exact sums, none false."""

from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from typing import Any

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.kit.frames import breaks_of
from tests.kit.movements import movements_of
from tests.kit.statements import statement_of

from kusanya_books import columns
from kusanya_books.columns import BANK_MATCHES, LEG_BRIDGE, STATEMENT
from kusanya_books.match import bank, operator
from kusanya_books.match.legs import Leg
from kusanya_books.request.days import period
from kusanya_books.request.tolerance import Tolerance

MARCH = period("2026-03")
TWO_DAYS = Tolerance(settle_days=2)
Make = Callable[..., pd.DataFrame]


def noon(day: int, month: int = 3) -> datetime:
    return datetime(2026, month, day, 9, tzinfo=UTC)


def payout(name: str, amount: int, day: int, **more: Any) -> dict[str, Any]:
    return {"kind": "payout", "receipt": name, "amount": -amount, "at": noon(day), **more}


def credit(amount: int, day: int, details: str = "", **more: Any) -> dict[str, Any]:
    plain = {"leg": "bank", "kind": "other", "channel": None}
    return {**plain, "amount": amount, "at": noon(day), "details": details, **more}


def codes(leg: Leg) -> dict[Any, str]:
    """Return the code of every line and payout by the number of the line, else by the payout."""
    return {
        row.payout if pd.isna(row.line_no) else int(row.line_no): row.break_code
        for row in columns.records(leg.rows)
    }


def amounts(leg: Leg) -> dict[str, int]:
    return dict(zip(leg.bridge["line"], map(int, leg.bridge["amount"]), strict=True))


def test_a_payout_is_found_by_what_a_credit_names_by_its_amount_and_day_and_by_exact_sums() -> None:
    found = bank.match(
        movements_of(
            payout("PO-0001", 5_000, 5),
            payout("PO-0002", 700, 6),
            payout("PO-0003", 800, 7),
            payout("PO-0004", 900, 10),
            payout("PO-0005", 640, 15),
            credit(5_000, 12, "MM SETTLEMENT po/0001 TZ"),
            credit(1_500, 8),
            credit(400, 10),
            credit(500, 11),
            credit(640, 16),
        ),
        period=MARCH,
        tolerance=TWO_DAYS,
    )
    assert codes(found) == {
        6: "bank_late",
        7: "bank_together",
        "PO-0002": "bank_together",
        "PO-0003": "bank_together",
        8: "bank_in_parts",
        9: "bank_in_parts",
        "PO-0004": "bank_in_parts",
        10: "bank_agrees",
    }
    keys = dict(zip(found.rows["line_no"], found.rows["group_key"], strict=True))
    assert (keys[7], keys[8]) == ("line 7 of statement.csv", "PO-0004")
    assert (breaks_of(found), found.unexplained) == (0, 0)


def test_every_fault_of_the_bank_has_a_name_and_its_sum_in_the_bridge() -> None:
    found = bank.match(
        movements_of(
            payout("PO-0001", 5_000, 5),
            payout("PO-0002", 700, 6),
            payout("PO-0003", 800, 7),
            payout("PO-0004", 333, 20),
            payout("PO-0005", 444, 30),
            payout("PO-0006", 555, 31),
            credit(4_990, 6, "PO-0001", balance=4_990),
            credit(710, 7, "PO-0002", balance=5_700),
            credit(800, 8, "PO-0003", balance=6_500),
            credit(800, 9, "PO-0003", balance=7_300),
            credit(77, 12, kind="payout", balance=7_377),
            credit(66, 12, "rent", balance=7_443),
            credit(-20, 12, kind="charge", balance=7_423),
            credit(-800, 13, kind="reversal", balance=6_623),
            credit(-300, 14, balance=6_323),
            credit(9, 15, status="pending"),
            credit(555, 1, at=noon(1, month=4), balance=6_878),
        ),
        period=MARCH,
        tolerance=TWO_DAYS,
    )
    assert codes(found) == {
        7: "bank_short",
        8: "bank_over",
        9: "bank_agrees",
        10: "bank_credited_again",
        11: "bank_unexpected",
        12: "bank_other_credit",
        13: "bank_charge",
        14: "bank_returned",
        15: "bank_debit",
        16: "bank_not_completed",
        17: "bank_across_cutoff",
        "PO-0004": "bank_missing",
        "PO-0005": "bank_pending",
    }
    assert amounts(found) == {
        "bank total": 6_323,
        "bank_charge": 20,
        "bank_returned": 800,
        "bank_debit": 300,
        "bank_credited_again": -800,
        "bank_unexpected": -77,
        "bank_other_credit": -66,
        "bank_pending": 444,
        "bank_missing": 333,
        "bank_short": 10,
        "bank_over": -10,
        "bank_across_cutoff": 555,
        "bank_agrees": 0,
        "payouts total": 7_832,
        "unexplained": 0,
        "opening balance": 0,
        "closing balance": 6_323,
        "not in the balances": 0,
    }


@pytest.mark.merge
@pytest.mark.parametrize(
    ("came", "said"),
    [
        ([(950, 8)], "perhaps line 2 of statement.csv, 2026-03-08: 50 less"),
        ([(1_100, 5)], "perhaps line 2 of statement.csv, 2026-03-05: 100 more"),
        ([(950, 12)], "perhaps line 2 of statement.csv, 2026-03-12: 50 less"),
        ([(899, 8)], None),
        ([(1_101, 8)], None),
        ([(950, 4)], None),
        ([(950, 13)], None),
        ([(950, 8), (960, 9)], None),
    ],
)
def test_a_payout_that_is_not_at_the_bank_says_which_credit_may_be_it(
    came: list[tuple[int, int]], said: str | None
) -> None:
    lines = [payout("PO-0001", 1_000, 5), *(credit(*one) for one in came)]
    rows = bank.match(movements_of(*lines), period=MARCH).rows
    [missing] = columns.records(rows[rows["break_code"] == "bank_missing"])
    assert (None if pd.isna(missing.details) else missing.details) == said
    # Another payout that it may be as well, or a line of another currency, says nothing.
    for more in (payout("PO-0002", 1_000, 5), {"currency": "KES"}):
        changed = (
            [*lines, more] if "kind" in more else [lines[0], *(one | more for one in lines[1:])]
        )
        rows = bank.match(movements_of(*changed), period=MARCH).rows
        assert rows.loc[rows["break_code"] == "bank_missing", "details"].isna().all()


def test_a_sum_that_fits_more_than_one_way_is_not_matched() -> None:
    found = bank.match(
        movements_of(
            payout("PO-0003", 300, 15),
            payout("PO-0004", 300, 15, channel="TIGO_TZ"),
            credit(600, 16),
            credit(600, 16),
            # Others are matched all the same.
            payout("PO-0005", 500, 25),
            payout("PO-0006", 450, 25),
            credit(950, 26),
        ),
        period=MARCH,
        tolerance=TWO_DAYS,
    )
    wrong = {"PO-0003": "bank_missing", "PO-0004": "bank_missing"}
    wrong |= dict.fromkeys(("PO-0005", "PO-0006"), "bank_together")
    assert {name: code for name, code in codes(found).items() if isinstance(name, str)} == wrong
    lines = [code for name, code in codes(found).items() if not isinstance(name, str)]
    assert lines == ["bank_other_credit", "bank_other_credit", "bank_together"]


def test_a_credit_of_several_channels_is_less_what_one_of_them_took_back() -> None:
    paid = [
        payout("PO-1", 600, 15),
        payout("PO-2", 300, 15, channel="TIGO_TZ"),
        payout("PO-3", -200, 15, channel="AIRTEL_TZ"),
    ]

    def found(amount: int) -> dict[Any, str]:
        lines = movements_of(*paid, credit(amount, 16))
        return codes(bank.match(lines, period=MARCH, tolerance=TWO_DAYS))

    assert set(found(700).values()) == {"bank_together"}
    # It may be left for a later payout: the others are paid without it.
    assert {name for name, code in found(900).items() if code == "bank_missing"} == {"PO-3"}
    # What lacks is taken from the bank, and no credit of the same sum pays it.
    paid[2]["amount"] = 1_000
    assert set(found(-100).values()) == {"bank_together"}
    assert "bank_together" not in found(100).values()


def test_a_batch_of_several_channels_is_paid_less_what_one_of_them_took_back() -> None:
    same = {"batch_id": "BATCH-7", "collection_id": None, "currency": "TZS", "gross": None}
    lines = [
        {**same, "line_no": at, "channel": channel, "fee": None, "net": net, "day": MARCH.first}
        for at, (channel, net) in enumerate([("MPESA_TZ", 900), ("TIGO_TZ", -200)], start=1)
    ]

    def found(amount: int) -> set[str]:
        moved = movements_of(credit(amount, 2, "MM BATCH-7"))
        match = bank.match(moved, statement_of(lines), period=MARCH, tolerance=TWO_DAYS)
        return set(codes(match).values())

    assert found(700) == {"bank_together"}
    assert found(900) == {"bank_over"}
    # A debit that names it takes back what came in.
    assert "bank_taken_back" in found(-700)


def test_equal_payouts_at_the_edge_of_a_statement_are_paid_in_turn() -> None:
    paid = [payout(f"PO-{day}", 980, day) for day in (28, 29, 30, 31)]
    came = [credit(980, day, "EFT") for day in (29, 30, 31)]
    found = bank.match(
        movements_of(*paid, *came), period=MARCH, tolerance=TWO_DAYS, as_of=MARCH.last
    )
    waits = {5: "bank_agrees", 6: "bank_agrees", 7: "bank_agrees", "PO-31": "bank_pending"}
    assert codes(found) == waits


def test_of_equal_payouts_only_the_one_that_never_came_is_missing() -> None:
    paid = [payout(f"PO-{day}", 980, day) for day in (5, 6, 7, 8)]
    came = [credit(980, day, "EFT") for day in (6, 8, 9)]
    plain = Tolerance(settle_days=1)
    found = bank.match(movements_of(*paid, *came), period=MARCH, tolerance=plain)
    assert [name for name, code in codes(found).items() if code == "bank_missing"] == ["PO-6"]
    # A credit that says to be of a payout is taken before one that came first.
    both = [credit(500, 6), credit(500, 7, kind="payout")]
    found = bank.match(
        movements_of(payout("PO-1", 500, 5), *both), period=MARCH, tolerance=TWO_DAYS
    )
    assert codes(found) == {2: "bank_other_credit", 3: "bank_agrees"}


def test_of_equal_payouts_that_only_the_bank_may_show_the_oldest_is_paid() -> None:
    moved = movements_of(payout("PO-5", 980, 5), payout("PO-6", 980, 6), credit(980, 6, "EFT"))
    perhaps = [("MPESA_TZ", "TZS")]
    found = bank.match(moved, period=MARCH, tolerance=TWO_DAYS, perhaps=perhaps)
    assert codes(found) == {3: "bank_agrees"}
    assert found.rows["payout"].tolist() == ["PO-5"]


def test_a_credit_that_an_earlier_period_saw_pays_no_other_payout() -> None:
    was = movements_of(payout("PO-5", 980, 5, leg="shown"))
    shown = was.assign(at=pd.to_datetime(["2026-03-06"], utc=True))
    given_now = movements_of(payout("PO-6", 980, 6), credit(980, 6, "EFT"))
    found = bank.match(
        pd.concat([shown, given_now], ignore_index=True), period=MARCH, tolerance=TWO_DAYS
    )
    assert codes(found)["PO-6"] == "bank_missing"
    # Without that memory it is the older one's, by its day.
    alone = bank.match(given_now, period=MARCH, tolerance=TWO_DAYS)
    assert codes(alone) == {2: "bank_agrees"}


def test_payouts_are_those_of_the_operator_and_the_batches_of_the_settlement_statement() -> None:
    statement = columns.frame(
        STATEMENT,
        {
            **dict.fromkeys(("collection_id", "gross", "fee", "count"), [None] * 3),
            "line_no": [1, 2, 3],
            "batch_id": ["B-2026-07", "B-2026-07", None],
            "channel": ["TIGO_TZ", "TIGO_TZ", "MPESA_TZ"],
            "currency": ["TZS"] * 3,
            "business_day": [pd.Timestamp("2026-03-05")] * 3,
            "net": [400, 500, 10],
        },
    )
    found = bank.match(
        movements_of(payout("PO-0001", 70, 5), credit(970, 6), credit(900, 6, "b/2026/07")),
        statement,
        period=MARCH,
        tolerance=TWO_DAYS,
    )
    assert codes(found) == {
        2: "bank_other_credit",
        3: "bank_agrees",
        "PO-0001": "bank_missing",
        "MPESA_TZ 2026-03-05": "bank_missing",
    }


@pytest.mark.merge
@pytest.mark.scale(10, 80, 500)
def test_every_line_and_payout_stands_in_one_row_and_groups_add_up(rounds: int) -> None:
    days = st.integers(1, 9).map(lambda day: day if day > 1 else 28)
    sums = st.sampled_from([100, 200, 300, 500, 2**53 + 1])
    money = st.tuples(sums, days, st.sampled_from(["", "PO-0001", "PO-0002", "PO-0001 PO-0003"]))

    @settings(max_examples=rounds, deadline=None, database=None)
    @given(st.lists(st.tuples(sums, days), max_size=5), st.lists(money, max_size=5))
    def holds(paid: list[tuple[int, int]], came: list[tuple[int, int, str]]) -> None:
        lines = [
            payout(f"PO-{number:04}", *each, channel=("MPESA_TZ", "TIGO_TZ")[number % 2])
            for number, each in enumerate(paid, start=1)
        ]
        moved = movements_of(*lines, *(credit(*each) for each in came))
        found = bank.match(moved, period=MARCH, tolerance=TWO_DAYS)
        columns.check(found.rows, BANK_MATCHES)
        columns.check(found.bridge, LEG_BRIDGE)
        numbers = found.rows["line_no"].dropna().astype(int).tolist()
        names = found.rows["payout"].dropna().tolist()
        assert sorted(numbers) == list(range(len(paid) + 1, len(moved) + 1))
        assert sorted(names) == [f"PO-{number:04}" for number in range(1, len(paid) + 1)]
        assert found.unexplained == 0
        said = amounts(found)
        assert said.get("bank total", 0) == sum(each[0] for each in came)
        assert said.get("payouts total", 0) == sum(each[0] for each in paid)
        exact = found.rows[found.rows["break_code"].isin(["bank_together", "bank_in_parts"])]
        for _, group in exact.groupby("group_key"):
            lines_of, dues = group["amount_bank"].dropna(), group["amount_payout"].dropna()
            assert min(len(lines_of), len(dues)) == 1 < max(len(lines_of), len(dues))
            assert sum(map(int, lines_of)) == sum(map(int, dues))

    holds()


def test_every_fault_of_the_operator_has_a_name_and_the_receipts_are_given_back(
    collections_of: Make,
) -> None:
    collections = collections_of(
        {},
        {"status": "failed"},
        {"amount": 2_000},
        {"amount": 700},
        {"amount": 800},
        {"amount": 900, "completed_at": noon(6)},
        {"amount": 950, "channel": "TIGO_TZ"},
        {"amount": 60, "completed_at": datetime(2026, 2, 28, 9, tzinfo=UTC)},
        {"amount": 70, "completed_at": noon(31)},
    )
    moved = movements_of(
        {"receipt": "A1", "reference": "r-1 ", "balance": 1_000},
        {"receipt": "A2", "reference": "R-2", "balance": 2_000},
        {"receipt": "A3", "amount": 2_000, "balance": 4_000},
        {"receipt": "A1", "kind": "fee", "amount": -10, "balance": 3_990},
        {"receipt": "B3", "reference": "A3", "kind": "reversal", "amount": -2_000},
        {"receipt": "A6", "reference": "R-1", "amount": 1_000},
        {"receipt": "A7", "reference": "R-4", "amount": 682},
        {"receipt": "A8", "collection_id": "col_5", "amount": 850},
        {"receipt": "A9", "reference": "R-6", "amount": 900},
        {"receipt": "A10", "reference": "X", "amount": 12},
        {"receipt": "A11", "kind": "payout", "amount": -500},
        {"receipt": "A12", "reference": "R-8", "amount": 60},
        {"receipt": "A13", "status": "Failed", "amount": 60},
        {"receipt": "A1", "reference": "r-1 ", "input": "again.csv", "balance": 1_000},
        {"receipt": "A15", "amount": 1, "at": noon(31), "reference": "Y"},
    )
    found = operator.match(collections, moved, period=MARCH)
    rows = found.rows
    named = {
        row.collection_id if pd.isna(row.line_no) else int(row.line_no): row.break_code
        for row in columns.records(rows)
    }
    assert named == {
        1: "operator_line_again",
        14: "operator_fee_differs",
        2: "operator_not_paid_here",
        3: "operator_reversed",
        4: "operator_fee",
        5: "operator_reversed",
        6: "operator_duplicate",
        7: "operator_fee_side",
        8: "operator_amount_mismatch",
        9: "operator_timing",
        10: "operator_unknown_here",
        11: "operator_payout",
        12: "operator_across_cutoff",
        13: "operator_not_completed",
        15: "operator_not_seen_yet",
        "col_9": "operator_pending",
    }
    assert found.unexplained == 0
    said = amounts(found)
    assert said["operator total"] == sum(moved.loc[moved["status"] == "completed", "amount"])
    receipts = found.receipts
    assert dict(zip(receipts["receipt"], receipts["collection_id"], strict=True)) == {
        "A1": "col_1",
        "A2": "col_2",
        "A3": "col_3",
        "A7": "col_4",
        "A8": "col_5",
        "A9": "col_6",
        "A12": "col_8",
    }
    # What agrees is left out where only the rest is asked for, and counted all the same.
    brief = operator.match(collections, moved, period=MARCH, everything=False)
    left = rows[rows["standing"] != "ok"].reset_index(drop=True)
    pd.testing.assert_frame_equal(brief.rows, left)
    pd.testing.assert_frame_equal(brief.bridge, found.bridge)


def test_of_a_statement_without_a_line_every_payment_of_its_channel_is_compared(
    collections_of: Make,
) -> None:
    collections = collections_of(
        {}, {"channel": "TIGO_TZ", "amount": 300}, {"channel": "TIGO_TZ", "currency": "KES"},
        {"channel": "TIGO_TZ", "status": "failed", "failure_code": "declined"},
        {"channel": "AIRTEL_TZ", "amount": 70},
    )  # fmt: skip
    line = {"receipt": "A1", "reference": "R-1", "amount": 1_000, "at": noon(5)}
    for channels, alone in ((), set()), (("TIGO_TZ",), {"col_2", "col_3"}):
        for lines in ([line], []):
            found = operator.match(collections, movements_of(*lines), period=MARCH, given=channels)
            rows = found.rows[found.rows["line_no"].isna()]
            assert set(rows["collection_id"]) == alone
            assert set(rows["break_code"]) <= {"operator_pending", "operator_not_reached"}
            assert found.unexplained == 0


def test_a_statement_that_is_cut_at_midnight_does_not_reach_the_rest_of_a_later_business_day(
    collections_of: Make,
) -> None:
    night = period("2026-03", cutoff=timedelta(hours=4))
    payments = collections_of(
        {"completed_at": noon(31) + timedelta(hours=11)},
        {"completed_at": noon(31) + timedelta(hours=14)},
        cutoff=night.cutoff,
    )
    until = {"reference": "R-0", "receipt": "A1", "at": noon(31) + timedelta(hours=10)}
    found = operator.match(payments, movements_of(until), period=night, as_of=date(2026, 5, 1))
    alone = found.rows[found.rows["line_no"].isna()].set_index("collection_id")["break_code"]
    assert dict(alone) == {"col_1": "operator_missing", "col_2": "operator_not_reached"}


def test_balances_that_the_movements_do_not_make_are_said(collections_of: Make) -> None:
    lines = [
        {"receipt": "A1", "reference": "R-1", "amount": 1_000, "balance": 6_000, "at": noon(5)},
        {"receipt": "A2", "reference": "R-2", "amount": 300, "balance": 6_400, "at": noon(6)},
    ]
    collections = collections_of({}, {"amount": 300})
    newest_first = [
        {**line, "line_no": number} for number, line in enumerate(reversed(lines), start=1)
    ]
    for given_lines in (lines, newest_first):
        found = operator.match(collections, movements_of(*given_lines), period=MARCH)
        said = amounts(found)
        assert (said["opening balance"], said["closing balance"]) == (5_000, 6_400)
        assert said["not in the balances"] == 100


def test_a_receipt_that_is_known_leads_to_its_collection(collections_of: Make) -> None:
    collections = collections_of({}, {})
    moved = movements_of(
        {"receipt": "ab1"}, {"receipt": "AB2"}, {"at": noon(5) + timedelta(days=1)}
    )
    alone = operator.match(collections, moved, period=MARCH)
    assert not alone.rows["match_rule"].notna().any()
    known = alone.receipts.iloc[:0].copy()
    known.loc[0] = ["col_2", "AB1", None, None, None]
    known.loc[1] = ["col_1", "ab2", None, None, None]
    known = columns.frame(columns.RECEIPTS, known.astype("object"))
    found = operator.match(collections, moved, period=MARCH, receipts=known)
    met = found.rows[found.rows["match_rule"] == "receipt"]
    assert set(zip(met["line_no"], met["collection_id"], strict=True)) == {
        (1, "col_2"),
        (2, "col_1"),
    }
