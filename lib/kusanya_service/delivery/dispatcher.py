"""Sending what is due: each endpoint has its own queue and its own bound.

A dead endpoint fills its own slots and nobody else's. One attempt of an event to an endpoint is in
flight at a time. Whatever is about to be sent is read from the storage first, so that nothing is
sent after success, giving up, holding or deletion. An attempt that a bug of ours ends goes back on
the schedule, and the other attempts go on. Source: Delivery rules.
"""

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Final, TypeVar

from kusanya_service.delivery.attempts import AttemptResult, record
from kusanya_service.delivery.http_sender import CONNECTIONS, Exchange, HttpSender, SignedRequest
from kusanya_service.errors import StorageError, code_places
from kusanya_service.simulation.clock import SECOND_MS, ServiceClock
from kusanya_service.simulation.event_queue import DueAttempt, EventQueue
from kusanya_service.simulation.faults import FaultKind, Faults, payload_change
from kusanya_service.simulation.rules import Rules
from kusanya_service.storage import changes, queries
from kusanya_service.storage.records import Endpoint, OpenDelivery, PendingDelivery
from kusanya_service.storage.store import Storage

_log = logging.getLogger("kusanya_service")
Result = TypeVar("Result")
_WHILE_FAILING: Final = 2
"""Attempts in flight to an endpoint whose last attempt failed."""
_BUSY_MS: Final = SECOND_MS
"""When to try a delivery again whose event is already in flight to the endpoint."""
_RETRY_AFTER_BUG_MS: Final = 60 * SECOND_MS
"""When to try an attempt again that a bug has ended: the first gap of the retry schedule."""
_STORAGE_WAIT_S: Final = 0.5
"""How long to wait before writing to a full or failing storage again."""


class _EndpointQueue:
    """One endpoint's queue."""

    def __init__(self) -> None:
        self.waiting: deque[DueAttempt] = deque()
        self.running = 0
        self.failing = False

    @property
    def has_room(self) -> bool:
        return self.running < (_WHILE_FAILING if self.failing else CONNECTIONS)


