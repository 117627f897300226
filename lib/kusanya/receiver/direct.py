"""Deliveries without a task: the server's connections hand whole requests to the intake.

Uvicorn makes a task, an event and four messages for each request. Of a delivery everything is known
once its last byte is there, so it goes to the intake at once and its answer is one write. Whatever
is not plainly a delivery (another method, an upgrade, a request sent before the last one was
answered) goes the usual way through the ASGI application.
"""

from collections.abc import Sequence
from datetime import datetime
from functools import lru_cache
from http import HTTPStatus
from typing import Any, ClassVar, Final
from urllib.parse import unquote

import httptools
from msgspec.structs import replace

from kusanya.receiver.acks import Pending, Refusal
from kusanya.receiver.ingest import Headers
from kusanya.receiver.intake import Intake
from kusanya.receiver.places import ConnectionLimits, Places
from kusanya.receiver.protocol import BoundedProtocol


class _Delivery:
    """A delivery on one connection; stands where uvicorn keeps the request it is answering."""

    __slots__ = (
        "arrived_at",
        "began",
        "deadline",
        "disconnected",
        "headers",
        "keep_alive",
        "message_event",
        "parts",
        "path",
        "response_complete",
        "response_started",
        "size",
        "whole",
    )

    def __init__(
        self,
        headers: Headers,
        path: str,
        *,
        began: float,
        arrived_at: datetime,
        deadline: float,
        keep_alive: bool,
    ) -> None:
        # Its own: what the connection holds may be the next request's already.
        self.headers: Final = tuple(headers)
        self.path: Final = path
        self.began: Final = began
        self.arrived_at: Final = arrived_at
        # Of the whole of it: a body that dripped leaves the journal less time.
        self.deadline: Final = deadline
        self.keep_alive = keep_alive
        self.whole = False
        self.disconnected = False
        self.response_started = self.response_complete = False
        self.message_event: Final = _NOBODY_WAITS
        self.parts: Final[list[bytes]] = []
        self.size = 0


class _NobodyWaits:
    def set(self) -> None:
        """Wake nobody: uvicorn's own requests have a task that waits for their body."""


_NOBODY_WAITS: Final = _NobodyWaits()


class DirectProtocol(BoundedProtocol):
    """One connection of a receiver; `direct` makes the class that uvicorn is given."""

    intake: ClassVar[Intake]

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._whole: _Delivery | None = None

    def data_received(self, data: bytes) -> None:
        """Parse, then hand over what has become whole."""
        super().data_received(data)
        # Not from within the parser: it would take an error of ours for one of the sender's.
        whole, self._whole = self._whole, None
        if whole is not None:
            self._take(whole)

    def eof_received(self) -> bool:  # type: ignore[override] # uvicorn's own always closes
        """Answer a delivery that is whole, though its sender will say no more."""
        begun = self._begun()
        if begun is None or not begun.whole:
            return False
        begun.keep_alive = False
        return True

    def connection_lost(self, exc: Exception | None) -> None:
        """Count a delivery whose body never became complete."""
        begun = self._begun()
        if begun is not None and not begun.whole:
            self.intake.meter.in_flight -= 1
            self.intake.meter.discarded += 1
        super().connection_lost(exc)

    def on_headers_complete(self) -> None:
        """Begin a delivery, or leave the request to the application."""
        parser, intake = self.parser, self.intake
        if (
            parser.get_method() != b"POST"
            or self.expect_100_continue
            or parser.should_upgrade()
            or self._answering() is not None
        ):
            super().on_headers_complete()
            return
        self._in_headers = False
        keep_alive = parser.get_http_version() != "1.0" and parser.should_keep_alive()
        delivery: Any = _Delivery(
            self.headers,
            path_of(self.url),
            began=intake.stopwatch(),
            arrived_at=intake.clock.now(),
            deadline=self.loop.time() + intake.limits.receipt_s,
            keep_alive=keep_alive,
        )
        self.cycle = delivery
        intake.meter.in_flight += 1
        try:
            intake.admit(delivery.headers)
        except Refusal as refusal:
            self._refuse(delivery, refusal)

    def on_body(self, body: bytes) -> None:
        """Gather the body, up to its bound."""
        begun = self._begun()
        if begun is None:
            super().on_body(body)
            return
        begun.size += len(body)
        begun.parts.append(body)
        try:
            self.intake.admit_size(begun.size)
        except Refusal as refusal:
            self._refuse(begun, refusal)

    def on_message_complete(self) -> None:
        """Note that a delivery is whole."""
        begun = self._begun()
        if begun is None:
            super().on_message_complete()
        else:
            self._receiving = False
            begun.whole = True
            self._whole = begun
            self.places.answer(self)

    def _begun(self) -> _Delivery | None:
        """Return the delivery that is being received, if it is one and not answered yet."""
        cycle: Any = getattr(self, "cycle", None)
        return cycle if type(cycle) is _Delivery and not cycle.response_complete else None

    def _refuse(self, delivery: _Delivery, refusal: Refusal) -> None:
        # The intake never had it, so it is counted off here.
        self.intake.meter.in_flight -= 1
        self._answer(delivery, refusal)

    def _take(self, delivery: _Delivery) -> None:
        def reply(outcome: Pending | Refusal) -> None:
            self._answer(delivery, outcome)

        parts = delivery.parts
        self.intake.take(
            parts[0] if len(parts) == 1 else b"".join(parts),
            delivery.headers,
            path=delivery.path,
            arrived_at=delivery.arrived_at,
            began=delivery.began,
            deadline=delivery.deadline,
            reply=reply,
            loop=self.loop,
        )

    def _answer(self, delivery: _Delivery, outcome: Pending | Refusal) -> None:
        delivery.response_started = delivery.response_complete = True
        closes = isinstance(outcome, Refusal) or not delivery.keep_alive
        if not self.transport.is_closing():
            defaults = self.server_state.default_headers
            self.transport.write(_answer_bytes(outcome, defaults, closes=closes))
            if closes:
                self.transport.close()
        self.on_response_complete()
        if isinstance(outcome, Refusal):
            self.intake.refused(outcome)
        else:
            self.intake.left(outcome)


@lru_cache(maxsize=64)
def path_of(url: bytes) -> str:
    """Return the path that a request line names. Raises httptools.HttpParserInvalidURLError."""
    return unquote(httptools.parse_url(url).path.decode("ascii"))


def _answer_bytes(
    outcome: Pending | Refusal, defaults: Sequence[tuple[bytes, bytes]], *, closes: bool
) -> bytes:
    text = outcome.text
    headers = [*defaults, *outcome.headers, (b"content-length", b"%d" % len(text))]
    if closes:
        headers.append((b"connection", b"close"))
    lines = b"".join([b"%b: %b\r\n" % header for header in headers])
    return b"%b%b\r\n%b" % (_STATUS_LINES[outcome.status], lines, text)


_STATUS_LINES: Final = {
    status.value: b"HTTP/1.1 %d %b\r\ncontent-type: text/plain; charset=utf-8\r\n"
    % (status, status.phrase.encode())
    for status in HTTPStatus
}


def direct(limits: ConnectionLimits, intake: Intake) -> type[DirectProtocol]:
    """Return a protocol class under `limits` whose deliveries go to `intake`."""
    # No body may take longer than the whole of its delivery.
    bounds = replace(limits, request_s=min(limits.request_s, intake.limits.receipt_s))
    own = {"limits": bounds, "places": Places(bounds), "intake": intake}
    return type("Direct", (DirectProtocol,), own)
