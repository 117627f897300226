"""Where notifications go in tests: an HTTP server and a mail server on loopback that keep them."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from email import message_from_bytes
from email.message import Message
from email.policy import default
from http.server import BaseHTTPRequestHandler, HTTPServer
from socketserver import StreamRequestHandler, TCPServer, ThreadingTCPServer
from typing import Any


class HttpSink(HTTPServer):
    """Answers every POST with `answer` and keeps what it was sent."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Post)
        self.answer = 204
        self.received: list[dict[str, Any]] = []
        self.paths: list[str] = []
        self.headers: list[dict[str, str]] = []

    @property
    def url(self) -> str:
        """Return the address to send to."""
        return f"http://127.0.0.1:{self.server_address[1]}/hooks/very-secret-path"


class _Post(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        assert isinstance(self.server, HttpSink)
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if self.server.answer < 300:
            self.server.received.append(json.loads(body))
            self.server.paths.append(self.path)
            self.server.headers.append(dict(self.headers.items()))
        self.send_response(self.server.answer)
        self.send_header("Location", "http://127.0.0.1:9/elsewhere")
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_: Any) -> None:
        """Say nothing."""


class MailSink(TCPServer):
    """Takes mail from everybody and keeps it."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Smtp)
        self.received: list[Message] = []

    @property
    def url(self) -> str:
        """Return the address to send to."""
        return (
            f"mailto://127.0.0.1:{self.server_address[1]}"
            "?from=watch@shop.example&to=night-duty@shop.example"
        )


class _Smtp(StreamRequestHandler):
    def handle(self) -> None:
        assert isinstance(self.server, MailSink)
        self._say("220 ready")
        for line in self.rfile:
            match line.strip().upper().partition(b" ")[0]:
                case b"DATA":
                    self._say("354 go on")
                    lines = list(iter(self.rfile.readline, b".\r\n"))
                    self.server.received.append(message_from_bytes(b"".join(lines), policy=default))
                    self._say("250 taken")
                case b"QUIT":
                    self._say("221 bye")
                    return
                case _:
                    self._say("250 taken")

    def _say(self, line: str) -> None:
        self.wfile.write(f"{line}\r\n".encode())


@contextmanager
def http_sink() -> Iterator[HttpSink]:
    with HttpSink() as server, _served(server):
        yield server


@contextmanager
def mail_sink() -> Iterator[MailSink]:
    with MailSink() as server, _served(server):
        yield server


@contextmanager
def _served(server: TCPServer) -> Iterator[None]:
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield
    finally:
        server.shutdown()
        thread.join()


@contextmanager
def answering_endlessly(begin: bytes, piece: bytes) -> Iterator[str]:
    """Yield an address that answers `begin` and then `piece` for ever; one byte alone drips."""
    stop = threading.Event()

    class Endless(StreamRequestHandler):
        def handle(self) -> None:
            with suppress(OSError):
                self.wfile.write(begin)
                while not stop.wait(0 if len(piece) > 1 else 0.01):
                    self.wfile.write(piece)

    with ThreadingTCPServer(("127.0.0.1", 0), Endless) as server:
        serving = threading.Thread(target=server.serve_forever, args=(0.02,))
        serving.start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}/"
        finally:
            stop.set()
            server.shutdown()
            serving.join()
