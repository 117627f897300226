"""The loop of who acts on outcomes: take what is due, keep what came of it, wait for the next."""

import asyncio
import logging
import os
import signal
import socket
import threading
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime, timedelta
from random import Random
from typing import Any, Final

from kusanya.clock import Clock
from kusanya.platform.arguments import plain_text
from kusanya.privacy import redact
from kusanya.store import Store, check_store
from kusanya.store.records.outcomes import Ending, Work
from kusanya.text import safe
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
"""Between two looks at a shop that is away."""
_IDLE_S: Final = (0.05, 2.0)
"""The shortest and longest time between two looks at the journal's end, which is one row."""

Endings = tuple[Ending, ...]


class WorkLoop:
    """What is due of one consumer, leased to this process; any number of processes may share it."""

    def __init__(
        self, store: Store, name: str, mode: Mode, clock: Clock | None, random: Random | None
    ) -> None:
        check_store(store)
        self._store, self.name, self._mode = store, plain_text("a consumer", name), mode
        self.clock = clock or store.clock
        self._random = random or Random()  # noqa: S311 - spreads tries, guards nothing
        self._stop = threading.Event()
        self._seen, self._idle_s = -1, _IDLE_S[0]
        self._due: datetime | None = None
        self._by = f"{socket.gethostname()} {os.getpid()} {id(self):x}"

    def stop(self) -> None:
        """Let `run` or `arun` end after the outcome that is being done; from any thread."""
        self._stop.set()

    def run(self, run_once: Callable[[], Endings]) -> None:
        """Do what is due, and what comes, until SIGTERM, SIGINT or `stop`."""
        with self._until_told_to_stop():
            while not self._stop.is_set():
                is_time = self._is_time()
                self._stop.wait(self._pause_s(run_once() if is_time else None))

    async def arun(self, run_once: Callable[[], Awaitable[Endings]]) -> None:
        """Do what `run` does, for an async `run_once`; the store is used from threads."""
        while not self._stop.is_set():
            is_time = await asyncio.to_thread(self._is_time)
            ended = await run_once() if is_time else None
            await asyncio.sleep(await asyncio.to_thread(self._pause_s, ended))

    def drain(self, run_once: Callable[[], Endings]) -> int:
        """Do all that is due now, and return how many outcomes were done."""
        done = 0
        while True:
            ended = run_once()
            done += sum(one.done for one in ended)
            if not any(one.done or one.parked for one in ended):
                return done

    def take(self) -> tuple[tuple[Work, ...], Callable[[], bool]]:
        """Lease what is due, of each order the first; beside it whether another may be begun."""
        self._store.outcomes.tell()
        now = self.clock.now()
        taken = self._store.outcomes.take(
            self.name, mode=self._mode, by=self._by, until=now + _LEASE, limit=_TAKEN
        )

        def may_begin() -> bool:
            # A try that begins late in its lease would end after it.
            return not self._stop.is_set() and self.clock.now() < now + _LEASE / 2

        return taken, may_begin

    def keep(self, taken: Sequence[Work], endings: Sequence[Ending]) -> Endings:
        """Keep what tries came to, and give back what was not begun."""
        tried = {one.seq for one in endings}
        left = [
            Ending(seq=work.outcome.seq, due_at=self.clock.now(), why=work.why, is_try=False)
            for work in taken
            if work.outcome.seq not in tried
        ]
        self._store.outcomes.end(self.name, [*endings, *left], by=self._by)
        return tuple(endings)

    def failed(self, work: Work, why: str) -> Ending:
        """Return what a try came to that failed: due again after a growing pause, or parked."""
        seq, why = work.outcome.seq, _shown(why)
        _log.warning("outcome %s of consumer %s failed: %s", work.outcome.id, self.name, why)
        if work.tries + 1 >= _TRIES:
            return Ending(seq=seq, parked=True, why=why)
        pause_s = min(2.0**work.tries, _LONGEST_S) * self._random.uniform(0.5, 1.0)
        return Ending(seq=seq, due_at=self.clock.now() + timedelta(seconds=pause_s), why=why)

    def away(self, work: Work, why: str) -> Ending:
        """Return what came of it where the shop could not be reached: that is no try."""
        why = _shown(why)
        _log.warning("the shop is away: %s", why)
        due_at = self.clock.now() + timedelta(seconds=_AWAY_S)
        return Ending(seq=work.outcome.seq, due_at=due_at, why=why, is_try=False, is_away=True)

    def later(self, work: Work, seconds: float, why: str) -> Ending:
        """Return what came of it where more time was asked for: that is no try."""
        due_at = self.clock.now() + timedelta(seconds=seconds)
        return Ending(seq=work.outcome.seq, due_at=due_at, why=_shown(why), is_try=False)

    def parked(self, work: Work, why: str) -> Ending:
        """Return what came of it where a person has to look."""
        return Ending(seq=work.outcome.seq, parked=True, why=_shown(why))

    def _is_time(self) -> bool:
        """Return whether something was committed, or became due, since the last look."""
        head = self._store.feed.head()
        if head == self._seen and (self._due is None or self._due > self.clock.now()):
            return False
        self._seen = head
        return True

    def _pause_s(self, ended: Endings | None) -> float:
        """Return how long to wait before the next look; `ended` is None where it was not time."""
        if ended is None:
            self._idle_s = min(2 * self._idle_s, _IDLE_S[1])
            return self._idle_s
        self._idle_s = _IDLE_S[0]
        if ended:
            self._seen = -1
            return _AWAY_S if any(one.is_away for one in ended) else 0.0
        self._due = self._store.outcomes.next_due(self.name)
        return self._idle_s

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


def _shown(why: str) -> str:
    """Return what went wrong, for a log and a person: it may hold whatever the shop was sent."""
    return safe(redact(why), 500)
