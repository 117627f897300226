"""The runner of the event queue: does everything that is due, at its instant and in order.

While time passes by itself, one task sleeps until the next item. While it stands still, `advance`
moves it from item to item and returns when everything due has happened.
"""

import asyncio
from collections.abc import Callable, Sequence
from typing import Final

from kusanya_service.delivery.dispatcher import Dispatcher
from kusanya_service.delivery.http_sender import Exchange
from kusanya_service.errors import StorageError
from kusanya_service.simulation.clock import (
    SECOND_MS,
    RunningClock,
    ServiceClock,
    VirtualClock,
)
from kusanya_service.simulation.event_queue import DueAttempt, DueItem, DueOutcome, EventQueue
from kusanya_service.simulation.finalise import finalise
from kusanya_service.simulation.rules import Rules
from kusanya_service.simulation.stored_clock import store_clock
from kusanya_service.storage import queries
from kusanya_service.storage.records import OpenDelivery
from kusanya_service.storage.store import Storage

_TOGETHER: Final = 200
"""Outcomes in one transaction."""
_OVERDUE_PER_MS: Final = 2
"""Overdue attempts that begin in one millisecond after a pause; endpoints have their own bound."""
_HEARTBEAT_S: Final = 5.0
_STORAGE_WAIT_S: Final = 0.5


