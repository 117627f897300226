"""The service's time: wall time to print and sign with, monotonic time to schedule by.

Monotonic time never jumps: it starts at the wall's time, goes on after a restart of the service as
far as the machine's uptime tells, and grows with the monotonic clock, so
that a changed wall clock neither shortens the retention of a key nor hastens an attempt. With a
virtual clock both stand still until they are moved. All instants are whole milliseconds since 1970
in UTC: a float loses instants and a datetime costs too much per request.
"""

from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Final, Protocol

import msgspec

from kusanya.clock import Clock, ScaledClock, SystemClock, parse_speed
from kusanya_service.errors import BadOption, ClockBehind
from kusanya_service.simulation.stored_clock import ReadUptime, StoredClock, read_uptime

SECOND_MS: Final = 1_000
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MILLISECOND: Final = timedelta(milliseconds=1)
REAL: Final = "real"
VIRTUAL: Final = "virtual"
SCALED: Final = "scaled"


def to_ms(at: datetime) -> int:
    """Return an aware datetime as milliseconds since 1970, cut down to a whole one."""
    return (at - _EPOCH) // _MILLISECOND


def from_ms(at_ms: int) -> datetime:
    """Return the aware UTC datetime of milliseconds since 1970."""
    return _EPOCH + timedelta(milliseconds=at_ms)


def span_ms(span: timedelta) -> int:
    """Return a duration in whole milliseconds."""
    return span // _MILLISECOND


def iso(at_ms: int) -> str:
    """Return an instant as the wire shows it: ISO 8601 in UTC with milliseconds and a Z."""
    second, rest = divmod(at_ms, SECOND_MS)
    return f"{_second(second)}.{rest:03d}Z"


def iso_or_none(at_ms: int | None) -> str | None:
    """Return an instant as the wire shows it, and None for one that has not come."""
    return None if at_ms is None else iso(at_ms)


@lru_cache(maxsize=4096)
def _second(second: int) -> str:
    return (_EPOCH + timedelta(seconds=second)).strftime("%Y-%m-%dT%H:%M:%S")


class ServiceClock(Protocol):
    """Service time, however it passes."""

    @property
    def kind(self) -> str:
        """Return real, virtual or scaled."""
        ...

    def now_ms(self) -> int:
        """Return the wall time: for what is printed and signed."""
        ...

    def monotonic_ms(self) -> int:
        """Return the monotonic time: for what is scheduled and compared."""
        ...

    @property
    def doubtful_ms(self) -> int:
        """Return how much of the time since an earlier run only the wall clock vouches for."""
        ...

    async def asleep(self, seconds: float) -> None:
        """Suspend for `seconds` of service time."""
        ...

    def state(self) -> "ClockState":
        """Return what a follower of this clock needs to know."""
        ...

    def to_store(self) -> StoredClock:
        """Return what the next start needs to know."""
        ...


class ClockState(msgspec.Struct, frozen=True, kw_only=True):
    """The answer of GET /dashboard/clock.

    A follower of a scaled clock computes origin + (its own now - origin) x speed; one of a virtual
    clock asks again.
    """

    now: str
    kind: str
    speed: float | None
    origin: str | None


class RunningClock:
    """Time that passes by itself: the machine's own, or faster."""

    def __init__(self, clock: Clock, stored: StoredClock, *, kind: str, uptime: ReadUptime) -> None:
        self.kind: Final = kind
        self.source: Final = clock
        self._uptime = uptime
        self._speed: Final = clock.speed if isinstance(clock, ScaledClock) else 1.0
        last_ms, passed_ms = stored.last_ms, stored.machine_ms_since(uptime())
        if last_ms is not None and passed_ms is not None:
            self._ms_at_start = last_ms + int(passed_ms * self._speed)
            self.doubtful_ms = 0
        else:
            self._ms_at_start = max(to_ms(clock.now()), last_ms or 0)
            self.doubtful_ms = 0 if last_ms is None else self._ms_at_start - last_ms
        self._seconds_at_start = clock.monotonic()

    def now_ms(self) -> int:
        """Return the clock's wall time."""
        return to_ms(self.source.now())

    def monotonic_ms(self) -> int:
        """Return the time of the start and what has passed since."""
        passed = self.source.monotonic() - self._seconds_at_start
        return self._ms_at_start + int(passed * SECOND_MS)

    async def asleep(self, seconds: float) -> None:
        """Suspend the calling task."""
        await self.source.asleep(seconds)

    def state(self) -> ClockState:
        """Return kind, speed and origin."""
        origin_ms = self._origin_ms()
        origin = None if origin_ms is None else iso(origin_ms)
        return ClockState(now=iso(self.now_ms()), kind=self.kind, speed=self._speed, origin=origin)

    def to_store(self) -> StoredClock:
        """Return time, uptime, origin and speed."""
        return StoredClock(
            last_ms=self.monotonic_ms(),
            uptime=self._uptime(),
            origin_ms=self._origin_ms(),
            speed=self._speed,
        )

    def _origin_ms(self) -> int | None:
        return to_ms(self.source.origin) if isinstance(self.source, ScaledClock) else None


