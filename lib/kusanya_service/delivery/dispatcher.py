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

from kusanya_service.delivery.http_sender import CONNECTIONS, Courier, Exchange, Letter
from kusanya_service.delivery.outcome import Ended, record
from kusanya_service.errors import StorageError, code_places
from kusanya_service.instants import SECOND_MS
from kusanya_service.simulation.event_queue import Agenda, Attempt
from kusanya_service.simulation.faults import Faults, Kind, tamper_of
from kusanya_service.simulation.rules import Rules
from kusanya_service.simulation.timeline import Timeline
from kusanya_service.storage import changes, queries
from kusanya_service.storage.records import Endpoint, OpenDelivery, Parcel
from kusanya_service.storage.store import Storage

_log = logging.getLogger("kusanya_service")
Result = TypeVar("Result")
_WHILE_FAILING: Final = 2
"""Attempts in flight to an endpoint whose last attempt failed."""
_BUSY_MS: Final = SECOND_MS
"""When to look again at a delivery whose event is in flight to the endpoint already."""
_AFTER_A_BUG_MS: Final = 60 * SECOND_MS
"""When to try an attempt again that a bug has ended: the first gap of the retry schedule."""
_STORAGE_WAIT_S: Final = 0.5
"""How long to wait before telling a full or failing storage again."""


class _Lane:
    """One endpoint's queue."""

    def __init__(self) -> None:
        self.waiting: deque[Attempt] = deque()
        self.running = 0
        self.failing = False

    @property
    def has_room(self) -> bool:
        return self.running < (_WHILE_FAILING if self.failing else CONNECTIONS)


