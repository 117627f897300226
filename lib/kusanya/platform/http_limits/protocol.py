"""Uvicorn's HTTP protocol with the bounds that it lacks: header size, receipt time, connections.

Measured on uvicorn 0.54 with httptools: an idle socket, half a header or half a body stay open for
ever, and a megabyte of headers or of chunk extensions is accepted. Each request here has one timer
and a count of its bytes. Only what is complete in one piece, the usual case, costs no timer at all.
"""

import asyncio
import logging
from collections import deque
from http import HTTPStatus
from typing import Any, ClassVar, TypeVar

import httptools
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

from kusanya.platform.http_limits.forwarded import is_in, origin_of
from kusanya.platform.http_limits.places import ConnectionLimits, Places

_Protocol = TypeVar("_Protocol", bound="BoundedProtocol")


class BoundedProtocol(HttpToolsProtocol):
    """One connection under `limits`; `bounded` makes the class that uvicorn is given."""

    limits: ClassVar[ConnectionLimits] = ConnectionLimits()
    places: ClassVar["Places[BoundedProtocol]"] = Places(limits)
    log: ClassVar[logging.Logger] = logging.getLogger("kusanya.receiver")

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._timer: asyncio.TimerHandle | None = None
        self._unread: asyncio.TimerHandle | None = None
        self._running: RequestResponseCycle | None = None
        self._began = 0.0
        self._in_headers = True
        self._receiving = False
        self._bytes = 0
        self._refusal = HTTPStatus.BAD_REQUEST
        self._peer = ""
        self._origins: deque[str] = deque()
        """Who a trusted proxy says that the requests under way came from."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override] # as uvicorn's own
        """Arm the first request's timer; where all places are taken somebody gives way."""
        super().connection_made(transport)
        self._peer = self.client[0] if self.client else ""
        gone = self.places.enter(self, self._peer)
        if gone is not None:
            gone.evict()
        if gone is not self:
            self._arm()

    def evict(self) -> None:
        """Close, because there is no place left, without waiting for whom does not read."""
        is_kept = not self._bytes and getattr(self, "cycle", None) is not None
        if is_kept:
            # Between two requests a server may close at any time, and nothing was asked.
            self._disarm()
            self.transport.close()
        else:
            self._refuse(HTTPStatus.SERVICE_UNAVAILABLE)
        if self.transport.get_write_buffer_size():
            self.transport.abort()

    def connection_lost(self, exc: Exception | None) -> None:
        """Give the connection's place back."""
        self._disarm()
        self._read_again()
        if self._running is not None and not self._running.response_complete:
            # Uvicorn tells only the newest request; an answer to this one would be an error.
            self._running.disconnected = True
        self.places.leave(self)
        while self._origins:
            self.places.end(self._origins.popleft())
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Count and parse; afterwards a timer runs exactly while something is incomplete."""
        if self.transport.is_closing():
            return
        if not self._bytes and self._timer is None:
            self._began = self.loop.time()
        self._bytes += len(data)
        super().data_received(data)
        if self.transport.is_closing():
            self._disarm()
        elif self._receiving or not self._at_rest():
            if self._in_headers and self._bytes > self.limits.header_bytes:
                # The parser keeps an unfinished header to itself: only the bytes show it growing.
                self._refuse(self._too_large())
            elif self._bytes > self.limits.request_bytes:
                self._refuse(HTTPStatus.REQUEST_ENTITY_TOO_LARGE)
            elif self._timer is None:
                self._arm(since=self._began)
        else:
            self._bytes = 0
            self._disarm()

    def _at_rest(self) -> bool:
        # Bytes that begin no request (empty lines) have stopped uvicorn's keep-alive timer: without
        # one of ours they would hold the connection for ever.
        return self.timeout_keep_alive_task is not None or self._answering() is not None

    def _answering(self) -> RequestResponseCycle | None:
        # Uvicorn declares `cycle` as always there; it is None until the first request.
        cycle: RequestResponseCycle | None = getattr(self, "cycle", None)
        return None if cycle is None or cycle.response_complete else cycle

    def eof_received(self) -> bool:  # type: ignore[override] # uvicorn's own always closes
        """Answer a request that is whole, though its sender will say no more."""
        cycle = self._answering()
        if cycle is None or self._receiving:
            return False
        cycle.keep_alive = False
        return True

    def on_message_begin(self) -> None:
        """Begin a request."""
        self._receiving = self._in_headers = True
        super().on_message_begin()

    def on_header(self, name: bytes, value: bytes) -> None:
        """Bound the number of headers, and drop what follows the body."""
        if not self._in_headers:
            return  # A trailer is no header: whether it came in time would depend on the packets.
        if len(self.headers) >= self.limits.header_fields:
            raise self._refused(HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE)
        super().on_header(name, value)

    def on_headers_complete(self) -> None:
        """Bound the headers, and give the rest of the time to the body."""
        if self._bytes > self.limits.header_bytes:
            head = len(self.url) + sum(len(name) + len(value) + 4 for name, value in self.headers)
            if head > self.limits.header_bytes:
                raise self._refused(self._too_large())
        hosts = [name for name, _ in self.headers if name == b"host"]
        if len(hosts) != 1 and (hosts or self.parser.get_http_version() == "1.1"):
            raise self._refused(HTTPStatus.BAD_REQUEST)
        if len(self.pipeline) >= self.limits.pipelined:
            # Each answer lets uvicorn read on, and all that it reads would wait here.
            raise self._refused(HTTPStatus.BAD_REQUEST)
        self._in_headers = False
        if is_in(self._peer, self.limits.trusted_proxies):
            self._name_origin()
        super().on_headers_complete()

    def _name_origin(self) -> None:
        """Take the sender's address from the proxy, and bound what one sender has at once."""
        lines = [value for name, value in self.headers if name == b"x-forwarded-for"]
        origin = origin_of(self._peer, lines, self.limits.trusted_proxies)
        if not self.places.begin(origin):
            raise self._refused(HTTPStatus.SERVICE_UNAVAILABLE)
        self._origins.append(origin)
        self.scope["client"] = (origin, 0)

    def on_message_complete(self) -> None:
        """Stop the clock: what follows is our time, not the sender's."""
        self._receiving = False
        super().on_message_complete()
        if self._answering() is not None:
            self.places.answer(self)

    def pause_writing(self) -> None:
        """Give a sender that reads no answers the time of a request to do so."""
        super().pause_writing()
        self._read_again()
        self._unread = self.loop.call_later(self.limits.request_s, self.transport.abort)

    def resume_writing(self) -> None:
        """Take note that the answers are read."""
        if not self.transport.is_closing():
            self._read_again()
        super().resume_writing()

    def on_response_complete(self) -> None:
        """Go on with the next request, or see the sender off."""
        super().on_response_complete()
        if self._origins:
            self.places.end(self._origins.popleft())
        if self._receiving or self._answering() is None:
            self.places.wait(self)
        self._see_off()

    def send_400_response(self, msg: str) -> None:  # noqa: ARG002 - uvicorn's interface
        """Refuse what is not HTTP, or what a callback of the parser has refused."""
        self._refuse(self._refusal)

    def refusal(self, status: HTTPStatus) -> bytes:
        """Return the bytes that answer a request which never reached the application."""
        return (
            f"HTTP/1.1 {status:d} {status.phrase}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"
        ).encode()

    def timeout_keep_alive_handler(self) -> None:
        """End a kept connection."""
        super().timeout_keep_alive_handler()
        self._see_off()

    def _start_asgi_task(self, cycle: RequestResponseCycle, app: Any) -> None:
        self._running = cycle
        super()._start_asgi_task(cycle, app)

    def _read_again(self) -> None:
        if self._unread is not None:
            self._unread.cancel()
            self._unread = None

    def _see_off(self) -> None:
        # A closed connection waits for its answers to be read: not for ever.
        if self.transport.is_closing() and self._unread is None and self in self.connections:
            self._unread = self.loop.call_later(self.limits.request_s, self.transport.abort)

    def _refused(self, status: HTTPStatus) -> httptools.HttpParserError:
        # Out of a parser's callback this becomes a call of `send_400_response`.
        self._refusal = status
        return httptools.HttpParserError(status.phrase)

    def _too_large(self) -> HTTPStatus:
        if 2 * len(self.url) > self.limits.header_bytes:
            return HTTPStatus.REQUEST_URI_TOO_LONG
        return HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE

    def _arm(self, *, since: float | None = None) -> None:
        self._began = self.loop.time() if since is None else since
        self._timer = self.loop.call_at(self._began + self.limits.header_s, self._late)

    def _disarm(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _late(self) -> None:
        end = self._began + self.limits.request_s
        if not self._in_headers and self.loop.time() < end:
            self._timer = self.loop.call_at(end, self._late)
            return
        self._timer = None
        self._refuse(HTTPStatus.REQUEST_TIMEOUT)

    def _refuse(self, status: HTTPStatus) -> None:
        self._disarm()
        if not self.transport.is_closing():
            details = {"status": status.value, "why": status.phrase, "peer": self._peer}
            self.log.warning("connection cut", extra=details)
            cycle = self._answering()
            if cycle is None or not cycle.response_started:
                self.transport.write(self.refusal(status))
            self.transport.close()
            self._see_off()


def bounded(base: type[_Protocol], limits: ConnectionLimits) -> type[_Protocol]:
    """Return a protocol class like `base` under `limits`, with its own places."""
    return type(base.__name__, (base,), {"limits": limits, "places": Places(limits)})
