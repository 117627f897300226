"""The receiver as an ASGI application: read, judge, make durable, and only then answer.

Mounts in any ASGI program. A 2xx is sent after the journal has committed, also for a repeat and for
a body we cannot read; 400 for a delivery that is not authentic, after it was recorded; 503 at once
when it cannot be made durable. Never a redirect. Source: Delivery rules 1 and 4.
"""

import asyncio
import concurrent.futures
import time
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any, Final, Protocol

import msgspec

from kusanya.assumptions import SIGNATURE_HEADER
from kusanya.clock import Clock, SystemClock
from kusanya.errors import StoreError
from kusanya.limits import EVENT_BODY_MAX_BYTES
from kusanya.receiver.acks import Acks
from kusanya.receiver.endpoints import AnySecrets, Endpoints
from kusanya.receiver.ingest import judge
from kusanya.receiver.meter import Meter
from kusanya.store.records import Arrival, Receipt
from kusanya.wire import Mode

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]


class Receiver(Protocol):
    """An ASGI 3 application."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one connection."""
        ...


class Journal(Protocol):
    """What the receiver needs of a `Store`."""

    @property
    def queue_depth(self) -> int:
        """How many rows wait to be written."""
        ...

    def submit(self, item: Arrival, /) -> "concurrent.futures.Future[Receipt]":
        """Queue an arrival; the future resolves once it is durable. Raises StoreError."""
        ...

    def head(self) -> int:
        """Return the journal's last position."""
        ...


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    """What one delivery and all of them together may take."""

    body_bytes: int = EVENT_BODY_MAX_BYTES
    """Larger bodies are answered 413."""
    receipt_s: float = 8.0
    """For the whole of a delivery, its commit included; the sender waits 10 s."""
    in_flight: int = 512
    """Deliveries handled at once; further ones are answered 503."""
    health_s: float = 2.0
    """How long /healthz waits for the store."""


_NO_LIMITS_GIVEN: Final = Limits()


def app(
    store: Journal,
    secrets: AnySecrets,
    *,
    mode: Mode = Mode.TEST,
    clock: Clock | None = None,
    signature_header: str = SIGNATURE_HEADER,
    limits: Limits = _NO_LIMITS_GIVEN,
    on_receipt: Callable[[Arrival, Receipt], None] | None = None,
    stopwatch: Callable[[], float] = time.perf_counter,
    metrics: bool = True,
) -> Receiver:
    """Return an ASGI application that receives deliveries into `store`.

    POST to any path is a delivery; GET /healthz and /metrics answer for themselves. `secrets` is
    one signing secret, several of one endpoint during a rotation, or an EndpointSecrets per
    endpoint; bare secrets are those of one endpoint of `mode`. `on_receipt` is called on the event
    loop after the answer has left, and returns at once. `stopwatch` gives the real seconds in which
    our answers are measured: an event loop's own time may count whole milliseconds only. Without
    `metrics` there is no /metrics: it tells everybody who reaches the port how much arrives.
    Raises ConfigurationError for secrets that cannot be used.
    """
    endpoints = Endpoints.of(secrets, mode=mode, signature_header=signature_header)
    return _Receiver(
        store,
        endpoints,
        clock=clock or SystemClock(),
        limits=limits,
        on_receipt=on_receipt,
        stopwatch=stopwatch,
        metrics=metrics,
    )


class _Refusal(Exception):  # noqa: N818 - control flow inside this module, never leaves it
    """Answer `status` without keeping anything."""

    def __init__(self, status: int, text: str, *headers: tuple[bytes, bytes]) -> None:
        super().__init__(text)
        self.status = status
        self.text = text
        self.headers = headers


class _Gone(Exception):  # noqa: N818 - control flow inside this module, never leaves it
    """The sender went away before its body was complete."""


