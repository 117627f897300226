"""The receiver as an ASGI application: read, classify, make durable, and only then answer.

Mounts in any ASGI program. A 2xx is sent after the journal has committed, also for a repeat and for
a body we cannot read; 400 for a delivery that is not authentic or of the wrong mode, after it was
recorded; 503 at once when it cannot be made durable. Never a redirect. Source: Delivery rules 1
and 4.
"""

import asyncio
import re
import time
from collections.abc import Callable
from functools import partial
from typing import Final

from kusanya.clock import Clock, SystemClock
from kusanya.domain.assumptions import SIGNATURE_HEADER
from kusanya.receiver.admission import Limits, Refusal, admit_size
from kusanya.receiver.background_resolution import IntentResolver
from kusanya.receiver.classification import answer_text
from kusanya.receiver.endpoints import AnySecrets, Endpoints
from kusanya.receiver.handler import DeliveryHandler, DeliveryJournal, Follower
from kusanya.receiver.metrics import Gauges
from kusanya.receiver.status_pages import PageAnswer, Pages, Receive, Scope, Send, send_page
from kusanya.store import Store
from kusanya.store.records import Arrival, DeliveryCommit
from kusanya.wire import Mode

_NO_LIMITS_GIVEN: Final = Limits()
LAST: Final = (b"connection", b"close")
"""Said with the last answer of a connection."""
_REQUEST_ID: Final = re.compile(rb"[A-Za-z0-9][A-Za-z0-9_.\-]{0,63}")


def app(
    store: DeliveryJournal,
    secrets: AnySecrets,
    *,
    mode: Mode | str | None = None,
    clock: Clock | None = None,
    signature_header: str = SIGNATURE_HEADER,
    limits: Limits = _NO_LIMITS_GIVEN,
    on_receipt: Callable[[Arrival, DeliveryCommit], None] | None = None,
    resolve_intents: bool = True,
    double_check: Follower | None = None,
    stopwatch: Callable[[], float] = time.perf_counter,
    metrics: bool = True,
    gauges: Gauges | None = None,
) -> "Receiver":
    """Return an ASGI application that receives deliveries into `store`.

    POST to any path is a delivery; GET /livez, /readyz and /metrics answer for themselves.
    `secrets` is one signing secret, several of one endpoint during a rotation, or an
    EndpointSecrets per endpoint, which carries its mode; for bare secrets `mode` must be given, it
    is never guessed. `on_receipt` is called on the event loop after the answer has left, and
    returns at once. `stopwatch` gives the real seconds in which our answers are measured: an event
    loop's own time may count whole milliseconds only. Without
    `metrics` there is no /metrics: it tells everybody who reaches the port how much arrives.
    `gauges`, such as `kusanya.alarms.gauges.StoreGauges`, stand there beside the receiver's own.
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
    return Receiver(handler, metrics=metrics, gauges=gauges)


class _Disconnected(Exception):  # noqa: N818 - control flow inside this module, never leaves it
    """The sender went away before its body was complete."""


class Receiver:
    """An ASGI 3 application that receives deliveries; `app` makes one."""

    def __init__(
        self, handler: DeliveryHandler, *, metrics: bool, gauges: Gauges | None = None
    ) -> None:
        self._handler = handler
        self._pages = Pages(
            handler.store.prove_writable,
            wait_s=handler.limits.health_s,
            exposition=partial(_exposition, handler, gauges) if metrics else None,
            gauges=gauges,
        )

    def start(self) -> None:
        """Start what works in the background; without this the first delivery does."""
        self._handler.start()

    def close(self) -> None:
        """End what works in the background, after its work under way; the store stays open."""
        self._handler.close()

    def use(self, endpoints: Endpoints) -> None:
        """Verify by these endpoints from the next delivery on; called on the event loop."""
        self._handler.use(endpoints)

    def drain(self) -> None:
        """Be not ready from now on, and ask senders to end their connections; answer all the same.

        Called before the end, so that a load balancer sends to another receiver.
        """
        self._pages.is_draining = True

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
            handler.refused(refusal, partial(sender_of, scope))
            await send_page(send, PageAnswer(refusal.status, refusal.text), LAST, *refusal.headers)
            return
        arrival = durable.arrival
        last = (LAST,) if self._pages.is_draining else ()
        await send_page(send, PageAnswer(arrival.answer, answer_text(arrival).encode()), *last)
        handler.acknowledged(durable, partial(sender_of, scope))

    async def _page(self, scope: Scope, send: Send) -> None:
        path = scope["path"].removeprefix(scope.get("root_path", ""))
        page = await self._pages.answer(scope["method"], path)
        if page is not None:
            await send_page(send, page)
            return
        refusal = Refusal(405, "deliveries are POSTed", (b"allow", b"POST"))
        self._handler.refused(refusal, partial(sender_of, scope))
        await send_page(send, PageAnswer(refusal.status, refusal.text), *refusal.headers)

    async def _lifespan(self, receive: Receive, send: Send) -> None:
        # The store belongs to the program that opened it: it is neither opened nor closed here.
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


def sender_of(scope: Scope) -> dict[str, str]:
    """Return who sent a request, for the log: the peer and the proxy's name for the request."""
    found = {"peer": str(scope["client"][0])} if scope.get("client") else {}
    for name, value in scope["headers"]:
        # Anybody may send it: nothing but what looks like an id is repeated.
        if name == b"x-request-id" and _REQUEST_ID.fullmatch(value) is not None:
            found["request_id"] = value.decode("ascii")
    return found


def _exposition(handler: DeliveryHandler, gauges: Gauges | None) -> tuple[bytes, bytes] | None:
    return handler.metrics.exposition(
        queue_depth=lambda: handler.store.queue_depth, now=handler.clock.now(), gauges=gauges
    )
