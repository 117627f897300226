"""One delivery from its bytes to its durable answer, whatever carried it here.

Knows no protocol: the ASGI application and the server's own connections hand over the whole
request and are told what to answer. A 2xx is answered after the journal has committed, never
before. Source: Delivery rules 1 and 4.
"""

import asyncio
import inspect
import logging
import time
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Final, Protocol

import msgspec

from kusanya.clock import Clock
from kusanya.errors import StoreError
from kusanya.limits import EVENT_BODY_MAX_BYTES
from kusanya.receiver.acks import Acks, Pending, Refusal, Reply
from kusanya.receiver.endpoints import Endpoints
from kusanya.receiver.ingest import Headers, judge
from kusanya.receiver.meter import Meter
from kusanya.store.records import Arrival, Receipt, Verdict
from kusanya.store.writer.journal import Promise

_log: Final = logging.getLogger("kusanya.receiver")
_log_accepted: Final = logging.getLogger("kusanya.receiver.accepted")
"""One line for each delivery that was taken: on a logger of its own, because a busy receiver has
thousands a second, and each costs half of what receiving it does."""


class Journal(Protocol):
    """What the receiver needs of a `Store`."""

    @property
    def queue_depth(self) -> int:
        """How many rows wait to be written."""
        ...

    def post(self, item: Arrival, promise: Promise[Receipt], /) -> None:
        """Queue an arrival; the promise is kept once it is durable. Raises StoreError."""
        ...

    def prove_writable(self) -> None:
        """Return once it is known that an arrival could be made durable now. Raises StoreError."""
        ...


class Follower(Protocol):
    """What works on deliveries in the background, after they were acknowledged."""

    def offer(self, arrival: Arrival, receipt: Receipt, /) -> None:
        """Take note of an acknowledged delivery; returns at once and never raises."""
        ...

    def start(self) -> None:
        """Begin; called before the first delivery and after a `close`, and returns at once."""
        ...

    def close(self) -> None:
        """Finish what is under way; a later delivery may start it again."""
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


class Intake:
    """Takes whole deliveries and says what to answer, on one event loop at a time."""

    def __init__(
        self,
        store: Journal,
        endpoints: Endpoints,
        *,
        clock: Clock,
        limits: Limits,
        on_receipt: Callable[[Arrival, Receipt], None] | None = None,
        followers: Sequence[Follower] = (),
        stopwatch: Callable[[], float] = time.perf_counter,
    ) -> None:
        check_store(store)
        if on_receipt is not None and is_async(on_receipt):
            raise TypeError(
                "on_receipt is a plain function: it is called on the event loop and nobody would "
                "await what an async one returns"
            )
        self.store: Final = store
        self.clock: Final = clock
        self.limits: Final = limits
        self.meter: Final = Meter(
            (endpoint.name for endpoint in endpoints.every), started_at=clock.now()
        )
        self.stopwatch: Final = stopwatch
        self._endpoints = endpoints
        self._on_receipt = on_receipt
        self._followers = tuple(followers)
        self._started = False
        self._acks: Acks | None = None

    def start(self) -> None:
        """Start what works in the background; the first delivery does so where nobody else did.

        A mounted application is often told of no start and no end.
        """
        self._started = True
        for follower in self._followers:
            follower.start()

    def close(self) -> None:
        """End what works in the background, after its work under way; the store stays open."""
        self._started = False
        for follower in self._followers:
            follower.close()

    def admit(self, headers: Headers) -> None:
        """Look at a delivery whose body is still to come. Raises Refusal."""
        if self.meter.in_flight > self.limits.in_flight:
            raise Refusal(503, "too many deliveries at once")
        admit_headers(headers, self.limits)

    def admit_size(self, size: int) -> None:
        """Raise Refusal for a body of more bytes than an event has."""
        admit_size(size, self.limits)

    def take(
        self,
        body: bytes,
        headers: Headers,
        *,
        path: str,
        arrived_at: datetime,
        began: float,
        deadline: float,
        reply: Reply,
        loop: asyncio.AbstractEventLoop,
    ) -> None:
        """Judge a delivery, hand it to the journal, and `reply` once it is durable or refused.

        `arrived_at` and `began`, a reading of the stopwatch, tell when the request began;
        `deadline` is the time of `loop` by which it is answered. The caller has counted it in
        `meter.in_flight`; it is counted off here. Whoever has sent the answer of a durable one
        calls `left`.
        """
        if not self._started:
            self.start()
        arrival = judge(
            body,
            headers,
            arrived_at=arrived_at,
            endpoints=self._endpoints,
            path=path,
            took_us=int((self.stopwatch() - began) * 1_000_000),
        )
        acks = self._acks
        if acks is None or acks.loop is not loop:
            acks = self._acks = Acks(loop, over=self._over)
        pending = Pending(acks, arrival, began=began, deadline=deadline, reply=reply)
        acks.expect(pending)
        try:
            self.store.post(arrival, pending)
        except StoreError as error:
            acks.forget(pending)
            pending.error = error
            self._over(pending)

    def _over(self, pending: Pending) -> None:
        self.meter.in_flight -= 1
        if pending.receipt is not None:
            pending.reply(pending)
        elif isinstance(pending.error, StoreError):
            # Busy, unavailable or damaged: it is not durable, so the sender must try again.
            pending.reply(not_durable())
        else:
            pending.reply(not_in_time())

    def left(self, durable: Pending) -> None:
        """Count a delivery whose answer has left, and tell who wants to know of it."""
        if durable.receipt is None:
            raise ValueError("only a durable delivery is acknowledged")
        seconds = self.stopwatch() - durable.began
        self.meter.acknowledged(durable.arrival, durable.receipt.verdict, seconds)
        log_receipt(durable.arrival, durable.receipt)
        for follower in self._followers:
            follower.offer(durable.arrival, durable.receipt)
        if self._on_receipt is not None:
            self._on_receipt(durable.arrival, durable.receipt)

    def refused(self, refusal: Refusal) -> None:
        """Count and log a request that was answered without being kept."""
        self.meter.refused[refusal.status] += 1
        log_refusal(refusal)


