"""Deliveries as the service sends them, over plain sockets, so that every byte is ours."""

import json
import socket
import time
from types import TracebackType
from typing import Any, Final, Self

from kusanya.webhooks import sign

SECRET: Final = "whsec_" + "p" * 32
"""The signing secret of the only endpoint, in test mode."""


def event_body(number: int, *, padding: int = 0, **data: Any) -> bytes:
    """Return the raw body of event `number`; `padding` makes it longer by so many bytes."""
    status = data.get("status", "succeeded")
    collection = {
        "id": f"col_{number}",
        "object": "collection",
        "status": status,
        "amount": 5000,
        "fee": 50,
        "currency": "TZS",
        "channel": "MPESA_TZ",
        "phone": f"2557540{number % 100_000:05d}",
        "reference": f"order-{number}",
        "description": "x" * padding,
        "mode": "test",
        "created_at": "2026-03-02T11:59:48Z",
        "completed_at": "2026-03-02T12:00:00Z",
    } | data
    return json.dumps(
        {
            "id": f"evt_{number}",
            "type": f"collection.{status}",
            "created_at": "2026-03-02T12:00:00Z",
            "mode": "test",
            "data": collection,
        },
        separators=(",", ":"),
    ).encode()


def request_of(body: bytes, *, secret: str = SECRET, at: float | None = None) -> bytes:
    """Return the whole request that delivers `body`, signed now unless told otherwise."""
    signature = sign(body, secret, int(time.time() if at is None else at))
    head = (
        "POST / HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: application/json\r\n"
        f"service-signature: {signature}\r\ncontent-length: {len(body)}\r\n\r\n"
    )
    return head.encode() + body


class Sender:
    """One connection to a receiver, opened when it is needed and again after it was lost."""

    def __init__(self, port: int, *, within_s: float = 15.0) -> None:
        self._address = ("127.0.0.1", port)
        self._within_s = within_s
        self._socket: socket.socket | None = None

    def deliver(self, body: bytes) -> int | None:
        """Deliver once; return the status of the answer, None where none came."""
        return self.send(request_of(body))

    def send(self, request: bytes) -> int | None:
        """Send bytes as they are and read one answer."""
        try:
            if self._socket is None:
                self._socket = socket.create_connection(self._address, self._within_s)
            self._socket.sendall(request)
            status, closing = _answer(self._socket)
        except OSError:
            self.close()
            return None
        if closing:
            self.close()
        return status

    def close(self) -> None:
        """Close the connection."""
        if self._socket is not None:
            self._socket.close()
            self._socket = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


def _answer(connection: socket.socket) -> tuple[int | None, bool]:
    """Read one answer; return its status, and whether the connection is over."""
    received = b""
    while b"\r\n\r\n" not in received:
        part = connection.recv(65_536)
        if not part:
            return None, True
        received += part
    head, _, body = received.partition(b"\r\n\r\n")
    lines = head.lower().split(b"\r\n")
    fields = dict(line.split(b": ", 1) for line in lines[1:])
    missing = int(fields[b"content-length"]) - len(body)
    while missing > 0:
        part = connection.recv(missing)
        if not part:
            # The status line is what counts for the sender: any 2xx is an acknowledgement.
            return int(lines[0].split()[1]), True
        missing -= len(part)
    return int(lines[0].split()[1]), fields.get(b"connection") == b"close"
