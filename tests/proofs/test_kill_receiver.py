"""A receiver that is killed loses nothing that it acknowledged, and starts again by itself.

Real HTTP on loopback, kill -9 at random moments and at chosen system calls, on one store that goes
through all of it.
"""

import threading
from pathlib import Path
from random import Random
from typing import Final

import pytest
from tests.proofs.kit.deliveries import Sender, event_body
from tests.proofs.kit.receivers import Nursery, ReceiverProcess
from tests.proofs.kit.recovered import disagreements, look
from tests.proofs.kit.trace import (
    Acknowledgement,
    SocketRead,
    SocketWrite,
    Step,
    Sync,
    Write,
    acknowledged,
    read_trace,
)
from tests.proofs.kit.tracing import SYNCS, traced

SENDERS: Final = 4
FRAME_HEADER: Final = 24
"""Bytes before each page in SQLite's log; a size at 4 to 8 marks the last page of a commit."""
CALLS: Final = ("pwrite64", SYNCS, "ftruncate", "openat")
"""What a receiver is killed at. A kill at a call comes before it; at the next one, after it."""


class Crowd:
    """Several connections that deliver until the receiver is gone."""

    def __init__(self, receiver: ReceiverProcess, *, first: int) -> None:
        self.acknowledged: list[bytes] = []
        self._threads = [
            threading.Thread(target=self._deliver, args=(receiver, first + 100_000 * number))
            for number in range(SENDERS)
        ]
        for thread in self._threads:
            thread.start()

    def _deliver(self, receiver: ReceiverProcess, first: int) -> None:
        with Sender(receiver.port) as sender:
            for number in range(first, first + 100_000):
                # Every fourth event is delivered twice, and some do not fit into a page.
                body = event_body(number - number % 4 // 3, padding=number % 7 * 1000)
                if sender.deliver(body) != 200:
                    return
                self.acknowledged.append(body)

    def wait(self) -> None:
        """Wait until every connection is gone."""
        for thread in self._threads:
            thread.join(30)
            assert not thread.is_alive()


class Survivor:
    """One store that goes through kill after kill, and everything acknowledged into it."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._generation = 0
        self._kept: list[bytes] = []

    @property
    def store(self) -> Path:
        """Where the store is now."""
        return self._folder / str(self._generation) / "store.db"

    def hold(self, acknowledged: list[bytes], *, after: str) -> None:
        """Assert that nothing was lost and nothing is damaged."""
        self._kept += acknowledged
        found = look(self.store, self._kept)
        assert (found.lost, found.damage) == (0, None), after
        if len(self._kept) > 2000:
            # A new one now and then: what every round looks at stays small.
            self.check()
            self._kept = []
            self._generation += 1

    def check(self) -> None:
        """Assert that the product finds nothing wrong with the store."""
        assert disagreements(self.store) == []


@pytest.mark.scale(15, 2_000, 10_000)
@pytest.mark.timeout(3600)
def test_every_acknowledged_delivery_survives_kill_9_at_a_random_moment(
    nursery: Nursery, tmp_path: Path, rounds: int
) -> None:
    chance = Random(rounds)  # noqa: S311 - a repeatable choice
    survivor = Survivor(tmp_path)
    total = 0
    for round_ in range(rounds):
        with nursery.receiver(survivor.store, checkpoint_pages=200) as receiver:
            crowd = Crowd(receiver, first=1_000_000 * round_)
            receiver.ended(within_s=chance.uniform(0.0, 0.12))
            receiver.kill()
            crowd.wait()
        survivor.hold(crowd.acknowledged, after=f"round {round_}")
        total += len(crowd.acknowledged)
    survivor.check()
    assert total >= rounds


@pytest.mark.strace
@pytest.mark.scale(20, 1_500, 20_000)
@pytest.mark.timeout(3600)
def test_every_acknowledged_delivery_survives_kill_9_at_a_system_call(
    nursery: Nursery, strace: str, tmp_path: Path, rounds: int
) -> None:
    chance = Random(rounds)  # noqa: S311 - a repeatable choice
    survivor = Survivor(tmp_path)
    at_the_call = 0
    for round_ in range(rounds):
        # Most calls are writes; any of the first 200 may be the last, of the others the first six.
        call = CALLS[0] if round_ % 4 else chance.choice(CALLS[1:])
        place = chance.randint(1, 200) if call == "pwrite64" else chance.randint(1, 6)
        with nursery.receiver(survivor.store, checkpoint_pages=40) as receiver:
            inject = f"{call}:signal=KILL:when={place}"
            with traced(strace, receiver, tmp_path / "trace", inject=inject):
                crowd = Crowd(receiver, first=1_000_000 * round_)
                at_the_call += receiver.ended(within_s=0.5)
                # Some calls never come: what is killed late was killed at random.
                receiver.kill()
                crowd.wait()
        survivor.hold(crowd.acknowledged, after=f"{call} number {place}")
    survivor.check()
    assert at_the_call >= rounds / 2


def synced_before(steps: list[Step], ack: Acknowledgement) -> bool:
    """Say whether the transaction that holds a body was complete and synced before its answer."""
    # Quoted, or evt_1 would be found in evt_10; the log holds the raw body.
    event_id = ack.body[len(b'{"id":') : ack.body.index(b',"type"')]
    before = list(enumerate(steps[: ack.place]))
    read_at = max(
        at for at, step in before if isinstance(step, SocketRead) and event_id in step.data
    )
    log = [
        (at, step) for at, step in before[read_at:] if getattr(step, "path", "").endswith("-wal")
    ]
    wrote = [at for at, step in log if isinstance(step, Write) and event_id in step.data]
    committed = [
        at
        for at, step in log
        if isinstance(step, Write) and len(step.data) == FRAME_HEADER and any(step.data[4:8])
        if wrote and at > wrote[0] - 2
    ]
    # The page follows its header.
    return bool(committed) and any(
        isinstance(step, Sync) and step.ok and step.began > committed[0] + 1 for _, step in log
    )


@pytest.mark.strace
def test_the_log_is_synced_before_the_first_byte_of_a_2xx_leaves(
    nursery: Nursery, strace: str, tmp_path: Path
) -> None:
    store = tmp_path / "store" / "store.db"
    output = tmp_path / "trace"
    with nursery.receiver(store, checkpoint_pages=60) as receiver, traced(strace, receiver, output):
        crowd = Crowd(receiver, first=0)
        receiver.ended(within_s=1.0)
        receiver.kill()
        crowd.wait()
    steps = read_trace(output, below=store.parent)
    answers = [
        step for step in steps if isinstance(step, SocketWrite) and b"HTTP/1.1 2" in step.data
    ]
    acks = acknowledged(steps)
    assert len(acks) == len(answers)
    assert len(acks) >= 20
    assert [ack for ack in acks if not synced_before(steps, ack)] == []