# Made anew each time: an error that is raised again and again keeps all its tracebacks.
def not_durable() -> Refusal:
    """Return the answer to a delivery that the store does not take."""
    return Refusal(503, "cannot be made durable now")


def not_in_time() -> Refusal:
    """Return the answer to a delivery that may yet become durable."""
    return Refusal(503, "not made durable in time")


def check_store(store: object) -> None:
    """Raise TypeError for what is no store, such as the path of one."""
    if not hasattr(store, "post"):
        raise TypeError(
            f"a receiver writes into an open Store, not a {type(store).__name__}: give "
            "kusanya.Store.open(...)"
        )


def admit_headers(headers: Headers, limits: Limits) -> None:
    """Raise Refusal for a delivery whose headers say that it is too large or compressed."""
    for name, value in headers:
        if name == b"content-length" and value.isdigit():
            admit_size(int(value[:20]), limits)
        elif name == b"content-encoding" and value.strip().lower() not in {b"", b"identity"}:
            # Inflating comes after verifying, and a genuine delivery is signed as it is sent.
            raise Refusal(415, "a delivery is not compressed", _UNCOMPRESSED)


def admit_size(size: int, limits: Limits) -> None:
    """Raise Refusal for a body of more bytes than an event has."""
    if size > limits.body_bytes:
        raise Refusal(413, "the body is too large to be an event")


def log_refusal(refusal: Refusal) -> None:
    """Log a request that was answered without being kept."""
    details = {"status": refusal.status, "why": refusal.text.decode()}
    _log.warning("request refused", extra=details)


def is_async(function: Callable[..., object]) -> bool:
    """Tell whether calling `function` gives something that must be awaited."""
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(
        getattr(function, "__call__", None)  # noqa: B004 - an object with an async __call__
    )


_UNUSABLE: Final = {
    Verdict.REJECTED: "delivery refused",
    Verdict.WRONG_MODE: "delivery of the wrong mode refused",
    Verdict.UNPARSEABLE: "delivery kept unread: its body is no event",
    Verdict.CONFLICT: "delivery kept without effect: its event is known with other contents",
}


def log_receipt(arrival: Arrival, receipt: Receipt) -> None:
    """Log a durable delivery: info where all is well, a warning where it had no effect.

    Never the body, a header or what a forged delivery claims to be.
    """
    said = _UNUSABLE.get(receipt.verdict)
    if said is None and not _log_accepted.isEnabledFor(logging.INFO):
        return
    details = {
        "endpoint": arrival.endpoint,
        "mode": arrival.heard_in.value,
        "verdict": receipt.verdict.value,
        "status": arrival.answer,
        "delivery_id": receipt.delivery_id or None,
        "reason": arrival.reason,
        "took_us": arrival.took_us,
    }
    if receipt.verdict is not Verdict.REJECTED:
        details["event_id"] = arrival.event_id
    if said is None:
        _log_accepted.info("delivery received", extra=details)
    else:
        _log.warning(said, extra=details)


_UNCOMPRESSED: Final = (b"accept-encoding", b"identity")
