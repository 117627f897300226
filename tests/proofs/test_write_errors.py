"""The disk fails or is full: nothing is acknowledged that is not kept, and service resumes.

Faults are put under a running receiver: a failing system call with strace, a limit on the size of
files, a full file system. No test touches the receiver to make it recover.
"""

import contextlib
import resource
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest
from tests.proofs.kit.cuts import History, cut_everywhere
from tests.proofs.kit.deliveries import Sender, event_body
from tests.proofs.kit.receivers import Nursery, ReceiverProcess
from tests.proofs.kit.recovered import disagreements, look
from tests.proofs.kit.trace import Sync, acknowledged, read_trace
from tests.proofs.kit.tracing import SYNCS, traced

FAULTS: Final = {
    "write fails": "pwrite64:error=EIO",
    "disk is full": "pwrite64:error=ENOSPC",
    "write is interrupted": "pwrite64:error=EINTR",
    "sync fails": f"{SYNCS}:error=EIO",
}


class Resender:
    """Delivers as the service does: again and again until it is acknowledged."""

    def __init__(self, receiver: ReceiverProcess) -> None:
        self._sender = Sender(receiver.port)
        self.acknowledged: list[bytes] = []
        self.refused = 0

    def deliver(self, body: bytes, *, tries: int = 10) -> None:
        """Deliver until 2xx; any other answer than 503 fails the test."""
        for _ in range(tries):
            status = self._sender.deliver(body)
            if status == 200:
                self.acknowledged.append(body)
                return
            assert status == 503
            self.refused += 1
        pytest.fail("the receiver did not recover")

    def refuse(self, body: bytes) -> None:
        """Deliver once and be refused."""
        assert self._sender.deliver(body) == 503
        self.refused += 1

    def close(self) -> None:
        """Close the connection."""
        self._sender.close()


def hold(store: Path, bodies: list[bytes]) -> None:
    """Assert that a store has all `bodies` and nothing is wrong with it."""
    found = look(store, bodies)
    assert (found.lost, found.damage) == (0, None)


