"""The merchant's backend of the demo: creates collections, and asks about those that stay open.

Every creation is an intent: made durable before it is sent, so that a demo killed at any moment
goes on at its next start with nothing lost and nothing charged twice.
"""

import asyncio
import signal
from collections.abc import Coroutine
from typing import TYPE_CHECKING, Any, Final

from kusanya.clock import Clock, ScaledClock
from kusanya.errors import KusanyaError
from kusanya.intents import create_safely_async, open_intents, resume_async
from kusanya.store import Store
from kusanya.watch import PollSettings, poll_open
from kusanya_console.output import complain, say_json, say_poll_result
from kusanya_console.sandbox.demo.orders import DemoOrder, orders
from kusanya_console.sandbox.service_clock import parse_clock

if TYPE_CHECKING:
    from kusanya.client import AsyncClient
    from kusanya.profiles import Profile

_AT_ONCE: Final = 64
"""Creations under way at one time; more orders than that wait for their turn."""
_DEADLINE_S: Final = 30.0
_POLL_SETTINGS: Final = PollSettings()


def run(profile: "Profile", *, rate: float, seed: int, seconds: float | None, stuck: bool) -> None:
    """Place orders until asked to stop; `seconds` real seconds of orders, or without end."""
    clock = parse_clock(f"{profile.need_dashboard()[0].rstrip('/')}/clock")
    with Store.open(profile.store, clock=clock) as store:
        asyncio.run(_Traffic(profile, store, clock).run(rate, seed, seconds, stuck=stuck))


class _Traffic:
    def __init__(self, profile: "Profile", store: Store, clock: Clock) -> None:
        self._profile = profile
        self._store = store
        self._clock = clock
        self._speed = clock.speed if isinstance(clock, ScaledClock) else 1.0
        self._turns = asyncio.Semaphore(_AT_ONCE)
        self._tasks: set[asyncio.Task[None]] = set()

    async def run(self, rate: float, seed: int, seconds: float | None, *, stuck: bool) -> None:
        from kusanya.client import AsyncClient

        stopped = asyncio.Event()
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, stopped.set)
        async with AsyncClient(
            self._profile.need_api_key(),
            base_url=self._profile.need_base_url(),
            mode=self._profile.mode,
            # The deadline counts on the followed clock and means real seconds.
            timeout=_DEADLINE_S * self._speed,
            clock=self._clock,
        ) as client:
            say_json({"ready": True})
            await self._resume(client)
            self._spawn(self._place_all(client, rate, seed, seconds, stuck=stuck))
            watching = poll_open(
                self._store,
                client.core,
                stop=stopped.is_set,
                on_result=say_poll_result,
                settings=_POLL_SETTINGS,
            )
            self._spawn(client.run(watching))
            await stopped.wait()
            for task in self._tasks:
                task.cancel()
            await asyncio.gather(*self._tasks, return_exceptions=True)

    def _spawn(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._ended)

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            complain(f"{type(error).__name__}: {error}")

    async def _place_all(
        self,
        client: "AsyncClient",
        rate: float,
        seed: int,
        seconds: float | None,
        *,
        stuck: bool,
    ) -> None:
        until = None if seconds is None else self._clock.monotonic() + seconds * self._speed
        first = await asyncio.to_thread(self._next_number)
        for order in orders(seed=seed, first=first, per_second=rate, stuck=stuck):
            await self._clock.asleep(order.after_s)
            if until is not None and self._clock.monotonic() >= until:
                return
            await self._turns.acquire()
            self._spawn(self._place(client, order))

    def _next_number(self) -> int:
        newest = self._store.intents.page(self._profile.mode, limit=1).rows
        return int(newest[0].reference.removeprefix("INV-")) + 1 if newest else 1

    async def _place(self, client: "AsyncClient", order: DemoOrder) -> None:
        try:
            await create_safely_async(
                self._store,
                client,
                amount=order.amount,
                phone=order.phone,
                reference=order.reference,
                description=order.description,
                profile=self._profile.name,
            )
        except KusanyaError as error:
            complain(f"{order.reference}: {error}")
        finally:
            self._turns.release()

    async def _resume(self, client: "AsyncClient") -> None:
        """Bring what an earlier demo left unanswered to its end."""
        left = await asyncio.to_thread(lambda: list(open_intents(self._store, self._profile.mode)))
        for intent in left:
            try:
                await resume_async(self._store, client, intent, profile=self._profile.name)
            except KusanyaError as error:
                complain(f"{intent.reference}: {error}")
