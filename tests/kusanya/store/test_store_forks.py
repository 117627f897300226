"""Workers forked from a parent that used its store and client: nothing confirmed is lost."""

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from kusanya.store import Store
from kusanya.wire import Mode
from kusanya_service.options import Options
from kusanya_service.testing import running_service

pytestmark = pytest.mark.merge

PROGRAM = Path(__file__).with_name("forking.py")


class ForkReport(msgspec.Struct):
    """What the program says of its workers."""

    said: list[str]
    failed: int
    hung: int

    def of(self, kind: str) -> list[list[str]]:
        """Return what was said of one kind, word by word."""
        return [line.split()[1:] for line in self.said if line.startswith(f"{kind} ")]


Fork = Callable[..., ForkReport]


@pytest.fixture
def fork(url: str, tmp_path: Path) -> Iterator[Fork]:
    """Return a way to run the program on a fresh store and a running service."""

    def run(way: str, **said: Any) -> ForkReport:
        order = {
            "way": way,
            "store": url,
            "base_url": service.base_url,
            "key": service.test_key,
            "processes": 3,
            "each": 20,
            "parent_writes": True,
            "parent_closes": False,
            "reference": "order",
            **said,
        }
        # A fork of several threads makes Python 3.12 warn: it is what is tried here.
        ended = subprocess.run(
            [sys.executable, "-W", "ignore::DeprecationWarning", str(PROGRAM)],
            input=json.dumps(order).encode(),
            stdout=subprocess.PIPE,
            check=True,
        )
        return msgspec.json.decode(ended.stdout, type=ForkReport)

    with running_service(Options(data=tmp_path / "service", seed=7)) as service:
        yield run


def _check(url: str, forked: ForkReport) -> None:
    """Hold what was said against what is kept, and each create against its answer."""
    assert (forked.failed, forked.hung) == (0, 0)
    with Store.open(url) as store:
        kept: set[str | None] = set()
        page = store.deliveries.page(Mode.TEST)
        kept.update(row.event_id for row in page.rows)
        while page.more:
            page = store.deliveries.page(Mode.TEST, older_than=page.rows[-1].key)
            kept.update(row.event_id for row in page.rows)
        confirmed = {event_id for [event_id] in forked.of("delivery")}
        assert confirmed - kept == set(), "a confirmed delivery is lost"
        for asked, answered in forked.of("creation"):
            assert answered == asked, "one worker was given another's answer"
            assert len(store.intents.by_reference(Mode.TEST, asked)) == 1
        assert store.maintenance.check() == ()


def _cases() -> list[Any]:
    everyday = {("prefork", True, True), ("pool", True, False)}
    return [
        pytest.param(
            *case,
            marks=() if case in everyday else pytest.mark.ci,
            id=f"{case[0]}-{'wrote' if case[1] else 'read'}-{'closes' if case[2] else 'stays'}",
        )
        for case in (
            (way, writes, closes)
            for way in ("prefork", "multiprocessing", "pool")
            for writes in (True, False)
            for closes in (True, False)
        )
    ]


@pytest.mark.scale(20, 150, 300)
@pytest.mark.timeout(300)
@pytest.mark.parametrize(("way", "writes", "closes"), _cases())
def test_nothing_that_a_forked_worker_received_is_lost(
    fork: Fork, url: str, rounds: int, *, way: str, writes: bool, closes: bool
) -> None:
    workers = 3 if rounds < 100 else 6
    forked = fork(way, parent_writes=writes, parent_closes=closes, processes=workers, each=rounds)
    assert len(forked.of("delivery")) >= workers * rounds
    assert len(forked.of("creation")) >= workers * rounds // 10
    _check(url, forked)


@pytest.mark.scale(4, 40, 200)
@pytest.mark.timeout(300)
def test_a_fork_waits_for_threads_that_read_and_write(fork: Fork, url: str, rounds: int) -> None:
    forked = fork("busy", processes=rounds, each=5)
    assert len(forked.of("delivery")) > rounds * 5
    _check(url, forked)


def test_a_child_forked_while_the_parent_reads_is_refused_or_makes_its_own_connection(
    fork: Fork, url: str
) -> None:
    forked = fork("inside", processes=1)
    child = forked.said[:3]
    if url.startswith("sqlite"):
        assert all("forked while its parent used the store" in line for line in child)
    else:
        assert child == ["done"] * 3
    assert "parent read 2 more" in forked.said
    _check(url, forked)


def test_an_event_loop_and_its_children_never_share_a_connection(fork: Fork, url: str) -> None:
    forked = fork("loop", processes=3, each=5)
    assert len(forked.of("creation")) == 6 * 5
    _check(url, forked)
