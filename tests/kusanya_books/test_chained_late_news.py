"""What becomes known of a month after its close is named by the next ones, on the legs it had."""

import shutil
from pathlib import Path
from random import Random

import pandas as pd
import pytest
from tests.kit.chain import world
from tests.kit.chain.checker import is_named, names
from tests.kit.chain.closing import close_chain
from tests.kit.chain.drawing import WAYS
from tests.kit.chain.faults import Planted, Planter

from kusanya_books import columns
from kusanya_books.columns import DUE
from kusanya_books.judge import carried_payouts, findings
from kusanya_books.judge.report import ReportVerdict

pytestmark = pytest.mark.usefixtures("no_settings", "papers_are_blank")


@pytest.mark.merge
@pytest.mark.parametrize("days_before_the_end", [12, pytest.param(-1, marks=pytest.mark.ci)])
def test_a_feed_that_dies_is_named_and_what_it_lost_is_found_when_it_is_heard_again(
    tmp_path: Path, empty_store: Path, days_before_the_end: int
) -> None:
    rng = Random(5)  # noqa: S311 - a repeatable choice
    made = world.chain(rng, months=3)
    silent = made.months[0].last - days_before_the_end * world.DAY
    made.silent_from[0] = silent
    shutil.copy(empty_store, tmp_path / "store.db")
    march, april, may = close_chain(made, tmp_path, tmp_path / "store.db")
    lost = [one for one in made.payments[0] if one.at.date() >= silent]
    assert march.result.verdict is not ReportVerdict.RECONCILED
    assert any("service was heard until" in said for said in march.result.unproven)
    for key, amount in march.known.certain.items():
        assert is_named(key, amount, march.items)
    assert (april.known.certain, may.known.certain) == ({}, {})
    late = [row for row in april.result.findings if row["finding"] == findings.LATE]
    assert [(row["rows"], row["amount"]) for row in late] == (
        [(len(lost), sum(one.amount for one in lost))] if lost else [(0, None)]
    )
    assert april.result.verdict is (ReportVerdict.BREAKS if lost else ReportVerdict.RECONCILED)
    assert may.result.verdict is ReportVerdict.RECONCILED


def not_paid_out(made: world.Chain) -> Planted:
    """Take a payout out of the first month's statement and of the bank's, and tell its truth."""
    [month, *rest] = made.months
    row = month.settlement.pop(0)
    for each in (month, *rest):
        each.bank[:] = [line for line in each.bank if row["batch_id"] not in line["details"]]
    return Planted(
        "not paid out", 0, ("statement", f"{row['channel']} {row['business_day']}"), -row["net"]
    )


@pytest.mark.merge
def test_what_lacks_of_payments_that_became_known_late_is_named_in_every_later_month(
    tmp_path: Path, empty_store: Path
) -> None:
    rng = Random(11)  # noqa: S311 - a repeatable choice
    made = world.chain(rng, months=3)
    planter = Planter(made, rng)
    faults = ("unbooked", "missing at the operator")
    planted = [planter.plant(fault, 0, is_put_right=False) for fault in faults]
    lacks = {one.key: one.amount for one in (*planted, not_paid_out(made)) if one is not None}
    assert len(lacks) == 3
    made.silent_from[0] = made.months[0].first
    shutil.copy(empty_store, tmp_path / "store.db")
    _, april, may = close_chain(made, tmp_path, tmp_path / "store.db")
    for close in (april, may):
        assert close.known.certain == lacks
        for key, amount in lacks.items():
            assert is_named(key, amount, close.items)
        assert close.result.verdict is ReportVerdict.BREAKS
    stands = [item for item in may.items if item["standing"] == "break"]
    assert [item for item in stands if not any(names(item, key) for key in lacks)] == []


@pytest.mark.merge
@pytest.mark.parametrize("lines", ["of other channels", pytest.param("none", marks=pytest.mark.ci)])
def test_a_payment_known_late_is_owed_though_no_line_of_its_night_was_of_its_channel(
    tmp_path: Path, empty_store: Path, lines: str
) -> None:
    rng = Random(2)  # noqa: S311 - a repeatable choice
    made = world.chain(rng, months=3, days=1, size=8)
    night = made.months[1]
    lost = [
        row for row in night.settlement if lines == "none" or row["channel"] == world.OPERATORS[0]
    ]
    assert lost
    night.settlement[:] = [row for row in night.settlement if row not in lost]
    for month in made.months:
        gone = [row["batch_id"] for row in lost]
        month.bank[:] = [row for row in month.bank if row["details"].split()[-1] not in gone]
    made.silent_from[1], made.heard_by[1] = night.first, 2
    shutil.copy(empty_store, tmp_path / "store.db")
    *_, last = close_chain(made, tmp_path, tmp_path / "store.db", is_nightly=True)
    owed = {("statement", f"{row['channel']} {row['business_day']}"): row["net"] for row in lost}
    for key, amount in owed.items():
        assert is_named(key, -amount, last.items), key
    assert last.result.verdict is ReportVerdict.BREAKS


