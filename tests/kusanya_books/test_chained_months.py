"""Months closed one after the other, and what goes wrong in them: each close says it, and no more.

A checker that knows the files alone says what each close must and may say.
"""

import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from random import Random
from unittest.mock import ANY

import msgspec
import pytest
from tests.kit.chain import world
from tests.kit.chain.checker import is_named, names, unfounded
from tests.kit.chain.closing import Closed, close_chain
from tests.kit.chain.faults import FAULTS, Planted, Planter

from kusanya_books.judge.report import ReportVerdict
from kusanya_books.pack import html_page

Draw = tuple[str, int, bool]
"""A fault, the month it is planted in, and whether the next one puts it right."""
pytestmark = pytest.mark.usefixtures("no_settings")
WAYS = {"by day": {"by_item": False}, "by item": {"by_item": True, "fee_lines": False}}
"""How the statements are written: a line for each day and each fee, or for each payment."""
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
            with pytest.MonkeyPatch.context() as patched:
                patched.setattr(html_page, "_picture", lambda _: None)
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


def wrong_in(seed: int, faults: Sequence[Draw], home: Path, store: Path) -> list[str]:
    """Return what is wrong with the closes of a seed's chain with these faults in it."""
    rng = Random(seed)  # noqa: S311 - a repeatable choice
    way = rng.choice(list(WAYS.values()))
    made = world.chain(rng, months=3, size=rng.randint(10, 24), **way)
    planter = Planter(made, rng)
    for fault, number, is_put_right in faults:
        planter.plant(fault, number, is_put_right=is_put_right)
    home.mkdir()
    shutil.copy(store, home / "store.db")
    found: list[str] = []
    for close in close_chain(made, home, home / "store.db"):
        where, stands = f"month {close.number}", close.result.verdict is ReportVerdict.RECONCILED
        if close.known.certain and stands:
            found.append(f"{where}: reconciled, with {close.known.certain} open")
        if not close.known.certain and not stands:
            found.append(f"{where}: nothing is open, and it says: {close.result.sentence}")
        found += [
            f"{where}: {key} of {amount} is not named"
            for key, amount in close.known.certain.items()
            if not is_named(key, amount, close.items)
        ]
        found += [
            f"{where}: {item['break_code']} of {item['subject'] or item['reference']} is unfounded"
            for item in unfounded(close.items, close.known)
        ]
    return found


def drawn(seed: int) -> list[Draw]:
    """Return the faults of a seed: which, in which month, and whether they are put right."""
    rng = Random(seed * 31)  # noqa: S311 - a repeatable choice
    count = rng.choice([0, 1, 2, 4, 6])
    return [(rng.choice(list(FAULTS)), rng.randrange(3), rng.random() < 0.7) for _ in range(count)]


@pytest.mark.scale(2, 25, 500)
def test_no_close_of_a_chain_says_more_or_less_than_is_true(
    tmp_path: Path, empty_store: Path, rounds: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(html_page, "_picture", lambda _: None)
    for seed in range(rounds):
        faults = drawn(seed)
        wrong = wrong_in(seed, faults, tmp_path / f"{seed}", empty_store)
        if wrong:
            pytest.fail(f"seed {seed}, faults {faults}:\n" + "\n".join(wrong))
        shutil.rmtree(tmp_path / f"{seed}")
