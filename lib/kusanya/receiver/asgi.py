"""The receiver as an ASGI application: read, judge, make durable, and only then answer.

Mounts in any ASGI program. A 2xx is sent after the journal has committed, also for a repeat and for
a body we cannot read; 400 for a delivery that is not authentic or of the wrong mode, after it was
recorded; 503 at once when it cannot be made durable. Never a redirect. Source: Delivery rules 1
and 4.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable, MutableMapping
from functools import partial
from typing import Any, Final, Protocol

from kusanya.assumptions import SIGNATURE_HEADER
from kusanya.clock import Clock, SystemClock
from kusanya.errors import StoreError
from kusanya.receiver.acks import Pending, Refusal
from kusanya.receiver.background_resolution import IntentResolver
from kusanya.receiver.endpoints import AnySecrets, Endpoints
from kusanya.receiver.intake import Follower, Intake, Journal, Limits
from kusanya.store import Store
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
) -> Receiver:
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
    intake = Intake(
        store,
        endpoints,
        clock=clock,
        limits=limits,
        on_receipt=on_receipt,
        followers=followers,
        stopwatch=stopwatch,
    )
    return _Receiver(intake, metrics=metrics)


def intake_of(application: Receiver) -> Intake | None:
    """Return the intake of an application that `app` made, or None for any other.

    For a server that speaks HTTP itself: it may hand over whole deliveries without a task each.
    """
    return application.intake if isinstance(application, _Receiver) else None


class _Gone(Exception):  # noqa: N818 - control flow inside this module, never leaves it
    """The sender went away before its body was complete."""


class _Receiver:
    def __init__(self, intake: Intake, *, metrics: bool) -> None:
        self.intake: Final = intake
        self._metrics = metrics
        self._health: asyncio.Future[None] | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            if scope["method"] == "POST":
                await self._delivery(scope, receive, send)
            else:
                await self._page(scope, send)
        elif scope["type"] == "lifespan":
            await _lifespan(receive, send, self.intake)
        elif scope["type"] == "websocket":
            await receive()
            await send({"type": "websocket.close", "code": 1000})
        else:
            raise ValueError(f"the receiver speaks HTTP, not {scope['type']}")

    async def _delivery(self, scope: Scope, receive: Receive, send: Send) -> None:
        intake, meter = self.intake, self.intake.meter
        try:
            durable = await self._durable(scope, receive)
        except _Gone:
            meter.discarded += 1
            return
        except Refusal as refusal:
            intake.refused(refusal)
            closing = ((b"connection", b"close"), *refusal.headers)
            await _answer(send, refusal.status, refusal.text, *closing)
            return
        await _answer(send, durable.status, durable.text)
        intake.left(durable)

    async def _durable(self, scope: Scope, receive: Receive) -> Pending:
        """Return a delivery once it is durable; raises Refusal or _Gone."""
        intake, loop = self.intake, asyncio.get_running_loop()
        began, arrived_at = intake.stopwatch(), intake.clock.now()
        deadline = loop.time() + intake.limits.receipt_s
        headers = tuple(map(tuple, scope["headers"]))
        intake.meter.in_flight += 1
        try:
            intake.admit(headers)
            async with asyncio.timeout_at(deadline):
                body = await _body(receive, intake)
        except TimeoutError:
            # Late before the body was complete is the sender's matter, after that ours.
            intake.meter.in_flight -= 1
            raise Refusal(408, "not received in time") from None
        except BaseException:
            intake.meter.in_flight -= 1
            raise
        answered: asyncio.Future[Pending] = loop.create_future()
        intake.take(
            body,
            headers,
            path=scope["path"],
            arrived_at=arrived_at,
            began=began,
            deadline=deadline,
            reply=partial(_settle, answered),
            loop=loop,
        )
        return await answered

    async def _page(self, scope: Scope, send: Send) -> None:
        intake = self.intake
        path = scope["path"].removeprefix(scope.get("root_path", ""))
        if scope["method"] in {"GET", "HEAD"} and path == "/healthz":
            status, text = await self._healthy()
            await _answer(send, status, text)
        elif self._metrics and scope["method"] in {"GET", "HEAD"} and path == "/metrics":
            found = intake.meter.exposition(
                queue_depth=lambda: intake.store.queue_depth, now=intake.clock.now()
            )
            if found is None:
                await _answer(send, 404, b"install prometheus-client for metrics")
            else:
                await _answer(send, 200, found[0], content_type=found[1])
        else:
            refusal = Refusal(405, "deliveries are POSTed", (b"allow", b"POST"))
            intake.refused(refusal)
            await _answer(send, refusal.status, refusal.text, *refusal.headers)

    async def _healthy(self) -> tuple[int, bytes]:
        # One question at a time: a store that hangs must not collect a thread per probe.
        loop = asyncio.get_running_loop()
        if self._health is None or self._health.done() or self._health.get_loop() is not loop:
            self._health = loop.run_in_executor(None, self.intake.store.prove_writable)
        try:
            await asyncio.wait_for(asyncio.shield(self._health), self.intake.limits.health_s)
        except TimeoutError:
            return 503, b"the store does not answer"
        except StoreError:
            return 503, b"the store cannot be read or written"
        return 200, b"ok"


def _settle(answered: "asyncio.Future[Pending]", outcome: Pending | Refusal) -> None:
    if answered.done():
        return  # the task was cancelled: nobody is there to be answered
    if isinstance(outcome, Refusal):
        answered.set_exception(outcome)
    else:
        answered.set_result(outcome)


async def _body(receive: Receive, intake: Intake) -> bytes:
    message = await receive()
    if message["type"] == "http.request" and not message.get("more_body", False):
        body: bytes = message.get("body", b"")
        intake.admit_size(len(body))
        return body
    parts, size = [], 0
    while message["type"] == "http.request":
        part = message.get("body", b"")
        size += len(part)
        intake.admit_size(size)
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


async def _lifespan(receive: Receive, send: Send, intake: Intake) -> None:
    # The store belongs to whoever opened it: it is neither opened nor closed here.
    while True:
        message = await receive()
        if message["type"] == "lifespan.startup":
            intake.start()
        else:
            # It waits for a look under way: not on the event loop.
            await asyncio.to_thread(intake.close)
        await send({"type": f"{message['type']}.complete"})
        if message["type"] == "lifespan.shutdown":
            return