class Dispatcher:
    """Makes attempts: by lanes while time passes by itself, together while it stands."""

    def __init__(
        self,
        *,
        storage: Storage,
        timeline: Timeline,
        agenda: Agenda,
        courier: Courier,
        rules: Rules,
        faults: Faults,
    ) -> None:
        self._storage = storage
        self._timeline = timeline
        self._agenda = agenda
        self._courier = courier
        self._rules = rules
        self._faults = faults
        self._put_off: set[tuple[int, int]] = set()
        self._held_back: dict[int, list[OpenDelivery]] = {}
        self._lanes: dict[int, _Lane] = {}
        self._in_flight: set[tuple[int, int]] = set()
        self._tasks: set[asyncio.Task[None]] = set()
        self._closing = False

    def schedule(self, opened: Iterable[OpenDelivery]) -> None:
        """Put deliveries on the agenda."""
        for one in opened:
            self._agenda.put(one.due_at, Attempt(one.seq, one.endpoint))

    # Time passes by itself

    def offer(self, attempt: Attempt) -> None:
        """Queue a due attempt in its endpoint's lane."""
        lane = self._lanes.setdefault(attempt.endpoint, _Lane())
        lane.waiting.append(attempt)
        self._pump(lane)

    def _pump(self, lane: _Lane) -> None:
        while lane.waiting and lane.has_room and not self._closing:
            lane.running += 1
            task = asyncio.create_task(self._run(lane, lane.waiting.popleft()))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def _run(self, lane: _Lane, attempt: Attempt) -> None:
        try:
            await self._attempt_safely(lane, attempt)
        finally:
            lane.running -= 1
            self._pump(lane)

    @contextmanager
    def _rescheduling(self, *attempts: Attempt) -> Iterator[None]:
        """Put attempts that a bug ends back on the schedule: they are open and nobody else's.

        An endpoint cannot bring this about: whatever it does is an outcome (courier.py).
        """
        try:
            yield
        except Exception as error:  # noqa: BLE001 - logged, and nothing falls out of the schedule
            due_at = self._timeline.steady_ms() + _AFTER_A_BUG_MS
            for attempt in attempts:
                self._agenda.put(due_at, attempt)
            kind, places = type(error).__name__, code_places(error)
            _log.error("an attempt could not be made (%s):\n%s", kind, places)

    async def _attempt_safely(self, lane: _Lane, attempt: Attempt) -> None:
        with self._rescheduling(attempt):
            await self._attempt_and_record(lane, attempt)

    async def _attempt_and_record(self, lane: _Lane, attempt: Attempt) -> None:
        parcel, endpoint = await self._look(attempt)
        if parcel is None or endpoint is None:
            return
        pair = (parcel.event, parcel.endpoint)
        if pair in self._in_flight:
            self._agenda.put(self._timeline.steady_ms() + _BUSY_MS, attempt)
            return
        self._in_flight.add(pair)
        try:
            ended = await self._send(parcel, endpoint, manual=False)
            lane.failing = not ended.delivered
            self.schedule(await self._kept([ended]))
            await self._let_go(parcel)
        finally:
            self._in_flight.discard(pair)

    async def _kept(self, ended: Sequence[Ended]) -> list[OpenDelivery]:
        """Record attempts: they did happen."""
        return await self._durably(record, ended, self._rules)

    async def _durably(self, change: Callable[..., Result], *arguments: object) -> Result:
        """Make a change however long the storage takes to accept it."""
        while True:
            try:
                return await self._storage.write(change, *arguments)
            except StorageError:
                await asyncio.sleep(_STORAGE_WAIT_S)

    async def at_once(self, attempts: Sequence[Attempt]) -> None:
        """Make attempts beside the lanes and return when they have ended."""
        lane = _Lane()
        await asyncio.gather(*(self._attempt_safely(lane, one) for one in attempts))

    # Time stands still

    async def together(self, attempts: Sequence[Attempt]) -> None:
        """Make the attempts of one instant at once and record them in the order given.

        What an endpoint has no room for goes back on the agenda for the same instant.
        """
        now = self._timeline.steady_ms()
        room: dict[int, int] = {}
        chosen: list[tuple[Attempt, Parcel, Endpoint]] = []
        pairs: set[tuple[int, int]] = set()
        for attempt in attempts:
            with self._rescheduling(attempt):
                parcel, endpoint = await self._look(attempt)
                if parcel is None or endpoint is None:
                    continue
                pair = (parcel.event, parcel.endpoint)
                if pair in pairs or room.get(attempt.endpoint, 0) >= CONNECTIONS:
                    self._agenda.put(now, attempt)
                    continue
                room[attempt.endpoint] = room.get(attempt.endpoint, 0) + 1
                pairs.add(pair)
                chosen.append((attempt, parcel, endpoint))
        sent = await asyncio.gather(*(self._sent(*one) for one in chosen))
        ended = [one for one in sent if one is not None]
        with self._rescheduling(*(attempt for attempt, _, _ in chosen)):
            if ended:
                self.schedule(await self._kept(ended))
            for _, parcel, _ in chosen:
                await self._let_go(parcel)

    async def _sent(self, attempt: Attempt, parcel: Parcel, endpoint: Endpoint) -> Ended | None:
        """Make one of several attempts; None when a bug ended it and it was put back."""
        with self._rescheduling(attempt):
            return await self._send(parcel, endpoint, manual=False)
        return None

    # Both

    async def resend(self, delivery: int) -> Exchange | None:
        """Make one attempt by hand; None when one is in flight already.

        It counts apart from the schedule: its failure moves nothing, its success ends the delivery.
        """
        parcel = queries.parcel(self._storage.reader, delivery)
        endpoint = queries.endpoint(self._storage.reader, parcel.endpoint)
        pair = (parcel.event, parcel.endpoint)
        if pair in self._in_flight:
            return None
        self._in_flight.add(pair)
        try:
            ended = await self._send(parcel, endpoint, manual=True)
            self.schedule(await self._kept([ended]))
        finally:
            self._in_flight.discard(pair)
        return Exchange(
            outcome=ended.outcome,
            status_code=ended.status_code,
            error=ended.error,
            duration_ms=ended.duration_ms,
        )

    async def _look(self, attempt: Attempt) -> tuple[Parcel | None, Endpoint | None]:
        """Read what is to be sent, or (None, None) for what is not to be sent now."""
        parcel = queries.parcel(self._storage.reader, attempt.delivery)
        due = parcel.due_at
        if parcel.status != "pending" or due is None or due > self._timeline.steady_ms():
            return None, None
        endpoint = queries.endpoint(self._storage.reader, parcel.endpoint)
        if not endpoint.is_enabled or await self._is_put_off(parcel):
            return None, None
        return parcel, endpoint

    # Faults that act before the wire

    async def _is_put_off(self, parcel: Parcel) -> bool:
        """Let a fault put an attempt off, each attempt once."""
        this = (parcel.seq, parcel.attempts)
        if this in self._put_off:
            self._put_off.discard(this)
            return False
        subject = (parcel.id, parcel.attempts + 1)
        delay = self._faults.strike(Kind.DELAY_DELIVERY, *subject)
        swap = None if delay else self._faults.strike(Kind.REORDER_DELIVERY, *subject)
        rule = delay or swap
        if rule is None:
            return False
        self._put_off.add(this)
        due_at = self._timeline.steady_ms() + max(1, round(rule.seconds * SECOND_MS))
        later = OpenDelivery(parcel.seq, parcel.endpoint, due_at)
        if swap is not None:
            self._held_back.setdefault(parcel.endpoint, []).append(later)
        await self._move([later])
        return True

    async def _let_go(self, sent: Parcel) -> None:
        """Send what waited for another attempt to the same endpoint to end."""
        now = self._timeline.steady_ms()
        waiting = self._held_back.pop(sent.endpoint, [])
        await self._move(
            [OpenDelivery(one.seq, one.endpoint, now) for one in waiting if one.seq != sent.seq]
        )

    async def _move(self, later: Sequence[OpenDelivery]) -> None:
        if later:
            await self._durably(changes.postpone_deliveries, later)
            self.schedule(later)

    async def _send(self, parcel: Parcel, endpoint: Endpoint, *, manual: bool) -> Ended:
        started_wall = self._timeline.now_ms()
        letter = Letter(
            body=parcel.body,
            signed_at_ms=started_wall,
            secrets=_secrets(endpoint, self._timeline.steady_ms()),
        )
        tamper = tamper_of(self._faults, parcel.id, parcel.attempts + 1)
        exchange = await self._courier.carry(endpoint, letter, tamper)
        return Ended(
            delivery=parcel.seq,
            manual=manual,
            started_wall=started_wall,
            ended_wall=self._timeline.now_ms(),
            ended_at=self._timeline.steady_ms(),
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


def _secrets(endpoint: Endpoint, steady_ms: int) -> tuple[str, ...]:
    """Return what signs now: after a rotation the old secret too, for a while."""
    until = endpoint.old_secret_until
    if endpoint.old_secret is None or until is None or steady_ms >= until:
        return (endpoint.secret,)
    return (endpoint.secret, endpoint.old_secret)
