"""Months without a fault are reconciled, in whatever shape a shop's files come."""

import shutil
from pathlib import Path
from random import Random

import pytest
from tests.kit.chain import payouts, shapes, world
from tests.kit.chain.closing import close_chain

from kusanya_books.judge.report import ReportVerdict
from kusanya_books.request.tolerance import Tolerance

pytestmark = pytest.mark.usefixtures("no_settings", "papers_are_blank")


@pytest.mark.merge
@pytest.mark.scale(2, 60, 500)
def test_every_close_of_clean_files_is_reconciled(
    tmp_path: Path, empty_store: Path, rounds: int
) -> None:
    for seed in range(rounds):
        made, names = shapes.drawn(seed)
        home = tmp_path / f"{seed}"
        home.mkdir()
        shutil.copy(empty_store, home / "store.db")
        is_nightly = made.months[0].first == made.months[0].last
        due = max([2 if is_nightly else 1, *(payouts.LATE.get(name, 0) for name in names)])
        terms = Tolerance(settle_days=due)
        closes = close_chain(made, home, home / "store.db", is_nightly=is_nightly, tolerance=terms)
        for close in closes:
            where = f"seed {seed}, {names}, close {close.number}: {close.result.sentence}"
            assert close.result.verdict is ReportVerdict.RECONCILED, where
        shutil.rmtree(home)


@pytest.mark.merge
@pytest.mark.parametrize(
    ("names", "days"),
    [
        *((["read on"], days) for days in (None, 1)),
        *((["turns at four"], days) for days in (None, 1)),
        (["refunds through the provider", "read on"], 1),
        *((["dated by the payout"], days) for days in (None, 1)),
        (["monthly payouts"], None),
        (["overlapping files", "a settlement file a channel", "a settlement file a week"], None),
        (["statements in parts"], None),
    ],
    ids=str,
)
def test_a_file_may_be_cut_at_another_moment_than_the_period(
    tmp_path: Path, empty_store: Path, names: list[str], days: int | None
) -> None:
    rng = Random(6)  # noqa: S311 - a repeatable choice
    by_sums = names[0] in {"dated by the payout", "monthly payouts"}
    many = 3 if days else 2
    made = world.chain(
        rng, months=many, size=14, days=days, by_item=not by_sums, direct=not by_sums
    )
    for name in names:
        shapes.SHAPES[name](made, rng)
    shutil.copy(empty_store, tmp_path / "store.db")
    due = Tolerance(settle_days=max(2 if days else 1, payouts.LATE.get(names[0], 0)))
    closes = close_chain(
        made, tmp_path, tmp_path / "store.db", is_nightly=bool(days), tolerance=due
    )
    for close in closes:
        assert close.result.verdict is ReportVerdict.RECONCILED, close.result.sentence
