"""A server's store is upgraded while programs of both versions receive into it.

The older program is a process of its own; see `one_behind.py` for what it is.
"""

import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import pytest
from sqlalchemy import text
from tests.kusanya.store.one_behind import receive

from kusanya.clock import SystemClock
from kusanya.store import Store
from kusanya.store.maintenance import migrations
from kusanya.store.tables.delivery_months import parts
from kusanya.store.tables.engine import engines
from kusanya.wire import Mode

pytestmark = pytest.mark.postgres
OLDER: Final = Path(__file__).with_name("one_behind.py")
Receive = Callable[[int], int]


@pytest.fixture
def prepared() -> bool:
    """Begin with an empty database."""
    return False


class Older:
    """A running program of the version before."""

    def __init__(self, child: "subprocess.Popen[str]") -> None:
        self._child = child
        self.revision = self._line()

    def receive(self, number: int) -> int:
        """Deliver an event to it; return what it answers."""
        self.begin(number)
        return self.answered(number)

    def begin(self, number: int) -> None:
        """Deliver an event to it without waiting for the answer."""
        assert self._child.stdin is not None
        self._child.stdin.write(f"{number}\n")
        self._child.stdin.flush()

    def answered(self, number: int) -> int:
        """Return what it answers to an event that was delivered."""
        said = self._line().split()
        assert said[0] == str(number)
        return int(said[1])

    def end(self) -> str:
        """Let it check the store and end; return what it found."""
        assert self._child.stdin is not None
        self._child.stdin.close()
        return self._line()

    def _line(self) -> str:
        assert self._child.stdout is not None
        return self._child.stdout.readline().strip()


@contextmanager
def older(url: str) -> Iterator[Older]:
    with subprocess.Popen(
        [sys.executable, "-P", str(OLDER), url],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as child:
        try:
            yield Older(child)
        finally:
            child.kill()


def says(store: Store) -> list[tuple[Any, ...]]:
    """Return what the store says of each collection, whichever program heard of it and when."""
    return sorted(
        (row.id, row.status, row.amount, row.fee, row.reference, row.event_id, row.contradictions)
        for row in store.collections.page(Mode.TEST, limit=500).rows
    )


@pytest.mark.merge
def test_two_versions_receive_while_the_store_is_upgraded(
    postgres_url: str, make: Any, tmp_path: Path
) -> None:
    before = migrations.REVISIONS[-2]
    found = engines(postgres_url)
    with found.writing() as connection, connection.begin():
        migrations.upgrade(connection, to=before)
    answers: list[int] = []
    with older(postgres_url) as running:
        assert running.revision == before
        answers += [running.receive(number) for number in range(20)]
        # It goes on receiving while the newer version upgrades what lies under it.
        for number in range(20, 60):
            running.begin(number)
        newer = Store.open(postgres_url, migrate=True, clock=SystemClock())
        answers += [running.answered(number) for number in range(20, 60)]
        with newer, older(postgres_url) as started_after:
            assert started_after.revision == before
            for number in range(60, 90):
                # The same events at once to three receivers of two versions.
                running.begin(number)
                started_after.begin(number)
                answers += [receive(newer, make, number)]
                answers += [running.answered(number), started_after.answered(number)]
            answers += [receive(newer, make, number) for number in range(10, 30)]
            assert (running.end(), started_after.end()) == ("0 findings", "0 findings")
            assert newer.maintenance.check() == ()
            changed = newer.maintenance.rebuild()
            assert (changed.collections, changed.rollups) == (0, 0)
            after = says(newer)
    assert answers == [200] * (60 + 3 * 30 + 20)
    with found.reading() as connection:
        assert parts(connection)
        kept = connection.execute(
            text("SELECT verdict, count(*) FROM delivery GROUP BY verdict ORDER BY verdict")
        )
        # Nothing is lost and nothing takes effect twice.
        assert [tuple(row) for row in kept] == [("repeat", 2 * 30 + 20), ("verified", 90)]
    found.dispose()
    with Store.open(tmp_path / "alone.db", clock=SystemClock()) as alone:
        for number in range(90):
            receive(alone, make, number)
        assert says(alone) == after