@pytest.mark.merge
@pytest.mark.parametrize(
    ("file", "leg", "way"),
    [
        ("MPESA_TZ", "operator", "by day"),
        pytest.param("settlement", "statement", "by day", marks=pytest.mark.ci),
        pytest.param("settlement", "statement", "by item", marks=pytest.mark.ci),
    ],
)
def test_what_was_heard_late_lacks_nowhere_where_nothing_was_compared(
    tmp_path: Path, empty_store: Path, file: str, leg: str, way: str
) -> None:
    rng = Random(11)  # noqa: S311 - a repeatable choice
    made = world.chain(rng, months=2, **WAYS[way])
    made.silent_from[0] = made.months[0].first
    shutil.copy(empty_store, tmp_path / "store.db")
    _, april = close_chain(made, tmp_path, tmp_path / "store.db", left_out={(0, file)})
    assert [item for item in april.items if item["leg"] == leg] == []


@pytest.mark.merge
@pytest.mark.parametrize(
    ("by", "has_books"), [pytest.param(1, True, marks=pytest.mark.ci), (2, False)]
)
def test_a_payment_that_failed_after_all_is_named_on_every_leg_until_it_is_put_right(
    tmp_path: Path, empty_store: Path, by: int, *, has_books: bool
) -> None:
    rng = Random(13)  # noqa: S311 - a repeatable choice
    made = world.chain(rng, months=3)
    payment = Planter(made, rng).contradict(0, by=by)
    assert payment is not None
    assert payment.channel in world.OPERATORS
    shutil.copy(empty_store, tmp_path / "store.db")
    legs = {"operator", "statement", *(["books"] if has_books else [])}
    for close in close_chain(made, tmp_path, tmp_path / "store.db", has_books=has_books):
        assert {leg for leg, _ in close.known.certain} == (legs if close.number >= by else set())
        for key, amount in close.known.certain.items():
            assert is_named(key, amount, close.items)


@pytest.mark.merge
def test_two_answers_about_a_success_are_one_item_in_every_later_month(
    tmp_path: Path, empty_store: Path
) -> None:
    rng = Random(13)  # noqa: S311 - a repeatable choice
    made = world.chain(rng, months=3)
    payment = Planter(made, rng).contradict(0, by=1, fee=40)
    assert payment is not None
    assert payment.channel in world.OPERATORS
    shutil.copy(empty_store, tmp_path / "store.db")
    march, *later = close_chain(made, tmp_path, tmp_path / "store.db")
    assert march.result.verdict is ReportVerdict.RECONCILED
    for close in later:
        stands = [item for item in close.items if item["standing"] == "break"]
        codes = {item["break_code"]: item["reference"] or item["subject"] for item in stands}
        codes.pop("late_change", None)
        assert codes == {"contradiction": payment.reference}


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_of_two_payouts_of_a_day_what_became_due_since_clears_the_one_of_its_sum(
    order: tuple[int, int],
) -> None:
    day = pd.Timestamp("2026-03-20")
    plain = {"leg": "statement", "collection_id": None, "channel": "TIGO_TZ", "currency": "TZS"}
    items = [
        {**plain, "break_id": "short", "day": day, "balance": 82},
        {**plain, "break_id": "unexpected", "day": day, "balance": -4_910},
    ]
    due = columns.frame(
        DUE,
        {
            "collection_id": ["a", "b", "c"],
            "business_day": [day, day, day],
            "channel": ["TIGO_TZ", "TIGO_TZ", "MPESA_TZ"],
            "currency": ["TZS"] * 3,
            "net": [982, 3_928, 9_999],
        },
    )
    found, rest = carried_payouts.due_of([items[at] for at in order], due)
    assert found == {"unexpected": 4_910}
    assert rest["collection_id"].tolist() == ["c"]
