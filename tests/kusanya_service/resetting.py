"""An endpoint that resets its connections, and ten seconds that a test need not wait for."""

import select
import struct
import threading
from collections.abc import Iterable
from itertools import cycle
from socket import SO_LINGER, SOL_SOCKET, create_server, socket
from typing import Final

from kusanya_service.testing import PaymentService

REQUEST_BYTES: Final = 1_000
"""More than a delivery of the tests has: from its last byte on, the answer is cut."""
ANSWER: Final = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
BEFORE_ACCEPT: Final = ("accept", 0)

Cut = tuple[str, int]
"""Where the reset comes: in the request or the answer, after how many bytes."""


def every_cut(step: int) -> list[Cut]:
    """Return a reset before accepting, at every `step`-th byte of a request and of an answer."""
    requests = [("request", number) for number in range(0, REQUEST_BYTES, step)]
    return [BEFORE_ACCEPT, *requests, *(("answer", number) for number in range(len(ANSWER)))]


def shorten_the_ten_seconds(service: PaymentService, to_s: float) -> None:
    """Give an endpoint less real time to answer in, having held that it is ten seconds."""
    sender = service._running.service.parts.sender
    assert sender._within_s == 10.0
    sender._within_s = to_s


class ResettingEndpoint:
    """Resets (no orderly close) each connection at the next of `cuts`, over and over."""

    def __init__(self, cuts: Iterable[Cut]) -> None:
        self._cuts = cycle(cuts)
        self._listener = create_server(("127.0.0.1", 0))
        self.place: Final[tuple[str, int]] = self._listener.getsockname()[:2]
        self.resets = 0
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._serve)
        self._thread.start()

    @property
    def url(self) -> str:
        """Return the URL to register."""
        return f"http://{self.place[0]}:{self.place[1]}/"

    def close(self) -> None:
        """Stop listening."""
        self._over.set()
        self._thread.join()
        self._listener.close()

    def _serve(self) -> None:
        others: list[threading.Thread] = []
        while not self._over.is_set():
            if not select.select([self._listener], [], [], 0.02)[0]:
                continue
            self.resets += 1
            where, after = next(self._cuts)
            if where == "accept":
                # Closing a listener resets whoever waits to be accepted.
                self._listener.close()
                self._listener = create_server(self.place)
                continue
            connection, _ = self._listener.accept()
            if where == "request" and after == 0:
                _reset(connection)
                continue
            others.append(threading.Thread(target=_exchange, args=(connection, where, after)))
            others[-1].start()
        for other in others:
            other.join()


def _exchange(connection: socket, where: str, after: int) -> None:
    connection.settimeout(30)
    try:
        received = b""
        wanted = after if where == "request" else REQUEST_BYTES * 10
        while len(received) < wanted and not received.endswith(b"}}"):
            chunk = connection.recv(wanted - len(received))
            if not chunk:
                break
            received += chunk
        if where == "answer":
            connection.sendall(ANSWER[:after])
    finally:
        _reset(connection)


def _reset(connection: socket) -> None:
    connection.setsockopt(SOL_SOCKET, SO_LINGER, struct.pack("ii", 1, 0))
    connection.close()
