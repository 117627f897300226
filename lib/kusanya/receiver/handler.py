"""One delivery from its request to its durable commit.

Knows no protocol: the ASGI application hands over headers and a way to read the body, and answers
what comes back. A 2xx is answered after the journal has committed, never before. Source: Delivery
rules 1 and 4.
"""

import asyncio
import inspect
import logging
import time
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import Future
from datetime import timedelta
from typing import Final, Protocol

import msgspec

from kusanya.clock import Clock
from kusanya.errors import StoreError
from kusanya.receiver.admission import (
    Limits,
    Refusal,
    Sender,
    admit_headers,
    log_refusal,
    not_durable,
    not_in_time,
)
from kusanya.receiver.classification import Headers, classify
from kusanya.receiver.deadlines import Deadlines
from kusanya.receiver.endpoints import Endpoints
from kusanya.receiver.metrics import ReceiverMetrics
from kusanya.receiver.pending import PendingCommits
from kusanya.store import check_store
from kusanya.store.records import Arrival, DeliveryCommit, Verdict
from kusanya.telemetry.tracing import SpanName, is_on, record_span

_log: Final = logging.getLogger("kusanya.receiver")
_log_accepted: Final = logging.getLogger("kusanya.receiver.accepted")
"""One line for each delivery that was taken: on a logger of its own, because a busy receiver has
thousands a second, and each costs half of what receiving it does."""


class DeliveryJournal(Protocol):
    """What the receiver needs of a `Store`."""

    @property
    def queue_depth(self) -> int:
        """How many rows wait to be written."""
        ...

    def submit(self, item: Arrival, /) -> "Future[DeliveryCommit]":
        """Queue an arrival; the future resolves once it is durable. Raises StoreError."""
        ...

    def prove_writable(self) -> None:
        """Return once it is known that an arrival could be made durable now. Raises StoreError."""
        ...


class Follower(Protocol):
    """What works on deliveries in the background, after they were acknowledged."""

    def offer(self, arrival: Arrival, commit: DeliveryCommit, /) -> None:
        """Take note of an acknowledged delivery; returns at once and never raises."""
        ...

    def start(self) -> None:
        """Begin; called before the first delivery and after a `close`, and returns at once."""
        ...

    def close(self) -> None:
        """Finish what is under way; a later delivery may start it again."""
        ...


class DurableDelivery(msgspec.Struct, frozen=True):
    """A delivery that was committed and may be answered."""

    arrival: Arrival
    commit: DeliveryCommit
    began: float
    """The stopwatch's reading when its request began."""


