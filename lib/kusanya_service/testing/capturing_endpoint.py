"""A webhook endpoint on loopback that keeps what arrives, for tests of merchants and our own."""

import json
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Final

import msgspec

_LOOPBACK: Final = "127.0.0.1"


class CapturedDelivery(msgspec.Struct, frozen=True, kw_only=True):
    """One delivery as it arrived: the exact body, headers by lower-case name, and the path."""

    path: str
    headers: dict[str, str]
    body: bytes

    @property
    def event(self) -> Any:
        """Return the body as decoded JSON."""
        return json.loads(self.body)

    def __repr__(self) -> str:
        return f"Captured(path={self.path!r}, {len(self.body)} bytes)"


class Reply(msgspec.Struct, frozen=True, kw_only=True):
    """What the endpoint answers."""

    status: int = 200
    headers: dict[str, str] = {}
    body: bytes = b""


class CapturingEndpoint:
    """An HTTP server on a free loopback port, from construction to `close`.

    `reply` decides each answer and may be replaced at any time; it runs on the server's threads.
    """

    def __init__(self) -> None:
        self.deliveries: list[CapturedDelivery] = []
        """Everything that arrived, in order."""
        self.reply: Callable[[CapturedDelivery], Reply] = lambda _captured: Reply()
        self._server = _Server((_LOOPBACK, 0), _Handler)
        self._server.endpoint = self
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,))
        self._thread.start()

    @property
    def place(self) -> tuple[str, int]:
        """Return its address and port, as the service's `allow_local` takes them."""
        return (_LOOPBACK, self._server.server_address[1])

    @property
    def url(self) -> str:
        """Return the URL to register."""
        return f"http://{_LOOPBACK}:{self.place[1]}/webhooks"

    def answer_with(self, status: int) -> None:
        """Answer every delivery with `status` from now on."""
        self.reply = lambda _captured: Reply(status=status)

    def close(self) -> None:
        """Stop listening."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128
    endpoint: CapturingEndpoint


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: _Server

    def do_POST(self) -> None:
        length = int(self.headers.get("Content-Length", "0"))
        captured = CapturedDelivery(
            path=self.path,
            headers={name.lower(): value for name, value in self.headers.items()},
            body=self.rfile.read(length),
        )
        endpoint = self.server.endpoint
        endpoint.deliveries.append(captured)
        reply = endpoint.reply(captured)
        self.send_response(reply.status)
        for name, value in reply.headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(reply.body)))
        self.end_headers()
        self.wfile.write(reply.body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base's name
        """Keep quiet: a test's output is not the place."""
