"""A killed process loses nothing that it had acknowledged, and leaves no half row behind."""

import random
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kusanya.store import Store
from kusanya.wire import Mode

pytestmark = pytest.mark.merge

Opener = Callable[..., Store]
CHILD = Path(__file__).with_name("ingest_until_killed.py")


def acknowledged_until_killed(url: str, *, first: int, lines: int) -> dict[int, str]:
    """Run the child, kill it after so many acknowledgements, return all that it printed."""
    with subprocess.Popen(
        [sys.executable, "-P", str(CHILD), url, str(first)], stdout=subprocess.PIPE, text=True
    ) as child:
        assert child.stdout is not None
        printed = [child.stdout.readline() for _ in range(lines)]
        child.kill()
        printed += child.stdout.readlines()
    whole = [line.split() for line in printed if line.endswith("\n")]
    return {int(number): delivery_id for number, delivery_id in whole}


@pytest.mark.scale(4, 60, 600)
def test_every_acknowledged_arrival_survives_kill_9(
    url: str, open_store: Opener, make: Any, rounds: int
) -> None:
    chance = random.Random(rounds)  # noqa: S311 - a repeatable choice
    store = open_store()
    for round_ in range(rounds):
        first = 10_000 * round_
        acknowledged = acknowledged_until_killed(url, first=first, lines=chance.randint(1, 400))
        assert acknowledged
        for number, delivery_id in acknowledged.items():
            body = store.deliveries.body(delivery_id)
            assert body is not None
            assert body.body == make.body(number)
            row = store.collections.get(f"col_{number}", Mode.TEST)
            assert row is not None
            assert (row.status, row.event_id) == ("succeeded", f"evt_{number}")
    assert store.maintenance.check() == ()
    assert store.maintenance.rebuild().collections == 0
    assert [change.seq for change in store.feed.changes(0, limit=10**6)] == list(
        range(1, store.feed.head() + 1)
    )
