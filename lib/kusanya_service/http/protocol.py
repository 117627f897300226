"""uvicorn's HTTP protocol with the deadlines and bounds it lacks.

By itself it waits for ever for half a request and takes headers without limit. Each request has a
time to arrive in; headers are bounded in number and bytes; and an answer can be lost on purpose.
"""

import asyncio
from http import HTTPStatus
from typing import Final

import httptools
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from kusanya_service.asgi import ABORT
from kusanya_service.errors import ApiError, envelope

HEADERS_MAX_BYTES: Final = 16 * 1024
HEADERS_MAX_COUNT: Final = 64
CONNECTIONS_MAX: Final = 1_024
HEADERS_WITHIN_S: Final = 5.0
REQUEST_WITHIN_S: Final = 8.0
_UNPARSED: Final = "req_unparsed"


class BoundedProtocol(HttpToolsProtocol):
    """One connection; bounded in time and memory until a request is whole."""

    _header_bytes = 0
    _raw_bytes = 0
    _in_headers = True
    _timer: asyncio.TimerHandle | None = None
    _refused = False

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # uvicorn narrows it the same way
        """Begin to wait for the first request."""
        super().connection_made(transport)
        self._arm(HEADERS_WITHIN_S)
        if len(self.connections) > CONNECTIONS_MAX:
            self._refuse(ApiError(503, "too_many_connections", "try again in a moment"))

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop all waiting."""
        self._disarm()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Count what arrives before the headers are whole; a flood is refused."""
        if self._refused or self.transport.is_closing():
            return
        super().data_received(data)
        if self._in_headers and not self._refused:
            # The parser keeps an unfinished header to itself: only the raw bytes show it growing.
            self._raw_bytes += len(data)
            if self._raw_bytes > HEADERS_MAX_BYTES:
                self.send_400_response("")

    def on_message_begin(self) -> None:
        """Give each request its own time."""
        super().on_message_begin()
        self.scope["extensions"] = {ABORT: {"cut": self._abort}}
        self._in_headers = True
        self._header_bytes = self._raw_bytes = 0
        self._arm(HEADERS_WITHIN_S)

    def on_url(self, url: bytes) -> None:
        """Bound the request line."""
        self._count(len(url))
        super().on_url(url)

    def on_header(self, name: bytes, value: bytes) -> None:
        """Bound the headers in number and bytes."""
        self._count(len(name) + len(value))
        if len(self.headers) >= HEADERS_MAX_COUNT:
            raise httptools.HttpParserError("too many headers")
        super().on_header(name, value)

    def on_headers_complete(self) -> None:
        """Give the body its time."""
        self._in_headers = False
        self._arm(REQUEST_WITHIN_S)
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        """Stop the request's time: it is whole."""
        self._disarm()
        super().on_message_complete()

    def send_400_response(self, msg: str) -> None:  # noqa: ARG002 - uvicorn's interface
        """Answer what cannot be parsed with the envelope."""
        self._refuse(ApiError(400, "invalid_request", "the request is not HTTP we take"))

    def _count(self, size: int) -> None:
        self._header_bytes += size
        if self._header_bytes > HEADERS_MAX_BYTES:
            raise httptools.HttpParserError("headers too large")

    def _arm(self, seconds: float) -> None:
        self._disarm()
        self._timer = self.loop.call_later(seconds, self._late)

    def _disarm(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _late(self) -> None:
        self._timer = None
        answered = not self._in_headers and self.cycle.response_started
        if answered or (self._in_headers and self._raw_bytes == 0):
            self.transport.close()
            return
        self._refuse(ApiError(408, "request_timeout", "the request did not arrive in time"))

    def _refuse(self, error: ApiError) -> None:
        self._refused = True
        self._disarm()
        body = envelope(error, _UNPARSED)
        phrase = HTTPStatus(error.status).phrase
        self.transport.write(
            b"HTTP/1.1 %d %s\r\ncontent-type: application/json\r\ncontent-length: %d\r\n"
            b"request-id: %s\r\nconnection: close\r\n\r\n%s"
            % (error.status, phrase.encode(), len(body), _UNPARSED.encode(), body)
        )
        self.transport.close()

    def _abort(self) -> None:
        self._refused = True
        self._disarm()
        self.cycle.disconnected = True
        self.transport.abort()
