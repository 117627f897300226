"""A consumer of outcomes: takes what is due, runs the shop's handlers, keeps what came of it."""

import asyncio
import logging
import os
import signal
import socket
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractAsyncContextManager, AbstractContextManager, contextmanager
from datetime import datetime, timedelta
from importlib import import_module
from random import Random
from typing import Any, Final, Literal

from kusanya.clock import Clock, SystemClock
from kusanya.errors import ConfigurationError
from kusanya.outcomes.shop import claim, claim_async
from kusanya.privacy import redact
from kusanya.store import Store
from kusanya.store.records.outcomes import Ending, Kind, Outcome, Work
from kusanya.wire import Mode

_log: Final = logging.getLogger("kusanya.outcomes")
_LEASE: Final = timedelta(minutes=2)
_TAKEN: Final = 50
"""Outcomes that are leased together; what they came to is kept by one commit."""
_TRIES: Final = 10
"""After so many failures of its handler an outcome is parked."""
_LONGEST_S: Final = 900.0
"""Between two tries of a handler that fails."""
_AWAY_S: Final = 5.0
"""Between two looks at a shop's database that is away."""
_IDLE_S: Final = (0.05, 2.0)
"""The shortest and longest time between two looks at the journal's end, which is one row."""

Handler = Callable[[Outcome, Any], None]
Connect = Callable[[], AbstractContextManager[Any]]
AsyncConnect = Callable[[], AbstractAsyncContextManager[Any]]


class Park(Exception):  # noqa: N818 - an instruction of a handler, no fault
    """Raised by a handler: a person has to look at this outcome, for the reason given."""


class Later(Exception):  # noqa: N818 - an instruction of a handler, no fault
    """Raised by a handler: nothing can be done yet; it is due again after so many seconds."""

    def __init__(self, seconds: float) -> None:
        super().__init__(f"later, in {seconds:g} s")
        self.seconds = seconds