class EventRunner:
    """Takes what is due from the event queue and does it."""

    def __init__(
        self,
        *,
        storage: Storage,
        clock: ServiceClock,
        queue: EventQueue,
        dispatcher: Dispatcher,
        rules: Rules,
    ) -> None:
        self._storage = storage
        self._clock = clock
        self._queue = queue
        self._dispatcher = dispatcher
        self._rules = rules
        self._stepping = asyncio.Lock()
        self._tasks: list[asyncio.Task[None]] = []
        self.on_crash: Callable[[], None] = lambda: None
        """Called when a bug ends the course of events; `stop` raises what it was."""

    def start(self) -> None:
        """Schedule what earlier runs left open, and begin."""
        for number, due in queries.open_outcomes(self._storage.reader):
            self._queue.put(due, DueOutcome(number))
        self._schedule_open(queries.open_deliveries(self._storage.reader))
        if isinstance(self._clock, RunningClock):
            self._tasks = [
                asyncio.create_task(self._run(self._clock)),
                asyncio.create_task(self._heartbeat()),
            ]
            for task in self._tasks:
                task.add_done_callback(self._on_task_end)

    def _on_task_end(self, task: "asyncio.Task[None]") -> None:
        if not task.cancelled() and task.exception() is not None:
            self.on_crash()

    def _schedule_open(self, waiting: Sequence[OpenDelivery]) -> None:
        now = self._clock.monotonic_ms()
        spread = isinstance(self._clock, RunningClock)
        for place, one in enumerate(waiting):
            later = place // _OVERDUE_PER_MS if spread else 0
            due = now + later if one.due_at <= now else one.due_at
            self._queue.put(due, DueAttempt(one.seq, one.endpoint))

    async def stop(self) -> None:
        """Stop all tasks and store the time."""
        for task in self._tasks:
            task.cancel()
        ends = await asyncio.gather(*self._tasks, return_exceptions=True)
        await self._dispatcher.close()
        await self._store_time()
        for end in ends:
            if isinstance(end, Exception):
                raise end

    async def _store_time(self) -> None:
        await self._storage.write(store_clock, self._clock.to_store())

    # Time passes by itself

    async def _heartbeat(self) -> None:
        while True:
            await asyncio.sleep(_HEARTBEAT_S)
            try:
                await self._store_time()
            except StorageError:
                continue  # the next heartbeat tries again; a caller's own write is answered 503

    async def _run(self, clock: RunningClock) -> None:
        while True:
            self._queue.earlier.clear()
            for item in await self._finalise_due(self._queue.take(clock.monotonic_ms())):
                self._dispatcher.enqueue(item)
            due = self._queue.next_due()
            wait_s = None if due is None else (due - clock.monotonic_ms()) / SECOND_MS
            if wait_s is None or wait_s > 0:
                await self._sleep(clock, wait_s)

    async def _sleep(self, clock: RunningClock, wait_s: float | None) -> None:
        waits: list[asyncio.Future[object]] = [asyncio.ensure_future(self._queue.earlier.wait())]
        if wait_s is not None:
            # Half a millisecond more: an instant is whole milliseconds, cut down.
            waits.append(asyncio.ensure_future(clock.asleep(wait_s + 0.0005)))
        try:
            done, _ = await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
            for wait in done:
                wait.result()
        finally:
            for wait in waits:
                wait.cancel()

    async def _finalise_due(self, items: Sequence[DueItem]) -> list[DueAttempt]:
        """Bring due collections to their end and return the attempts that are due now."""
        numbers = [item.collection for item in items if isinstance(item, DueOutcome)]
        due = [item for item in items if isinstance(item, DueAttempt)]
        for start in range(0, len(numbers), _TOGETHER):
            opened = await self._finalise(numbers[start : start + _TOGETHER])
            due.extend(DueAttempt(one.seq, one.endpoint) for one in opened)
        return due

    async def _finalise(self, numbers: Sequence[int]) -> list[OpenDelivery]:
        while True:
            try:
                return await self._storage.write(
                    finalise,
                    numbers,
                    now_ms=self._clock.now_ms(),
                    monotonic_ms=self._clock.monotonic_ms(),
                    rules=self._rules,
                )
            except StorageError:
                await asyncio.sleep(_STORAGE_WAIT_S)

    # Time stands still

    async def advance(self, seconds: float) -> bool:
        """Move virtual time; False for a clock that passes by itself.

        Returns when everything due up to the new time has happened.
        """
        if not isinstance(self._clock, VirtualClock):
            return False
        async with self._stepping:
            target = self._clock.monotonic_ms() + round(seconds * SECOND_MS)
            await self._run_until(self._clock, target)
        return True

    async def run_due_now(self) -> None:
        """In virtual time, do what is due at this very instant.

        Inside an advance there is nothing to do: it ends only when nothing is due any more, and
        what it waits for may be the caller of this method.
        """
        if not self._stepping.locked():
            await self.advance(0)

    async def _run_until(self, clock: VirtualClock, target: int) -> None:
        while (due := self._queue.next_due()) is not None and due <= target:
            clock.move_to(due)
            attempts = await self._finalise_due(self._queue.take(clock.monotonic_ms()))
            await self._dispatcher.send_batch(attempts)
        clock.move_to(target)
        await self._store_time()

    # Both

    def schedule_outcome(self, number: int, due_at: int | None) -> None:
        """Put a new collection's outcome on the event queue."""
        if due_at is not None:
            self._queue.put(due_at, DueOutcome(number))

    async def finalise_now(self, number: int) -> None:
        """Bring one collection to its end and wait until its event was sent once."""
        opened = await self._finalise([number])
        if isinstance(self._clock, VirtualClock):
            self._dispatcher.schedule(opened)
            await self.run_due_now()
            return
        attempts = [DueAttempt(one.seq, one.endpoint) for one in opened]
        await self._dispatcher.at_once(attempts)

    async def resend(self, delivery: int) -> Exchange | None:
        """Make one attempt by hand; None when one is in flight already."""
        if not isinstance(self._clock, VirtualClock):
            return await self._dispatcher.resend(delivery)
        async with self._stepping:
            exchange = await self._dispatcher.resend(delivery)
        await self.run_due_now()
        return exchange

    async def resume(self, opened: Sequence[OpenDelivery]) -> None:
        """Send what an endpoint held and is due, in order and not all at the same instant."""
        self._schedule_open(opened)
        await self.run_due_now()
