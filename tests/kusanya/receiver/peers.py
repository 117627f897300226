"""Peers of a receiver on real sockets: how they connect, ask and read."""

import socket
from collections.abc import Callable

from kusanya.receiver.serve import RunningReceiver

SECRET = "whsec_" + "a" * 32
Body = Callable[..., bytes]
Headers = list[tuple[bytes, bytes]]
SignHeaders = Callable[..., Headers]
Serve = Callable[..., RunningReceiver]


def connect(serving: RunningReceiver) -> socket.socket:
    found = socket.create_connection((serving.host, serving.port), timeout=10)
    found.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return found


def request(payload: bytes, headers: Headers) -> bytes:
    lines = b"".join(b"%b: %b\r\n" % pair for pair in headers)
    return b"POST /hooks HTTP/1.1\r\n" + lines + b"\r\n" + payload


def read_answer(peer: socket.socket) -> bytes:
    """Return the status line of one answer, or b"" where the connection ended without one."""
    with peer.makefile("rb") as file:
        status = file.readline()
        length = 0
        while (line := file.readline().strip()) != b"":
            if line.startswith(b"content-length:"):
                length = int(line.split(b":")[1])
        file.read(length)
        return status.removeprefix(b"HTTP/1.1 ").strip()


def closed_by_the_other_side(peer: socket.socket) -> bool:
    try:
        return peer.recv(1) == b""
    except ConnectionResetError:
        return True