class _Receiver:
    def __init__(
        self,
        store: Journal,
        endpoints: Endpoints,
        *,
        clock: Clock,
        limits: Limits,
        on_receipt: Callable[[Arrival, Receipt], None] | None,
        stopwatch: Callable[[], float],
        metrics: bool,
    ) -> None:
        self._store = store
        self._endpoints = endpoints
        self._clock = clock
        self._limits = limits
        self._on_receipt = on_receipt
        self._stopwatch = stopwatch
        self._metrics = metrics
        names = (endpoint.name for endpoint in endpoints.every)
        self._meter = Meter(names, started_at=clock.now())
        self._acks: Acks[Receipt] | None = None
        self._health: asyncio.Future[int] | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            if scope["method"] == "POST":
                await self._delivery(scope, receive, send)
            else:
                await self._page(scope, send)
        elif scope["type"] == "lifespan":
            await _lifespan(receive, send)
        elif scope["type"] == "websocket":
            await receive()
            await send({"type": "websocket.close", "code": 1000})
        else:
            raise ValueError(f"the receiver speaks HTTP, not {scope['type']}")

    async def _delivery(self, scope: Scope, receive: Receive, send: Send) -> None:
        meter, loop = self._meter, asyncio.get_running_loop()
        began = self._stopwatch()
        meter.in_flight += 1
        try:
            arrival, receipt = await self._kept(scope, receive, loop, began)
        except _Gone:
            meter.discarded += 1
            return
        except _Refusal as refusal:
            meter.refused[refusal.status] += 1
            closing = ((b"connection", b"close"), *refusal.headers)
            await _answer(send, refusal.status, refusal.text.encode(), *closing)
            return
        finally:
            meter.in_flight -= 1
        await _answer(send, arrival.answer, (arrival.reason or "").encode())
        meter.acknowledged(arrival, receipt.verdict, self._stopwatch() - began)
        if self._on_receipt is not None:
            self._on_receipt(arrival, receipt)

    async def _kept(
        self, scope: Scope, receive: Receive, loop: asyncio.AbstractEventLoop, began: float
    ) -> tuple[Arrival, Receipt]:
        """Return a delivery once it is durable; raises _Refusal or _Gone."""
        arrived_at = self._clock.now()
        if self._meter.in_flight > self._limits.in_flight:
            raise _Refusal(503, "too many deliveries at once")
        headers = tuple(map(tuple, scope["headers"]))
        arrival: Arrival | None = None
        try:
            async with asyncio.timeout(self._limits.receipt_s):
                body = await _body(headers, receive, self._limits.body_bytes)
                arrival = judge(
                    body,
                    headers,
                    arrived_at=arrived_at,
                    endpoints=self._endpoints,
                    path=scope["path"],
                    took_us=int((self._stopwatch() - began) * 1_000_000),
                )
                return arrival, await self._durable(arrival, loop)
        except TimeoutError:
            # Late before the body was complete is the sender's matter, after that ours.
            status = 408 if arrival is None else 503
            raise _Refusal(status, "not received and made durable in time") from None

    async def _durable(self, arrival: Arrival, loop: asyncio.AbstractEventLoop) -> Receipt:
        acks = self._acks
        if acks is None or acks.loop is not loop:
            acks = self._acks = Acks(loop)
        try:
            return await acks.wait(self._store.submit(arrival))
        except StoreError:
            # Busy, unavailable or damaged: it is not durable, so the sender must try again.
            raise _Refusal(503, "cannot be made durable now") from None

    async def _page(self, scope: Scope, send: Send) -> None:
        path = scope["path"].removeprefix(scope.get("root_path", ""))
        if scope["method"] in {"GET", "HEAD"} and path == "/healthz":
            status, text = await self._healthy()
            await _answer(send, status, text)
        elif self._metrics and scope["method"] in {"GET", "HEAD"} and path == "/metrics":
            found = self._meter.exposition(
                queue_depth=lambda: self._store.queue_depth, now=self._clock.now()
            )
            if found is None:
                await _answer(send, 404, b"install prometheus-client for metrics")
            else:
                await _answer(send, 200, found[0], content_type=found[1])
        else:
            self._meter.refused[405] += 1
            await _answer(send, 405, b"deliveries are POSTed", (b"allow", b"POST"))

    async def _healthy(self) -> tuple[int, bytes]:
        # One question at a time: a store that hangs must not collect a thread per probe.
        loop = asyncio.get_running_loop()
        if self._health is None or self._health.done() or self._health.get_loop() is not loop:
            self._health = loop.run_in_executor(None, self._store.head)
        try:
            await asyncio.wait_for(asyncio.shield(self._health), self._limits.health_s)
        except TimeoutError:
            return 503, b"the store does not answer"
        except StoreError:
            return 503, b"the store cannot be read"
        return 200, b"ok"


async def _body(headers: tuple[tuple[bytes, bytes], ...], receive: Receive, limit: int) -> bytes:
    for name, value in headers:
        if name == b"content-length" and value.isdigit() and int(value[:20]) > limit:
            raise _Refusal(413, "the body is too large to be an event")
        if name == b"content-encoding" and value.strip().lower() not in {b"", b"identity"}:
            # Inflating comes after verifying, and a genuine delivery is signed as it is sent.
            raise _Refusal(415, "a delivery is not compressed", (b"accept-encoding", b"identity"))
    message = await receive()
    if message["type"] == "http.request" and not message.get("more_body", False):
        body: bytes = message.get("body", b"")
        if len(body) > limit:
            raise _Refusal(413, "the body is too large to be an event")
        return body
    parts, size = [], 0
    while message["type"] == "http.request":
        part = message.get("body", b"")
        size += len(part)
        if size > limit:
            raise _Refusal(413, "the body is too large to be an event")
        parts.append(part)
        if not message.get("more_body", False):
            return b"".join(parts)
        message = await receive()
    raise _Gone


async def _answer(
    send: Send,
    status: int,
    body: bytes,
    *headers: tuple[bytes, bytes],
    content_type: bytes = b"text/plain; charset=utf-8",
) -> None:
    # New lists each time: middleware may change what it is handed.
    every = [(b"content-type", content_type), (b"content-length", b"%d" % len(body)), *headers]
    await send({"type": "http.response.start", "status": status, "headers": every})
    await send({"type": "http.response.body", "body": body})


async def _lifespan(receive: Receive, send: Send) -> None:
    # The store belongs to whoever opened it: nothing is opened or closed here.
    while True:
        message = await receive()
        await send({"type": f"{message['type']}.complete"})
        if message["type"] == "lifespan.shutdown":
            return
