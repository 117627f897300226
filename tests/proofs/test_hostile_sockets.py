"""Broken HTTP and slow sockets: the receiver lives, stays small, and answers the honest.

One receiver in a process of its own takes all of it, while honest deliveries go on beside.
"""

import errno
import random
import re
import selectors
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Final

import pytest
from tests.proofs.kit.deliveries import Sender, event_body, request_of
from tests.proofs.kit.receivers import Nursery, ReceiverProcess
from tests.proofs.kit.recovered import disagreements, look

MEMORY_MB: Final = 64
"""How much a receiver may grow under attack."""
SHORT: Final = {"header_s": 1.0, "request_s": 1.5, "connections": 600}
"""The limits of time, shortened: that slow sockets are cut is seen sooner."""

STATUS: Final = re.compile(rb"^HTTP/1\.1 (\d{3})", re.MULTILINE)
ACKNOWLEDGED: Final = frozenset(range(200, 300))


class Honest:
    """One merchant's service, delivering all the time."""

    def __init__(self, receiver: ReceiverProcess) -> None:
        self.acknowledged: list[bytes] = []
        self.other: list[int | None] = []
        self.slowest_s = 0.0
        self._port = receiver.port
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._deliver)
        self._thread.start()

    def _deliver(self) -> None:
        number = 0
        while not self._over.is_set():
            number += 1
            # Every other one on a new connection, which an attack could keep out.
            with Sender(self._port) as sender:
                for part in range(2):
                    body = event_body(2 * number + part)
                    began = time.monotonic()
                    status = sender.deliver(body)
                    self.slowest_s = max(self.slowest_s, time.monotonic() - began)
                    if status == 200:
                        self.acknowledged.append(body)
                    else:
                        self.other.append(status)
            self._over.wait(0.005)

    def stop(self) -> None:
        """End and wait."""
        self._over.set()
        self._thread.join(30)
        assert not self._thread.is_alive()


def memory_mb(receiver: ReceiverProcess) -> float:
    """Return the resident memory of a receiver."""
    status = Path(f"/proc/{receiver.pid}/status").read_text()
    found = re.search(r"VmRSS:\s+(\d+) kB", status)
    assert found is not None
    return int(found[1]) / 1024


@contextmanager
def under_attack(nursery: Nursery, store: Path, **limits: float) -> Iterator[ReceiverProcess]:
    """Run a receiver with honest traffic; afterwards hold what an attack must not change."""
    with nursery.receiver(store, connections=limits) as receiver:
        with Sender(receiver.port) as sender:
            # Whatever is allocated once is allocated now.
            assert {sender.deliver(event_body(10**6 + n, padding=9000)) for n in range(50)} == {200}
        before = memory_mb(receiver)
        honest = Honest(receiver)
        try:
            yield receiver
        finally:
            honest.stop()
        assert not receiver.ended(within_s=0), "the receiver died"
        assert honest.other == [], "an honest delivery was not acknowledged"
        assert len(honest.acknowledged) >= 10
        assert honest.slowest_s < 8.0, "a sender gives up after ten seconds"
        assert memory_mb(receiver) - before <= MEMORY_MB
        receiver.kill()
        assert look(store, honest.acknowledged).lost == 0
        assert disagreements(store) == []


def mutated(chance: random.Random) -> tuple[bytes, bool]:
    """Return something like a delivery with up to four things wrong, and whether we signed it."""
    number, genuine = chance.randrange(10**9, 2 * 10**9), chance.random() < 0.2
    if genuine:
        request = request_of(chance.choice(POISON))
    else:
        request = request_of(event_body(number), secret="whsec_forged")
    for _ in range(chance.randint(0 if genuine else 1, 4)):
        request = chance.choice(MUTATIONS)(request, chance)
    return request, genuine


def _flip(request: bytes, chance: random.Random) -> bytes:
    at = chance.randrange(len(request) or 1)
    return request[:at] + bytes([chance.randrange(256)]) + request[at + 1 :]


def _cut(request: bytes, chance: random.Random) -> bytes:
    return request[: chance.randrange(len(request) + 1)]


def _insert(request: bytes, chance: random.Random) -> bytes:
    at = chance.randrange(len(request) + 1)
    return request[:at] + chance.randbytes(chance.randint(1, 300)) + request[at:]


