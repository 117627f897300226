"""PostgreSQL is killed under a receiver: what was acknowledged is there, and service resumes."""

import shutil
import threading
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest
from sqlalchemy import create_engine, text
from tests.proofs.kit.deliveries import Sender, event_body
from tests.proofs.kit.postgres import Server, programs
from tests.proofs.kit.receivers import Nursery, ReceiverProcess

from kusanya.store import Store

SENDERS: Final = 20
pytestmark = pytest.mark.postgres


@pytest.fixture
def servers(memory: Path) -> Iterator[list[Server]]:
    """Return two servers that do not exist yet; whatever runs at the end is ended."""
    bin_ = programs()
    # In memory: a killed process loses nothing that it gave to the system, on any disk.
    folder = memory / "pg"
    folder.mkdir()
    for shared in (memory, folder):
        shared.chmod(0o777)
    made = [Server(bin_, folder / name) for name in ("primary", "standby")]
    yield made
    for server in made:
        server.remove()


class Crowd:
    """Many connections that deliver as the service does, each again until it is acknowledged."""

    def __init__(self, receiver: ReceiverProcess) -> None:
        self.acknowledged: list[bytes] = []
        self.refused = 0
        self._over = threading.Event()
        self._threads = [
            threading.Thread(target=self._deliver, args=(receiver, 100_000 * number))
            for number in range(SENDERS)
        ]
        for thread in self._threads:
            thread.start()

    def _deliver(self, receiver: ReceiverProcess, first: int) -> None:
        number = first
        with Sender(receiver.port) as sender:
            while not self._over.is_set():
                body = event_body(number)
                status = sender.deliver(body)
                if status == 200:
                    self.acknowledged.append(body)
                    number += 1
                else:
                    assert status in {503, None}
                    self.refused += 1
                    self._over.wait(0.02)

    def wait_for(self, more: int, *, within_s: float) -> float:
        """Wait until so many more were acknowledged; return how many seconds it took."""
        began, wanted = time.monotonic(), len(self.acknowledged) + more
        while len(self.acknowledged) < wanted:
            assert time.monotonic() - began < within_s, "the receiver did not resume"
            time.sleep(0.01)
        return time.monotonic() - began

    def wait_to_be_refused(self) -> None:
        """Wait until a delivery was refused, else the server is back before anybody missed it."""
        before, began = self.refused, time.monotonic()
        while self.refused == before:
            assert time.monotonic() - began < 30, "the receiver acknowledges without its database"
            time.sleep(0.01)

    def stop(self) -> None:
        """End and wait."""
        self._over.set()
        for thread in self._threads:
            thread.join(30)
            assert not thread.is_alive()


def hold(url: str, acknowledged: list[bytes]) -> None:
    """Assert that every acknowledged delivery is there and the store agrees with itself."""
    engine = create_engine(url.replace("postgresql://", "postgresql+psycopg://"))
    with engine.connect() as connection:
        rows = connection.execute(text("SELECT body FROM delivery")).scalars()
        kept = Counter(bytes(body) for body in rows)
    engine.dispose()
    missing = Counter(acknowledged) - kept
    assert missing.total() == 0
    with Store.open(url) as store:
        assert store.maintenance.check() == ()


def address(*ports: int) -> str:
    """Return the address of whichever of these servers is writable."""
    hosts, numbers = ",".join("127.0.0.1" for _ in ports), ",".join(map(str, ports))
    where = f"host={hosts}&port={numbers}&target_session_attrs=read-write"
    return f"postgresql://postgres@/postgres?{where}"


@pytest.mark.merge
@pytest.mark.scale(1, 5, 50)
@pytest.mark.timeout(1800)
def test_a_standby_that_is_promoted_has_everything_that_was_acknowledged(
    nursery: Nursery, servers: list[Server], rounds: int
) -> None:
    for _ in range(rounds):
        primary, standby = servers
        for server in servers:
            server.remove()
            shutil.rmtree(server.data, ignore_errors=True)
        primary.create()
        primary.start(synchronous_standby_names="*")
        standby.copy(primary)
        standby.start(hot_standby="on")
        url = address(primary.port, standby.port)
        with nursery.receiver(url) as receiver:
            crowd = Crowd(receiver)
            crowd.wait_for(100, within_s=30)
            primary.kill()
            killed = time.monotonic()
            crowd.wait_to_be_refused()
            standby.promote()
            crowd.wait_for(100, within_s=30)
            assert time.monotonic() - killed < 20
            crowd.stop()
        hold(url, crowd.acknowledged)


@pytest.mark.merge
@pytest.mark.scale(1, 5, 50)
@pytest.mark.timeout(1800)
def test_a_server_that_is_killed_and_started_again_has_everything_that_was_acknowledged(
    nursery: Nursery, servers: list[Server], rounds: int
) -> None:
    server = servers[0]
    server.create()
    server.start()
    url = address(server.port)
    with nursery.receiver(url) as receiver:
        crowd = Crowd(receiver)
        for _ in range(rounds):
            crowd.wait_for(100, within_s=30)
            server.kill()
            crowd.wait_to_be_refused()
            server.start()
        crowd.wait_for(100, within_s=30)
        crowd.stop()
    hold(url, crowd.acknowledged)
