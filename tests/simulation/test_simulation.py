"""A week of everything going wrong, for many seeds: no rule breaks, and all comes to its end."""

import asyncio
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

import pytest
from tests.proofs.planted.bugs import BUGS, planted
from tests.proofs.planted.patching import replaced
from tests.simulation.checker import Ledger, Violation, check
from tests.simulation.course import COLLECTIONS, simulate

ROOT: Final = Path(__file__).parents[2]
CORPUS: Final = Path(__file__).with_name("corpus")
"""Seeds that found something once, one a line; they are run for ever, the first one everyday."""


@pytest.fixture
def folder() -> Iterator[Callable[[], Path]]:
    """Return a maker of folders, in memory where there is one: machines do not die here."""
    memory = Path("/dev/shm")  # noqa: S108 - folders of our own are made in it
    made: list[Path] = []

    def make() -> Path:
        made.append(Path(tempfile.mkdtemp(dir=memory if memory.is_dir() else None)))
        return made[-1]

    yield make
    for path in made:
        shutil.rmtree(path)


async def week(folder: Path, seed: int, *, collections: int = COLLECTIONS) -> tuple[Ledger, str]:
    world = await simulate(folder, seed, collections=collections)
    try:
        return await check(world), world.record.trace()
    finally:
        await world.close()


def hold(folder: Path, seed: int) -> Ledger:
    try:
        return asyncio.run(week(folder, seed))[0]
    except BaseException as error:
        error.add_note(f"seed {seed}: python -m tests.simulation.one {seed}")
        raise


@pytest.mark.timeout(36_000)
@pytest.mark.scale(1, 200, 5_000)
def test_no_rule_breaks_in_any_week(folder: Callable[[], Path], rounds: int) -> None:
    for seed in range(rounds):
        ledger = hold(folder(), seed)
        assert len(ledger.collections) >= COLLECTIONS * 3 // 5


@pytest.mark.merge
@pytest.mark.timeout(600)
@pytest.mark.scale(1, 1_000, 1_000)
def test_seeds_that_found_something_stay_green(folder: Callable[[], Path], rounds: int) -> None:
    for seed in CORPUS.read_text().split()[:rounds]:
        hold(folder(), int(seed))


@pytest.mark.merge
@pytest.mark.timeout(600)
def test_one_seed_is_one_history_in_any_process() -> None:
    traces = set()
    for hash_seed in ("1", "2"):
        ended = subprocess.run(
            [sys.executable, "-m", "tests.simulation.one", "7", "30"],
            cwd=ROOT,
            env={**os.environ, "PYTHONHASHSEED": hash_seed, "PYTHONPATH": str(ROOT)},
            capture_output=True,
            text=True,
            check=True,
        )
        traces.add(ended.stdout)
    assert len(traces) == 1


OWN: Final = {
    "a key is forgotten after an hour": (
        "kusanya_service.http.idempotency:is_kept",
        "RETENTION_MS",
        "3_600_000",
    ),
    "the schedule is counted from the first attempt": (
        "kusanya.webhooks.schedule:next_attempt",
        "failed_at + RETRY_GAPS[attempt - 1]",
        "failed_at + RETRY_GAPS[0]",
    ),
}
SHARED: Final = (
    "new key after a lost answer",
    "replayed after 24 hours",
    "a future t is accepted",
    "intent saved after it was sent",
    "body serialised anew when it is sent",
    "old t on retry",
    "failures are not cleared by a success",
    "a live secret signs a test event",
)


def caught(folder: Callable[[], Path], seeds: int, *, collections: int = COLLECTIONS) -> str | None:
    for seed in range(seeds):
        try:
            asyncio.run(week(folder(), seed, collections=collections))
        except (Violation, AssertionError) as error:
            return str(error)
    return None


@pytest.mark.ci
@pytest.mark.timeout(600)
@pytest.mark.parametrize("bug", ["new key after a lost answer", "old t on retry", *list(OWN)[:2]])
def test_a_planted_bug_is_found(folder: Callable[[], Path], bug: str) -> None:
    context = planted(bug) if bug in BUGS else replaced(*OWN[bug])
    with context:
        assert caught(folder, 3, collections=60) is not None  # a few orders show these


@pytest.mark.ci
@pytest.mark.timeout(3_600)
@pytest.mark.parametrize("bug", [*SHARED, *OWN])
def test_every_planted_bug_is_found(folder: Callable[[], Path], bug: str) -> None:
    context = planted(bug) if bug in BUGS else replaced(*OWN[bug])
    with context:
        assert caught(folder, 25) is not None