class Consumer:
    """What a shop does with the outcomes of its orders, in one mode.

    Each handler runs in one transaction of the shop's own database, which also keeps that the
    outcome was done: what it writes there happens exactly once. Outcomes of one reference come in
    their order; one that fails holds up the later ones of its reference alone. It is tried again
    with growing pauses, then parked for a person. Any number of processes may run one consumer.
    """

    def __init__(
        self,
        store: Store,
        name: str,
        *,
        mode: Mode,
        unexpected: Literal["person", "paid"] = "person",
        clock: Clock | None = None,
        random: Random | None = None,
    ) -> None:
        """Name a consumer that `kusanya outcomes add` made, or `store.outcomes.add`.

        `unexpected="paid"` is for a shop that creates its collections elsewhere: what no creation
        of this store made is PAID, or PAID_AGAIN.
        """
        self.store, self.name, self.mode = store, name, Mode(mode)
        self._clock = clock or SystemClock()
        self._random = random or Random()  # noqa: S311 - spreads tries, guards nothing
        self._elsewhere = unexpected == "paid"
        self._handlers: dict[Kind, Callable[[Outcome, Any], Any]] = {}
        self._ignored: dict[Kind, str] = {}
        self._stop = threading.Event()
        self._seen, self._idle_s = -1, _IDLE_S[0]
        self._due: datetime | None = None
        self._by = f"{socket.gethostname()} {os.getpid()} {id(self):x}"

    def on(self, *kinds: Kind) -> Callable[[Any], Any]:
        """Let the function below answer these kinds: `(outcome, tx)`, or async for `arun`."""

        def take(handler: Callable[[Outcome, Any], Any]) -> Callable[[Outcome, Any], Any]:
            for kind in kinds:
                if kind in self._handlers or kind in self._ignored:
                    raise ConfigurationError(f"{kind.value} has a handler already")
                self._handlers[kind] = handler
            return handler

        return take

    def ignore(self, *kinds: Kind, why: str) -> None:
        """Do nothing for these kinds, for the reason given. They count as done."""
        if not why.strip():
            raise ConfigurationError("say why these outcomes need nothing")
        for kind in kinds:
            if kind in self._handlers:
                raise ConfigurationError(f"{kind.value} has a handler already")
            self._ignored[kind] = why

    def stop(self) -> None:
        """Let `run` or `arun` end after the outcome that is being done; from any thread."""
        self._stop.set()

    def run(self, connect: Connect) -> None:
        """Do what is due, and what comes, until SIGTERM, SIGINT or `stop`.

        `connect` gives a context with a transaction of the shop's: it commits where the block ends
        and rolls back where it raises, as `engine.begin` or `django.db.transaction.atomic` does.
        Raises ConfigurationError for a kind without a handler, StoreChanged after a restore,
        StoreError for an unknown consumer and where the store cannot be read or written.
        """
        with self._until_told_to_stop():
            while not self._stop.is_set():
                is_time = self._is_time()
                self._stop.wait(self._pause_s(self.run_once(connect) if is_time else None))

    def drain(self, connect: Connect) -> int:
        """Do all that is due now, and return how many outcomes were done: for cron and tests.

        What failed is due again later; it is not waited for. Raises as `run` does.
        """
        done = 0
        while True:
            ended = self.run_once(connect)
            done += sum(one.done for one in ended)
            if not any(one.done or one.parked for one in ended):
                return done

    def run_once(self, connect: Connect) -> tuple[Ending, ...]:
        """Do what is due now, of each order one outcome; return what the tries came to."""
        taken, until = self._take()
        endings: list[Ending] = []
        for work in taken:
            if self._stop.is_set() or self._clock.now() >= until:
                break
            endings.append(self._done(work, connect))
            if endings[-1].is_away:
                break
        return self._keep(taken, endings)

    async def arun(self, connect: AsyncConnect) -> None:
        """Do what `run` does, with async handlers; the store is used from threads."""
        while not self._stop.is_set():
            is_time = await asyncio.to_thread(self._is_time)
            ended = await self.arun_once(connect) if is_time else None
            await asyncio.sleep(await asyncio.to_thread(self._pause_s, ended))

    async def arun_once(self, connect: AsyncConnect) -> tuple[Ending, ...]:
        """Do what `run_once` does, with async handlers."""
        taken, until = await asyncio.to_thread(self._take)
        endings: list[Ending] = []
        for work in taken:
            if self._stop.is_set() or self._clock.now() >= until:
                break
            endings.append(await self._done_async(work, connect))
            if endings[-1].is_away:
                break
        return await asyncio.to_thread(self._keep, taken, endings)

    def _take(self) -> tuple[tuple[Work, ...], datetime]:
        self._check()
        self.store.outcomes.tell()
        until = self._clock.now() + _LEASE
        taken = self.store.outcomes.take(self.name, by=self._by, until=until, limit=_TAKEN)
        # A try that begins late in its lease would end after it.
        return taken, until - _LEASE / 2

    def _done(self, work: Work, connect: Connect) -> Ending:
        """Run the handler of an outcome, unless it was done before."""
        handler = self._handler(work.outcome)
        reached = False
        try:
            if handler is not None:
                with connect() as opened:
                    reached, tx = True, _of_django(opened)
                    if claim(tx, self.name, work.outcome):
                        handler(work.outcome, tx)
        except Exception as error:  # noqa: BLE001 - whatever a shop's handler raises is its outcome
            return self._failed(work, error, reached=reached)
        return Ending(seq=work.outcome.seq)

    async def _done_async(self, work: Work, connect: AsyncConnect) -> Ending:
        handler = self._handler(work.outcome)
        reached = False
        try:
            if handler is not None:
                async with connect() as tx:
                    reached = True
                    if await claim_async(tx, self.name, work.outcome):
                        await handler(work.outcome, tx)
        except Exception as error:  # noqa: BLE001 - whatever a shop's handler raises is its outcome
            return self._failed(work, error, reached=reached)
        return Ending(seq=work.outcome.seq)

    def _keep(self, taken: tuple[Work, ...], endings: list[Ending]) -> tuple[Ending, ...]:
        now = self._clock.now()
        left = [
            Ending(seq=work.outcome.seq, due_at=now, why=work.why, is_try=False)
            for work in taken[len(endings) :]
        ]
        self.store.outcomes.end(self.name, [*endings, *left], by=self._by)
        return tuple(endings)

    def _failed(self, work: Work, error: Exception, *, reached: bool) -> Ending:
        """Return what a try came to that raised: parked, or due again."""
        seq, now = work.outcome.seq, self._clock.now()
        why = redact(f"{type(error).__name__}: {error}".splitlines()[0])[:500]
        if isinstance(error, Park):
            return Ending(seq=seq, parked=True, why=redact(str(error)) or "parked by its handler")
        if isinstance(error, Later):
            due_at = now + timedelta(seconds=error.seconds)
            return Ending(seq=seq, due_at=due_at, why=why, is_try=False)
        if not reached:
            _log.warning("the shop's database is away: %s", why)
            due_at = now + timedelta(seconds=_AWAY_S)
            return Ending(seq=seq, due_at=due_at, why=why, is_try=False, is_away=True)
        _log.warning("outcome %s of consumer %s failed: %s", work.outcome.id, self.name, why)
        if work.tries + 1 >= _TRIES:
            return Ending(seq=seq, parked=True, why=why)
        pause_s = min(2.0**work.tries, _LONGEST_S) * self._random.uniform(0.5, 1.0)
        return Ending(seq=seq, due_at=now + timedelta(seconds=pause_s), why=why)

    def _is_time(self) -> bool:
        """Return whether something was committed, or became due, since the last look."""
        head = self.store.feed.head()
        if head == self._seen and (self._due is None or self._due > self._clock.now()):
            return False
        self._seen = head
        return True

    def _pause_s(self, ended: tuple[Ending, ...] | None) -> float:
        """Return how long to wait before the next look; `ended` is None where it was not time."""
        if ended is None:
            self._idle_s = min(2 * self._idle_s, _IDLE_S[1])
            return self._idle_s
        self._idle_s = _IDLE_S[0]
        if ended:
            self._seen = -1
            return _AWAY_S if ended[-1].is_away else 0.0
        self._due = self.store.outcomes.next_due(self.name)
        return self._idle_s

    def _handler(self, outcome: Outcome) -> Callable[[Outcome, Any], Any] | None:
        kind = outcome.kind
        if self._elsewhere and kind is Kind.UNEXPECTED and outcome.intent_id is None:
            kind = Kind.PAID if outcome.ordinal == 1 else Kind.PAID_AGAIN
        return self._handlers.get(kind)

    def _check(self) -> None:
        missing = [
            kind.value for kind in Kind if kind not in self._handlers and kind not in self._ignored
        ]
        if missing:
            raise ConfigurationError(
                f"consumer {self.name} has no handler for {', '.join(missing)}: each kind is "
                "answered (@consumer.on(Kind....)) or ignored (consumer.ignore(Kind...., why=...))"
            )

    @contextmanager
    def _until_told_to_stop(self) -> Iterator[None]:
        """End the loop by SIGTERM and SIGINT, where this is the main thread."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        before: Mapping[int, Any] = {
            number: signal.signal(number, lambda *_: self.stop())
            for number in (signal.SIGTERM, signal.SIGINT)
        }
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)


def _of_django(tx: Any) -> Any:
    """Return what `atomic` of Django opened, which gives nothing itself."""
    if tx is not None:
        return tx
    return import_module("django.db").connection