class Dispatcher:
    """Makes attempts: one queue an endpoint in running time, a batch an instant in virtual time."""

    def __init__(
        self,
        *,
        storage: Storage,
        clock: ServiceClock,
        queue: EventQueue,
        sender: HttpSender,
        rules: Rules,
        faults: Faults,
    ) -> None:
        self._storage = storage
        self._clock = clock
        self._queue = queue
        self._sender = sender
        self._rules = rules
        self._faults = faults
        self._delayed: set[tuple[int, int]] = set()
        self._held_back: dict[int, list[OpenDelivery]] = {}
        self._endpoints: dict[int, _EndpointQueue] = {}
        self._in_flight: set[tuple[int, int]] = set()
        self._tasks: set[asyncio.Task[None]] = set()
        self._closing = False

    def schedule(self, opened: Iterable[OpenDelivery]) -> None:
        """Put deliveries on the event queue."""
        for one in opened:
            self._queue.put(one.due_at, DueAttempt(one.seq, one.endpoint))

    # Time passes by itself

    def enqueue(self, attempt: DueAttempt) -> None:
        """Add a due attempt to its endpoint's queue."""
        own_queue = self._endpoints.setdefault(attempt.endpoint, _EndpointQueue())
        own_queue.waiting.append(attempt)
        self._start_attempts(own_queue)

    def _start_attempts(self, own_queue: _EndpointQueue) -> None:
        while own_queue.waiting and own_queue.has_room and not self._closing:
            own_queue.running += 1
            task = asyncio.create_task(self._run(own_queue, own_queue.waiting.popleft()))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def _run(self, own_queue: _EndpointQueue, attempt: DueAttempt) -> None:
        try:
            await self._attempt_safely(own_queue, attempt)
        finally:
            own_queue.running -= 1
            self._start_attempts(own_queue)

    @contextmanager
    def _rescheduling(self, *attempts: DueAttempt) -> Iterator[None]:
        """Put attempts that a bug ends back on the schedule: they are open and nobody else's.

        An endpoint cannot bring this about: whatever it does is an outcome (http_sender.py).
        """
        try:
            yield
        except Exception as error:  # noqa: BLE001 - logged, and nothing falls out of the schedule
            due_at = self._clock.monotonic_ms() + _RETRY_AFTER_BUG_MS
            for attempt in attempts:
                self._queue.put(due_at, attempt)
            kind, places = type(error).__name__, code_places(error)
            _log.error("an attempt could not be made (%s):\n%s", kind, places)

    async def _attempt_safely(self, own_queue: _EndpointQueue, attempt: DueAttempt) -> None:
        with self._rescheduling(attempt):
            await self._attempt_and_record(own_queue, attempt)

    async def _attempt_and_record(self, own_queue: _EndpointQueue, attempt: DueAttempt) -> None:
        sendable = await self._load_sendable(attempt)
        if sendable is None:
            return
        pending, endpoint = sendable
        pair = (pending.event, pending.endpoint)
        if pair in self._in_flight:
            self._queue.put(self._clock.monotonic_ms() + _BUSY_MS, attempt)
            return
        self._in_flight.add(pair)
        try:
            ended = await self._send(pending, endpoint, manual=False)
            own_queue.failing = not ended.delivered
            self.schedule(await self._record([ended]))
            await self._release_held_back(pending)
        finally:
            self._in_flight.discard(pair)

    async def _record(self, ended: Sequence[AttemptResult]) -> list[OpenDelivery]:
        """Record attempts: they did happen."""
        return await self._write_with_retry(record, ended, self._rules)

    async def _write_with_retry(self, change: Callable[..., Result], *arguments: object) -> Result:
        """Make a change however long the storage takes to accept it."""
        while True:
            try:
                return await self._storage.write(change, *arguments)
            except StorageError:
                await asyncio.sleep(_STORAGE_WAIT_S)

    async def at_once(self, attempts: Sequence[DueAttempt]) -> None:
        """Make attempts outside the endpoint queues and return when they have ended."""
        own_queue = _EndpointQueue()
        await asyncio.gather(*(self._attempt_safely(own_queue, one) for one in attempts))

    # Time stands still

    async def send_batch(self, attempts: Sequence[DueAttempt]) -> None:
        """Make the attempts of one instant at once and record them in the order of `attempts`.

        What an endpoint has no room for goes back on the queue for the same instant.
        """
        now = self._clock.monotonic_ms()
        room: dict[int, int] = {}
        chosen: list[tuple[DueAttempt, PendingDelivery, Endpoint]] = []
        pairs: set[tuple[int, int]] = set()
        for attempt in attempts:
            with self._rescheduling(attempt):
                sendable = await self._load_sendable(attempt)
                if sendable is None:
                    continue
                pending, endpoint = sendable
                pair = (pending.event, pending.endpoint)
                if pair in pairs or room.get(attempt.endpoint, 0) >= CONNECTIONS:
                    self._queue.put(now, attempt)
                    continue
                room[attempt.endpoint] = room.get(attempt.endpoint, 0) + 1
                pairs.add(pair)
                chosen.append((attempt, pending, endpoint))
        sent = await asyncio.gather(*(self._send_safely(*one) for one in chosen))
        ended = [one for one in sent if one is not None]
        with self._rescheduling(*(attempt for attempt, _, _ in chosen)):
            if ended:
                self.schedule(await self._record(ended))
            for _, pending, _ in chosen:
                await self._release_held_back(pending)

    async def _send_safely(
        self, attempt: DueAttempt, pending: PendingDelivery, endpoint: Endpoint
    ) -> AttemptResult | None:
        """Make one of several attempts; None when a bug ended it and it was put back."""
        with self._rescheduling(attempt):
            return await self._send(pending, endpoint, manual=False)
        return None

    # Both

    async def resend(self, delivery: int) -> Exchange | None:
        """Make one attempt by hand; None when one is in flight already.

        It counts apart from the schedule: its failure moves nothing, its success ends the delivery.
        """
        pending = queries.pending_delivery(self._storage.reader, delivery)
        endpoint = queries.endpoint(self._storage.reader, pending.endpoint)
        pair = (pending.event, pending.endpoint)
        if pair in self._in_flight:
            return None
        self._in_flight.add(pair)
        try:
            ended = await self._send(pending, endpoint, manual=True)
            self.schedule(await self._record([ended]))
        finally:
            self._in_flight.discard(pair)
        return Exchange(
            outcome=ended.outcome,
            status_code=ended.status_code,
            error=ended.error,
            duration_ms=ended.duration_ms,
        )

    async def _load_sendable(self, attempt: DueAttempt) -> tuple[PendingDelivery, Endpoint] | None:
        """Read what is to be sent, or None for what is not to be sent now."""
        pending = queries.pending_delivery(self._storage.reader, attempt.delivery)
        due = pending.due_at
        if pending.status != "pending" or due is None or due > self._clock.monotonic_ms():
            return None
        endpoint = queries.endpoint(self._storage.reader, pending.endpoint)
        if not endpoint.is_enabled or await self._is_delayed_by_fault(pending):
            return None
        return pending, endpoint

    # Faults that act before the wire

    async def _is_delayed_by_fault(self, pending: PendingDelivery) -> bool:
        """Return whether a fault delays this attempt; each attempt is delayed once at most."""
        this = (pending.seq, pending.attempts)
        if this in self._delayed:
            self._delayed.discard(this)
            return False
        subject = (pending.id, pending.attempts + 1)
        delay = self._faults.roll(FaultKind.DELAY_DELIVERY, *subject)
        swap = None if delay else self._faults.roll(FaultKind.REORDER_DELIVERY, *subject)
        rule = delay or swap
        if rule is None:
            return False
        self._delayed.add(this)
        due_at = self._clock.monotonic_ms() + max(1, round(rule.seconds * SECOND_MS))
        later = OpenDelivery(pending.seq, pending.endpoint, due_at)
        if swap is not None:
            self._held_back.setdefault(pending.endpoint, []).append(later)
        await self._postpone([later])
        return True

    async def _release_held_back(self, sent: PendingDelivery) -> None:
        """Send what waited for another attempt to the same endpoint to end."""
        now = self._clock.monotonic_ms()
        waiting = self._held_back.pop(sent.endpoint, [])
        await self._postpone(
            [OpenDelivery(one.seq, one.endpoint, now) for one in waiting if one.seq != sent.seq]
        )

    async def _postpone(self, later: Sequence[OpenDelivery]) -> None:
        if later:
            await self._write_with_retry(changes.postpone_deliveries, later)
            self.schedule(later)

    async def _send(
        self, pending: PendingDelivery, endpoint: Endpoint, *, manual: bool
    ) -> AttemptResult:
        started_wall = self._clock.now_ms()
        request = SignedRequest(
            body=pending.body,
            signed_at_ms=started_wall,
            secrets=_secrets(endpoint, self._clock.monotonic_ms()),
        )
        change = payload_change(self._faults, pending.id, pending.attempts + 1)
        exchange = await self._sender.send(endpoint, request, change)
        return AttemptResult(
            delivery=pending.seq,
            manual=manual,
            started_wall=started_wall,
            ended_wall=self._clock.now_ms(),
            ended_at=self._clock.monotonic_ms(),
            duration_ms=exchange.duration_ms,
            outcome=exchange.outcome,
            status_code=exchange.status_code,
            error=exchange.error,
        )

    async def close(self) -> None:
        """Stop sending; what was in flight is sent again at the next start."""
        self._closing = True
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)


def _secrets(endpoint: Endpoint, monotonic_ms: int) -> tuple[str, ...]:
    """Return what signs now: after a rotation the old secret too, for a while."""
    until = endpoint.old_secret_until
    if endpoint.old_secret is None or until is None or monotonic_ms >= until:
        return (endpoint.secret,)
    return (endpoint.secret, endpoint.old_secret)
