"""Months without a fault are reconciled, in whatever shape a shop's files come."""

import shutil
from pathlib import Path

import pytest
from tests.kit.chain import shapes
from tests.kit.chain.closing import close_chain

from kusanya_books.judge.report import ReportVerdict
from kusanya_books.request.tolerance import Tolerance

pytestmark = pytest.mark.usefixtures("no_settings", "papers_are_blank")


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
        due = max([2 if is_nightly else 1, *(shapes.LATE.get(name, 0) for name in names)])
        terms = Tolerance(settle_days=due)
        closes = close_chain(made, home, home / "store.db", is_nightly=is_nightly, tolerance=terms)
        for close in closes:
            where = f"seed {seed}, {names}, close {close.number}: {close.result.sentence}"
            assert close.result.verdict is ReportVerdict.RECONCILED, where
        shutil.rmtree(home)