@pytest.mark.strace
@pytest.mark.scale(10, 120, 400)
@pytest.mark.timeout(900)
@pytest.mark.parametrize("fault", FAULTS.values(), ids=list(FAULTS))
def test_a_write_that_fails_is_not_acknowledged_and_the_next_one_is(
    nursery: Nursery, strace: str, tmp_path: Path, rounds: int, fault: str
) -> None:
    store, kept, refused = tmp_path / "store.db", list[bytes](), 0
    last = max(30, rounds) if "pwrite" in fault else max(3, rounds // 30)
    places = sorted({1 + round_ * last // rounds for round_ in range(rounds)})
    for place in places:
        with nursery.receiver(store, checkpoint_pages=50) as receiver:
            with traced(strace, receiver, tmp_path / "trace", inject=f"{fault}:when={place}"):
                resender = Resender(receiver)
                for number in range(4 + last // 30):
                    resender.deliver(event_body(100 * place + number))
            resender.close()
            receiver.kill()
        refused += resender.refused
        kept += resender.acknowledged
        hold(store, kept)
    assert disagreements(store) == []
    # SQLite writes again when a signal interrupts it, so nobody notices.
    assert (refused == 0) if "EINTR" in fault else (refused >= len(places) / 2)


def record_with_failing_syncs(
    nursery: Nursery, strace: str, folder: Path, *, every: int
) -> tuple[History, set[str]]:
    """Record forty deliveries while some syncs fail; return which files' did."""
    store = folder / "store" / "store.db"
    inject = f"{SYNCS}:error=EIO:when=2+{every}"
    with nursery.receiver(store, checkpoint_pages=40) as receiver:
        before = {str(path): path.read_bytes() for path in store.parent.iterdir()}
        with traced(strace, receiver, folder / "trace", inject=inject):
            resender = Resender(receiver)
            for number in range(40):
                resender.deliver(event_body(number, padding=number % 4 * 3000))
        resender.close()
    steps = read_trace(folder / "trace", below=store.parent)
    acks = acknowledged(steps)
    failed = {Path(step.path).name for step in steps if isinstance(step, Sync) and not step.ok}
    return History(store.parent, steps, acks, before), failed


@pytest.mark.strace
@pytest.mark.scale(300, 5_000, 50_000)
@pytest.mark.timeout(600)
def test_what_a_failed_sync_left_in_doubt_is_not_acknowledged_later(
    nursery: Nursery, strace: str, tmp_path: Path, memory: Path, rounds: int
) -> None:
    # Which syncs are hit depends on how commits and checkpoints fall; a commit that starts the log
    # anew needs three, so every third would fail all of them.
    for every in (7, 8, 5, 11, 10):
        folder = tmp_path / str(every)
        folder.mkdir()
        history, failed = record_with_failing_syncs(nursery, strace, folder, every=every)
        # On a busy machine a trace may miss an answer; one that is not whole proves nothing.
        if len(history.acks) == 40 and {"store.db", "store.db-wal"} <= failed:
            break
    else:
        pytest.fail("no failing sync hit both a commit and a checkpoint in a whole trace")
    tally = cut_everywhere(history, memory, states=rounds)
    assert (tally.losing, tally.broken[:3]) == (0, [])


def test_a_file_that_may_not_grow_is_answered_503_until_it_may(
    nursery: Nursery, tmp_path: Path
) -> None:
    store = tmp_path / "store.db"
    with nursery.receiver(store) as receiver:
        resender = Resender(receiver)
        resender.deliver(event_body(1))
        size = (tmp_path / "store.db-wal").stat().st_size
        hard = resource.prlimit(receiver.pid, resource.RLIMIT_FSIZE)[1]
        # Not at the end of the log but within the next write: what is cut is cut in a page.
        resource.prlimit(receiver.pid, resource.RLIMIT_FSIZE, (size + 10_000, hard))
        for number in range(2, 6):
            resender.refuse(event_body(number))
        resource.prlimit(receiver.pid, resource.RLIMIT_FSIZE, (hard, hard))
        for number in range(2, 6):
            resender.deliver(event_body(number), tries=2)
        resender.close()
        receiver.kill()
    hold(store, resender.acknowledged)
    assert len(resender.acknowledged) == 5
    assert disagreements(store) == []


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """Mount a file system of 3 MB."""
    folder = tmp_path / "small"
    folder.mkdir()
    mount, umount = shutil.which("mount"), shutil.which("umount")
    if mount is None or umount is None:
        pytest.skip("there is no mount")
    command = [mount, "-t", "tmpfs", "-o", "size=3m", "tmpfs", str(folder)]
    if subprocess.run(command, capture_output=True, check=False).returncode != 0:
        pytest.skip("mounting is not allowed here")
    yield folder
    subprocess.run([umount, "-l", str(folder)], check=True)


def fill(path: Path) -> None:
    """Write until there is no room."""
    with path.open("wb", buffering=0) as file, contextlib.suppress(OSError):
        while True:
            file.write(bytes(4096))


@pytest.mark.root
def test_a_full_disk_is_answered_503_until_there_is_room(
    nursery: Nursery, small_disk: Path
) -> None:
    store = small_disk / "store.db"
    with nursery.receiver(store) as receiver:
        resender = Resender(receiver)
        resender.deliver(event_body(1))
        filler = small_disk / "filler"
        fill(filler)
        for number in range(2, 6):
            resender.refuse(event_body(number, padding=20_000))
        filler.unlink()
        for number in range(2, 6):
            resender.deliver(event_body(number, padding=20_000), tries=2)
        resender.close()
        receiver.kill()
    hold(store, resender.acknowledged)
    assert len(resender.acknowledged) == 5
    assert disagreements(store) == []