def _header(request: bytes, chance: random.Random) -> bytes:
    line = chance.choice(
        (
            b"content-length: 1",
            b"content-length: -1",
            b"content-length: 99999999999999999999",
            b"transfer-encoding: chunked",
            b"transfer-encoding: gzip, chunked",
            b"content-encoding: gzip",
            b"expect: 100-continue",
            b"upgrade: websocket\r\nconnection: upgrade",
            b"connection: close",
            b" folded: obsolete",
            b"no colon",
            b"nul\x00name: value",
            b"host: other",
            b"service-signature: t=1,v1=00",
            b"service-signature: t=" + b"9" * 5000,
            b"x: " + b"y" * 70_000,
            b"\r\n".join(b"x-%d: y" % n for n in range(1000)),
        )
    )
    return request.replace(b"\r\n", b"\r\n" + line + b"\r\n", 1)


def _begin(request: bytes, chance: random.Random) -> bytes:
    return chance.choice(
        (
            b"GET /" + b"a" * 100_000 + b" HTTP/1.1\r\n\r\n",
            b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
            b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + bytes(200),
            b"POST / HTTP/0.9\r\n\r\n",
            b"POST / HTTP/1.1\n\n",
            b"\r\n" * 3000,
            b"PUT /" + chance.randbytes(20).hex().encode() + b" HTTP/1.1\r\n\r\n",
            b"HEAD /nothing HTTP/1.1\r\n\r\n",
            b"POST / HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\n5;" + b"e" * 200_000,
            b"POST / HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\nffffffffffffffff\r\n",
        )
    ) + chance.choice((b"", request))


POISON: Final = (
    b"[" * 200_000,
    b'{"id":"evt_1","id":"evt_2"}',
    b'{"amount":1e400}',
    b'"\\ud800"',
    b"\xff\xfe{}",
    b"",
    bytes(300_000),
)
"""Bodies that no service sends, signed as if it did."""
MUTATIONS: Final = (_flip, _cut, _insert, _header, _begin)


def shoot(port: int, request: bytes) -> bytes:
    """Send a request on a connection of its own and return what came back."""
    received = b""
    with socket.create_connection(("127.0.0.1", port), 10) as connection:
        try:
            connection.sendall(request)
            connection.shutdown(socket.SHUT_WR)
            while part := connection.recv(65_536):
                received += part
        except OSError as error:
            # It may hang up while we are still talking; to leave us waiting is another matter.
            if error.errno not in {errno.ECONNRESET, errno.EPIPE, errno.ENOTCONN}:
                raise
    return received


@pytest.mark.scale(1_000, 20_000, 200_000)
@pytest.mark.timeout(1800)
def test_malformed_requests_harm_nobody(nursery: Nursery, tmp_path: Path, rounds: int) -> None:
    chance = random.Random(rounds)  # noqa: S311 - a repeatable choice
    answers: set[int] = set()
    with under_attack(nursery, tmp_path / "store.db") as receiver:
        for _ in range(rounds):
            request, genuine = mutated(chance)
            statuses = {int(status) for status in STATUS.findall(shoot(receiver.port, request))}
            answers |= statuses
            assert genuine or not statuses & ACKNOWLEDGED, "a forged delivery was acknowledged"
    assert answers <= {100, 200, 400, 405, 408, 413, 414, 431, 415}
    assert {200, 400, 405, 413} <= answers


@pytest.mark.merge
@pytest.mark.scale(50, 500, 500)
def test_slow_sockets_are_cut_and_delay_nobody(
    nursery: Nursery, tmp_path: Path, rounds: int
) -> None:
    request = request_of(event_body(1))
    half_header, half_body = request[:60], request[:-20]
    with under_attack(nursery, tmp_path / "store.db", **SHORT) as receiver, ExitStack() as stack:
        selector = stack.enter_context(selectors.DefaultSelector())
        slow: dict[socket.socket, float] = {}
        for number in range(rounds):
            connection = socket.create_connection(("127.0.0.1", receiver.port), 10)
            stack.enter_context(connection)
            connection.sendall((b"", half_header, half_body, b"\r\n")[number % 4])
            slow[connection] = time.monotonic()
            selector.register(connection, selectors.EVENT_READ)
        ends = time.monotonic() + 20
        while slow and time.monotonic() < ends:
            for key, _ in selector.select(0.1):
                connection = key.fileobj  # type: ignore[assignment] # we registered only sockets
                try:
                    over = not connection.recv(4096)
                except ConnectionResetError:
                    over = True
                if over:
                    selector.unregister(connection)
                    del slow[connection]
            for number, connection in enumerate(slow):
                if number % 3 == 0:
                    _drip(connection)
    assert slow == {}, "a slow socket was never cut"


def _drip(connection: socket.socket) -> None:
    """Send one more byte, which must not buy more time."""
    try:
        connection.send(b"x")
    except (ConnectionResetError, BrokenPipeError):
        # It was cut a moment ago; the next look at it sees that.
        return