class DeliveryHandler:
    """Makes deliveries durable, on one event loop at a time."""

    def __init__(
        self,
        store: DeliveryJournal,
        endpoints: Endpoints,
        *,
        clock: Clock,
        limits: Limits,
        on_receipt: Callable[[Arrival, DeliveryCommit], None] | None = None,
        followers: Sequence[Follower] = (),
        stopwatch: Callable[[], float] = time.perf_counter,
    ) -> None:
        check_store(store)
        if on_receipt is not None and _is_async(on_receipt):
            raise TypeError(
                "on_receipt is a plain function: it is called on the event loop and nobody would "
                "await what an async one returns"
            )
        self.store: Final = store
        self.clock: Final = clock
        self.limits: Final = limits
        self.metrics: Final = ReceiverMetrics(
            (endpoint.name for endpoint in endpoints.every), started_at=clock.now()
        )
        self._stopwatch = stopwatch
        self._endpoints = endpoints
        self._on_receipt = on_receipt
        self._followers = tuple(followers)
        self._started = False
        self._waiting: tuple[PendingCommits, Deadlines] | None = None

    def start(self) -> None:
        """Start what works in the background; the first delivery does so where nobody else did.

        A mounted application often gets no start and no end.
        """
        self._started = True
        for follower in self._followers:
            follower.start()

    def close(self) -> None:
        """End what works in the background, after its work under way; the store stays open."""
        self._started = False
        for follower in self._followers:
            follower.close()

    def use(self, endpoints: Endpoints) -> None:
        """Verify by these endpoints from the next delivery on; called on the event loop."""
        self._endpoints = endpoints
        for endpoint in endpoints.every:
            self.metrics.last_authentic_at.setdefault(endpoint.name, self.clock.now())

    async def handle(
        self, headers: Headers, path: str, read_body: Callable[[], Awaitable[bytes]]
    ) -> DurableDelivery:
        """Read a delivery, classify it and return it once it is durable.

        Call `acknowledged` once its answer is sent. Raises Refusal for one that is not kept,
        and what `read_body` raises.
        """
        began, arrived_at = self._stopwatch(), self.clock.now()
        pending, deadlines = self._of_this_loop()
        arrival: Arrival | None = None
        self.metrics.in_flight += 1
        try:
            if self.metrics.in_flight > self.limits.in_flight:
                raise Refusal(503, "too many deliveries at once")
            admit_headers(headers, self.limits)
            with deadlines.begin():
                body = await read_body()
                if not self._started:
                    self.start()
                arrival = classify(
                    body,
                    headers,
                    arrived_at=arrived_at,
                    endpoints=self._endpoints,
                    path=path,
                    took_us=int((self._stopwatch() - began) * 1_000_000),
                )
                commit = await pending.wait_for(self.store.submit(arrival))
        except StoreError:
            # Busy, unavailable or damaged: it is not durable, so the sender must try again.
            raise not_durable() from None
        except TimeoutError:
            # Late before the body was complete is the sender's matter, after that ours.
            late = Refusal(408, "not received in time") if arrival is None else not_in_time()
            raise late from None
        finally:
            self.metrics.in_flight -= 1
        return DurableDelivery(arrival, commit, began)

    def acknowledged(self, durable: DurableDelivery, sender: Sender = dict) -> None:
        """Count a delivery whose answer has left, log it and notify who wants to know of it."""
        arrival, commit = durable.arrival, durable.commit
        seconds = self._stopwatch() - durable.began
        self.metrics.acknowledged(arrival, commit.verdict, seconds)
        log_delivery(arrival, commit, sender)
        for follower in self._followers:
            follower.offer(arrival, commit)
        if self._on_receipt is not None:
            self._on_receipt(arrival, commit)

    def refused(self, refusal: Refusal, sender: Sender = dict) -> None:
        """Count and log a request that was answered without being kept."""
        self.metrics.refused[refusal.status] += 1
        log_refusal(refusal, sender)

    def _of_this_loop(self) -> tuple[PendingCommits, Deadlines]:
        loop = asyncio.get_running_loop()
        if self._waiting is None or self._waiting[0].loop is not loop:
            self._waiting = PendingCommits(loop), Deadlines(loop, self.limits.receipt_s)
        return self._waiting


def _is_async(function: Callable[..., object]) -> bool:
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(
        getattr(function, "__call__", None)  # noqa: B004 - an object with an async __call__
    )


_NO_EFFECT: Final = {
    Verdict.REJECTED: "delivery refused",
    Verdict.WRONG_MODE: "delivery of the wrong mode refused",
    Verdict.UNPARSEABLE: "delivery kept unread: its body is no event",
    Verdict.CONFLICT: "delivery kept without effect: its event is known with other contents",
}


def log_delivery(arrival: Arrival, commit: DeliveryCommit, sender: Sender = dict) -> None:
    """Log and trace a durable delivery: info where all is well, a warning where it had no effect.

    Never the body, a header or what a forged delivery claims to be.
    """
    if is_on():
        _trace(arrival, commit)
    warning = _NO_EFFECT.get(commit.verdict)
    if warning is None and not _log_accepted.isEnabledFor(logging.INFO):
        return
    details = {
        "endpoint": arrival.endpoint,
        "mode": arrival.observed_in.value,
        "verdict": commit.verdict.value,
        "status": arrival.answer,
        "delivery_id": commit.delivery_id or None,
        "reason": arrival.reason,
        "took_us": arrival.took_us,
    }
    if commit.verdict is not Verdict.REJECTED:
        details["event_id"] = arrival.event_id
    details |= sender()
    if warning is None:
        _log_accepted.info("delivery received", extra=details)
    else:
        _log.warning(warning, extra=details)


def _trace(arrival: Arrival, commit: DeliveryCommit) -> None:
    # What a forged delivery claims is in no trace of a payment.
    is_authentic = commit.verdict is not Verdict.REJECTED
    took = timedelta(microseconds=arrival.took_us)
    record_span(
        SpanName.DELIVERY,
        mode=arrival.observed_in.value,
        reference=arrival.reference if is_authentic else None,
        ended_at=arrival.arrived_at + took,
        took_s=took.total_seconds(),
        attributes={
            "delivery_id": commit.delivery_id or None,
            "event_id": arrival.event_id if is_authentic else None,
            "collection_id": arrival.collection_id if is_authentic else None,
            "endpoint": arrival.endpoint,
            "verdict": commit.verdict.value,
            "http_status": arrival.answer,
        },
    )