class VirtualClock:
    """Virtual time: stands still until it is moved, and never moves back."""

    kind: Final = VIRTUAL
    doubtful_ms: Final = 0

    def __init__(self, start_ms: int) -> None:
        self._now_ms = start_ms

    def now_ms(self) -> int:
        """Return where the time stands."""
        return self._now_ms

    def monotonic_ms(self) -> int:
        """Return where the time stands."""
        return self._now_ms

    def move_to(self, at_ms: int) -> None:
        """Set the time; an earlier one leaves it where it is."""
        self._now_ms = max(self._now_ms, at_ms)

    async def asleep(self, seconds: float) -> None:  # noqa: ARG002 - the shape of a ServiceClock
        """Never returns by itself: nothing waits for time that stands still."""
        raise AssertionError("nothing sleeps in virtual time; it is moved from item to item")

    def state(self) -> ClockState:
        """Return where the time stands."""
        return ClockState(now=iso(self._now_ms), kind=VIRTUAL, speed=None, origin=None)

    def to_store(self) -> StoredClock:
        """Return where the time stands: the machine's uptime says nothing about it."""
        return StoredClock(last_ms=self._now_ms)


def make_clock(
    clock: str | Clock,
    stored: StoredClock,
    *,
    starts_at: datetime | None = None,
    uptime: ReadUptime | None = None,
) -> ServiceClock:
    """Return the clock for a `--clock` value or a clock object.

    `starts_at` is where virtual time begins in a fresh data folder. `uptime` tells how much time
    has passed since an earlier run: by default the machine's, and nothing for a clock object, which
    may have a time of its own. Raises BadOption for a value that is none, and ClockBehind when the
    data's time is ahead of real time.
    """
    if not isinstance(clock, str):
        return RunningClock(clock, stored, kind=REAL, uptime=uptime or (lambda: None))
    if clock == VIRTUAL:
        fresh = starts_at or from_ms(to_ms(SystemClock().now()) // SECOND_MS * SECOND_MS)
        return VirtualClock(stored.last_ms or to_ms(fresh))
    if clock == REAL:
        real = _real(stored.last_ms or 0)
        return RunningClock(real, stored, kind=REAL, uptime=uptime or read_uptime)
    try:
        speed = parse_speed(clock)
    except ValueError as error:
        raise BadOption(str(error)) from None
    scaled = _scaled(speed, stored)
    return RunningClock(scaled, stored, kind=SCALED, uptime=uptime or read_uptime)


_AHEAD_MS: Final = 60 * SECOND_MS
"""A difference that a corrected wall clock explains; more was another clock's time."""


def _real(last_ms: int) -> Clock:
    clock = SystemClock()
    if last_ms - to_ms(clock.now()) > _AHEAD_MS:
        raise ClockBehind(
            f"the data's time is {iso(last_ms)}, ahead of the real clock: start with the clock it "
            "was made with, or with another data folder"
        )
    return clock


def _scaled(speed: float, stored: StoredClock) -> Clock:
    real_ms = to_ms(SystemClock().now())
    if stored.origin_ms is not None and stored.speed == speed:
        return ScaledClock(speed, origin=from_ms(stored.origin_ms))
    start_ms = max(real_ms, stored.last_ms or 0)
    if speed == 1:
        return ScaledClock(speed, origin=from_ms(real_ms))
    # Solves origin + (real - origin) x speed = start for the origin.
    return ScaledClock(speed, origin=from_ms(round((real_ms * speed - start_ms) / (speed - 1))))
