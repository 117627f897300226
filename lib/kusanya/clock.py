"""Time as a parameter: nothing else in the project reads a clock or sleeps.

`SystemClock` is real time, `ScaledClock` runs faster, `ManualClock` stands still until a test moves
it. Instants are aware UTC datetimes; durations are measured on `monotonic()`, which a change of the
wall clock does not move.
"""

import asyncio
import heapq
import itertools
import threading
import time
from datetime import UTC, datetime, timedelta
from typing import Final, Protocol


class Clock(Protocol):
    """Wall time, monotonic time and waiting, for synchronous and asynchronous callers."""

    def now(self) -> datetime:
        """Return the wall time as an aware UTC datetime."""
        ...

    def monotonic(self) -> float:
        """Return seconds that only ever grow, for durations."""
        ...

    def sleep(self, seconds: float) -> None:
        """Block the calling thread for `seconds` of this clock."""
        ...

    async def asleep(self, seconds: float) -> None:
        """Suspend the calling task for `seconds` of this clock."""
        ...


class SystemClock:
    """The machine's own time."""

    def now(self) -> datetime:
        """Return the wall time as an aware UTC datetime."""
        return datetime.now(UTC)

    def monotonic(self) -> float:
        """Return the machine's monotonic seconds."""
        return time.monotonic()

    def sleep(self, seconds: float) -> None:
        """Block the calling thread."""
        time.sleep(max(0.0, seconds))

    async def asleep(self, seconds: float) -> None:
        """Suspend the calling task."""
        await asyncio.sleep(max(0.0, seconds))


class ScaledClock:
    """Real time, `speed` times faster, from `origin` on.

    Two processes given the same origin and speed agree on the time, because both derive it from
    the machine's wall clock.
    """

    def __init__(self, speed: float, *, origin: datetime | None = None) -> None:
        if not speed > 0:
            raise ValueError(f"speed is above 0, not {speed}")
        self.speed: Final = speed
        self.origin: Final = origin or datetime.now(UTC)

    def now(self) -> datetime:
        """Return the accelerated wall time."""
        return self.origin + (datetime.now(UTC) - self.origin) * self.speed

    def monotonic(self) -> float:
        """Return accelerated monotonic seconds."""
        return time.monotonic() * self.speed

    def sleep(self, seconds: float) -> None:
        """Block for `seconds` of this clock, which is less real time."""
        time.sleep(max(0.0, seconds / self.speed))

    async def asleep(self, seconds: float) -> None:
        """Suspend for `seconds` of this clock, which is less real time."""
        await asyncio.sleep(max(0.0, seconds / self.speed))


class ManualClock:
    """Time that stands still until `advance` moves it.

    Sleepers wake in the order of their instants, each seeing its own instant as `now()`. A
    synchronous `sleep` does not wait: it moves the clock itself, so that a single-threaded test
    of a retry loop runs at once and can read how long it would have taken.
    """

    def __init__(self, start: datetime = datetime(2026, 3, 2, 12, tzinfo=UTC)) -> None:
        if start.tzinfo is None:
            raise ValueError("a clock starts at an aware datetime")
        self._start = start.astimezone(UTC)
        self._elapsed = timedelta()
        self._skew = timedelta()
        self._sleepers: list[tuple[timedelta, int, asyncio.Future[None]]] = []
        self._order = itertools.count()
        self._lock = threading.Lock()

    def now(self) -> datetime:
        """Return the time the test has set."""
        return self._start + self._elapsed + self._skew

    def monotonic(self) -> float:
        """Return the seconds advanced so far; `step` does not move them."""
        return self._elapsed.total_seconds()

    def sleep(self, seconds: float) -> None:
        """Advance by `seconds` at once."""
        with self._lock:
            self._elapsed += timedelta(seconds=max(0.0, seconds))

    async def asleep(self, seconds: float) -> None:
        """Suspend until `advance` has passed `seconds` from now."""
        if seconds <= 0:
            await asyncio.sleep(0)
            return
        wake: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        at = self._elapsed + timedelta(seconds=seconds)
        heapq.heappush(self._sleepers, (at, next(self._order), wake))
        await wake

    def step(self, delta: timedelta) -> None:
        """Set the wall clock forward or back without any time passing, as an administrator does."""
        self._skew += delta

    async def advance(self, seconds: float) -> None:
        """Let `seconds` pass, waking each sleeper at its own instant."""
        target = self._elapsed + timedelta(seconds=seconds)
        while self._sleepers and self._sleepers[0][0] <= target:
            at, _, wake = heapq.heappop(self._sleepers)
            self._elapsed = max(self._elapsed, at)
            if not wake.done():
                wake.set_result(None)
            await _let_others_run()
        self._elapsed = target
        await _let_others_run()


async def _let_others_run() -> None:
    # A woken task may need several turns of the loop before it sleeps again.
    for _ in range(10):
        await asyncio.sleep(0)


def parse_speed(text: str) -> float:
    """Return the factor of a `--clock` value such as `60x` or `0.5x`.

    Raises ValueError when it is neither.
    """
    number = text.lower().removesuffix("x")
    try:
        speed = float(number)
    except ValueError:
        speed = 0.0
    if not text.lower().endswith("x") or not 0 < speed <= 1_000_000:  # noqa: PLR2004 - a sanity bound
        raise ValueError(f"a clock is 'real', 'virtual' or a factor such as '60x', not {text!r}")
    return speed
