"""Power fails at any moment of an ingest: what was acknowledged is there, and nothing is broken.

A receiver is recorded from the creation of its store on, through checkpoints and a restart; its
history is then cut at thousands of places and every time the disk keeps another part of what was
not synced.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Final

import pytest
from tests.proofs.kit.cuts import History, cut_everywhere
from tests.proofs.kit.deliveries import Sender, event_body
from tests.proofs.kit.receivers import Nursery
from tests.proofs.kit.trace import acknowledged, read_trace

STARTS: Final = 2
DELIVERIES: Final = 25
"""How many deliveries each start of the receiver takes."""

pytestmark = pytest.mark.strace


@pytest.fixture
def record(strace_nursery: Callable[[Path], Nursery], tmp_path: Path) -> Callable[..., History]:
    """Return a recorder of receivers, with or without a planted bug."""

    def run(plant: str | None) -> History:
        store = tmp_path / "store" / "store.db"
        nursery = strace_nursery(tmp_path / "trace")
        for start in range(STARTS):
            with (
                nursery.receiver(store, plant=plant, checkpoint_pages=100) as receiver,
                Sender(receiver.port) as sender,
            ):
                for number in range(DELIVERIES):
                    # Some bodies need several pages of their own.
                    body = event_body(1000 * start + number, padding=number % 5 * 3000)
                    assert sender.deliver(body) == 200
                receiver.stop()
        nursery.close()
        steps = read_trace(tmp_path / "trace", below=store.parent)
        acks = acknowledged(steps)
        assert len(acks) == STARTS * DELIVERIES
        return History(store.parent, steps, acks)

    return run


@pytest.mark.scale(1200, 100_000, 1_000_000)
@pytest.mark.timeout(3600)
def test_no_acknowledged_delivery_is_lost_when_the_power_fails(
    record: Callable[..., History], memory: Path, rounds: int
) -> None:
    tally = cut_everywhere(record(None), memory, states=rounds)
    assert tally.states >= rounds
    assert (tally.losing, tally.broken[:3]) == (0, [])


@pytest.mark.merge
@pytest.mark.scale(300, 3000, 30_000)
@pytest.mark.timeout(600)
def test_the_same_cuts_show_losses_where_commits_do_not_wait_for_the_disk(
    record: Callable[..., History], memory: Path, rounds: int
) -> None:
    tally = cut_everywhere(record("synchronous=NORMAL"), memory, states=rounds)
    assert tally.losing > tally.states / 10
