"""Months closed one after the other, and what goes wrong in them: each close says it, and no more.

A checker that knows the files alone says what each close must and may say.
"""

import shutil
from collections.abc import Callable
from pathlib import Path
from random import Random
from unittest.mock import ANY

import msgspec
import pytest
from tests.kit.chain import world
from tests.kit.chain.checker import is_named, names, unfounded
from tests.kit.chain.closing import Closed, close_chain
from tests.kit.chain.drawing import WAYS, Draw, drawn, late_news, wrong_in
from tests.kit.chain.faults import FAULTS, Planted, Planter

from kusanya_books.judge.report import ReportVerdict

pytestmark = pytest.mark.usefixtures("no_settings", "papers_are_blank")

CASES = [(way, fault) for way in WAYS for fault in FAULTS]


class Run(msgspec.Struct, frozen=True):
    """A chain, the faults in it, and its closes."""

    planted: dict[str, Planted]
    closed: list[Closed]


Runs = Callable[[str], Run]


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory, empty_store: Path) -> Runs:
    """Return a maker of a chain in which every fault is planted in March and put right in April."""
    known: dict[str, Run] = {}

    def run(way: str) -> Run:
        if way not in known:
            rng = Random(7)  # noqa: S311 - a repeatable choice
            made = world.chain(rng, months=2, size=90, **WAYS[way])
            planter = Planter(made, rng)
            planted = {name: planter.plant(name, 0, is_put_right=True) for name in FAULTS}
            home = tmp_path_factory.mktemp("chain")
            shutil.copy(empty_store, home / "store.db")
            closed = list(close_chain(made, home, home / "store.db"))
            assert all(planted.values()), "the month is too small for all faults"
            known[way] = Run({name: one for name, one in planted.items() if one}, closed)
        return known[way]

    return run


@pytest.mark.parametrize(("way", "fault"), CASES)
def test_a_fault_is_named_with_its_money_in_its_month(runs: Runs, way: str, fault: str) -> None:
    planted, march = runs(way).planted[fault], runs(way).closed[0]
    assert march.known.certain[planted.key] == planted.amount, "the checker does not see it"
    assert march.result.verdict is not ReportVerdict.RECONCILED
    assert is_named(planted.key, planted.amount, march.items)


@pytest.mark.parametrize(("way", "fault"), CASES)
def test_a_fault_that_is_put_right_is_gone(runs: Runs, way: str, fault: str) -> None:
    planted, april = runs(way).planted[fault], runs(way).closed[1]
    assert planted.key not in april.known.certain, "the checker still sees it"
    stands = [item for item in april.items if item["standing"] == "break"]
    assert [item for item in stands if names(item, planted.key)] == []


@pytest.mark.parametrize("way", WAYS)
def test_nothing_is_called_wrong_but_what_is(runs: Runs, way: str) -> None:
    for close in runs(way).closed:
        assert unfounded(close.items, close.known) == []


def test_months_without_a_fault_are_reconciled(tmp_path: Path, empty_store: Path) -> None:
    rng = Random(1)  # noqa: S311 - a repeatable choice
    made = world.chain(rng, months=2)
    shutil.copy(empty_store, tmp_path / "store.db")
    for close in close_chain(made, tmp_path, tmp_path / "store.db"):
        assert close.known.certain == {}
        assert (close.result.verdict, close.result.sentence) == (ReportVerdict.RECONCILED, ANY)


@pytest.mark.merge
def test_a_payout_that_was_taken_back_stays_open_until_it_comes(
    tmp_path: Path, empty_store: Path
) -> None:
    rng = Random(3)  # noqa: S311 - a repeatable choice
    made = world.chain(rng, months=2)
    planted = Planter(made, rng).plant("taken back at the bank", 0, is_put_right=False)
    assert planted is not None
    shutil.copy(empty_store, tmp_path / "store.db")
    for close in close_chain(made, tmp_path, tmp_path / "store.db"):
        assert close.known.certain == {planted.key: planted.amount}
        assert close.result.verdict is ReportVerdict.BREAKS


ONCE_WRONG: dict[int, list[Draw]] = {
    126: [
        ("wrong sign", 1, False),
        ("unknown at the service", 0, True),
        ("unknown at the service", 1, True),
        ("unbooked", 0, False),
    ]
}
"""Faults of a seed's chain that a close judged wrongly before it was mended."""


@pytest.mark.ci
@pytest.mark.parametrize("seed", ONCE_WRONG)
def test_a_chain_that_was_judged_wrongly_once_is_judged_rightly(
    tmp_path: Path, empty_store: Path, seed: int
) -> None:
    assert wrong_in(seed, ONCE_WRONG[seed], tmp_path / "chain", empty_store) == []


@pytest.mark.scale(2, 25, 500)
def test_no_close_of_a_chain_says_more_or_less_than_is_true(
    tmp_path: Path, empty_store: Path, rounds: int
) -> None:
    for seed in range(rounds):
        faults = drawn(seed)
        news = late_news(seed)
        wrong = wrong_in(seed, faults, tmp_path / f"{seed}", empty_store, news)
        if wrong:
            where = f"seed {seed}, faults {faults}, {news}"
            pytest.fail("\n".join([where, *wrong]))
        shutil.rmtree(tmp_path / f"{seed}")
