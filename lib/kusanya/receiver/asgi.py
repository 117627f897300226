"""The receiver as an ASGI application: read, classify, make durable, and only then answer.

Mounts in any ASGI program. A 2xx is sent after the journal has committed, also for a repeat and for
a body we cannot read; 400 for a delivery that is not authentic or of the wrong mode, after it was
recorded; 503 at once when it cannot be made durable. Never a redirect. Source: Delivery rules 1
and 4.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable, MutableMapping
from functools import partial
from typing import Any, Final

from kusanya.assumptions import SIGNATURE_HEADER
from kusanya.clock import Clock, SystemClock
from kusanya.errors import StoreError
from kusanya.receiver.admission import Limits, Refusal, admit_size
from kusanya.receiver.background_resolution import IntentResolver
from kusanya.receiver.classification import answer_text
from kusanya.receiver.endpoints import AnySecrets, Endpoints
from kusanya.receiver.handler import DeliveryHandler, Follower, Journal
from kusanya.store import Store
from kusanya.store.records import Arrival, Receipt
from kusanya.wire import Mode

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Application = Callable[[Scope, Receive, Send], Awaitable[None]]
"""An ASGI 3 application."""


_NO_LIMITS_GIVEN: Final = Limits()


def app(
    store: Journal,
    secrets: AnySecrets,
    *,
    mode: Mode | str | None = None,
    clock: Clock | None = None,
    signature_header: str = SIGNATURE_HEADER,
    limits: Limits = _NO_LIMITS_GIVEN,
    on_receipt: Callable[[Arrival, Receipt], None] | None = None,
    resolve_intents: bool = True,
    double_check: Follower | None = None,
    stopwatch: Callable[[], float] = time.perf_counter,
    metrics: bool = True,
) -> "Receiver":
    """Return an ASGI application that receives deliveries into `store`.

    POST to any path is a delivery; GET /healthz and /metrics answer for themselves. `secrets` is
    one signing secret, several of one endpoint during a rotation, or an EndpointSecrets per
    endpoint, which carries its mode; for bare secrets `mode` must be given, it is never guessed.
    `on_receipt` is called on the event
    loop after the answer has left, and returns at once. `stopwatch` gives the real seconds in which
    our answers are measured: an event loop's own time may count whole milliseconds only. Without
    `metrics` there is no /metrics: it tells everybody who reaches the port how much arrives.
    Events resolve the intents whose answer was lost, on a thread of their own after the answer,
    unless `resolve_intents` is False. `double_check` is a `double_check.DoubleCheck` over a client:
    it asks the service about what was acknowledged. Both start with the first delivery, need no
    lifespan events, and end with the application's shutdown or with the process.
    Raises ConfigurationError for secrets that cannot be used, TypeError for a store that is none
    and for an async `on_receipt`.
    """
    endpoints = Endpoints.of(secrets, mode=mode, signature_header=signature_header)
    clock = clock or SystemClock()
    followers: list[Follower] = []
    if resolve_intents and isinstance(store, Store):
        followers.append(IntentResolver(store, clock=clock))
    if double_check is not None:
        followers.append(double_check)
    handler = DeliveryHandler(
        store,
        endpoints,
        clock=clock,
        limits=limits,
        on_receipt=on_receipt,
        followers=followers,
        stopwatch=stopwatch,
    )
    return Receiver(handler, metrics=metrics)


class _Disconnected(Exception):  # noqa: N818 - control flow inside this module, never leaves it
    """The sender went away before its body was complete."""


class Receiver:
    """An ASGI 3 application that receives deliveries; `app` makes one."""

    def __init__(self, handler: DeliveryHandler, *, metrics: bool) -> None:
        self._handler = handler
        self._metrics = metrics
        self._health: asyncio.Future[None] | None = None

    def start(self) -> None:
        """Start what works in the background; without this the first delivery does."""
        self._handler.start()

    def close(self) -> None:
        """End what works in the background, after its work under way; the store stays open."""
        self._handler.close()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one connection."""
        if scope["type"] == "http":
            if scope["method"] == "POST":
                await self._delivery(scope, receive, send)
            else:
                await self._page(scope, send)
        elif scope["type"] == "lifespan":
            await self._lifespan(receive, send)
        elif scope["type"] == "websocket":
            await receive()
            await send({"type": "websocket.close", "code": 1000})
        else:
            raise ValueError(f"the receiver speaks HTTP, not {scope['type']}")

    async def _delivery(self, scope: Scope, receive: Receive, send: Send) -> None:
        handler = self._handler
        read_body = partial(_read_body, receive, handler.limits)
        try:
            durable = await handler.handle(tuple(scope["headers"]), scope["path"], read_body)
        except _Disconnected:
            handler.metrics.discarded += 1
            return
        except Refusal as refusal:
            handler.refused(refusal)
            closing = ((b"connection", b"close"), *refusal.headers)
            await _answer(send, refusal.status, refusal.text, *closing)
            return
        arrival = durable.arrival
        await _answer(send, arrival.answer, answer_text(arrival).encode())
        handler.acknowledged(durable)

    async def _page(self, scope: Scope, send: Send) -> None:
        handler = self._handler
        path = scope["path"].removeprefix(scope.get("root_path", ""))
        if scope["method"] in {"GET", "HEAD"} and path == "/healthz":
            status, text = await self._healthy()
            await _answer(send, status, text)
        elif self._metrics and scope["method"] in {"GET", "HEAD"} and path == "/metrics":
            found = handler.metrics.exposition(
                queue_depth=lambda: handler.store.queue_depth, now=handler.clock.now()
            )
            if found is None:
                await _answer(send, 404, b"install prometheus-client for metrics")
            else:
                await _answer(send, 200, found[0], content_type=found[1])
        else:
            refusal = Refusal(405, "deliveries are POSTed", (b"allow", b"POST"))
            handler.refused(refusal)
            await _answer(send, refusal.status, refusal.text, *refusal.headers)

    async def _healthy(self) -> tuple[int, bytes]:
        # One question at a time: a store that hangs must not collect a thread per probe.
        handler, loop = self._handler, asyncio.get_running_loop()
        if self._health is None or self._health.done() or self._health.get_loop() is not loop:
            self._health = loop.run_in_executor(None, handler.store.prove_writable)
        try:
            await asyncio.wait_for(asyncio.shield(self._health), handler.limits.health_s)
        except TimeoutError:
            return 503, b"the store does not answer"
        except StoreError:
            return 503, b"the store cannot be read or written"
        return 200, b"ok"

    async def _lifespan(self, receive: Receive, send: Send) -> None:
        # The store belongs to whoever opened it: it is neither opened nor closed here.
        while True:
            message = await receive()
            if message["type"] == "lifespan.startup":
                self.start()
            else:
                # It waits for work under way: not on the event loop.
                await asyncio.to_thread(self.close)
            await send({"type": f"{message['type']}.complete"})
            if message["type"] == "lifespan.shutdown":
                return


async def _read_body(receive: Receive, limits: Limits) -> bytes:
    parts: list[bytes] = []
    size = 0
    while True:
        message = await receive()
        if message["type"] != "http.request":
            raise _Disconnected
        part = message.get("body", b"")
        size += len(part)
        admit_size(size, limits)
        parts.append(part)
        if not message.get("more_body", False):
            return b"".join(parts)


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
