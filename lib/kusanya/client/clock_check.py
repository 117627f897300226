"""How far this machine's clock is from the service's, by the `Date` of the service's answers.

Signatures and replay windows are judged by the wall clock, so a clock that is off is an alarm. A
`Date` names whole seconds, and an answer takes its time: the result is good to a second or two.
"""

from collections import deque
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from statistics import median
from typing import Final

from kusanya.client.effects import Reply, Response
from kusanya.clock import Clock

_COMPARED: Final = 3
"""The middle one of so many counts: a single answer may come out of a cache."""
_TOO_SLOW_S: Final = 5.0
"""An answer that took longer says too little."""
_HALF_A_SECOND: Final = timedelta(seconds=0.5)


class ClockCheck:
    """What the newest answers say about the clock; used by one client at a time."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._offsets: deque[timedelta] = deque(maxlen=_COMPARED)
        self._noted_at: float | None = None

    def note(self, reply: Reply, *, took_s: float) -> None:
        """Note the `Date` of an answer that took so long; one without it changes nothing."""
        if not isinstance(reply, Response) or not 0 <= took_s <= _TOO_SLOW_S:
            return
        date = _date(reply)
        if date is not None:
            middle = self._clock.now() - timedelta(seconds=took_s / 2)
            self._offsets.append(date + _HALF_A_SECOND - middle)
            self._noted_at = self._clock.monotonic()

    @property
    def offset(self) -> timedelta | None:
        """Return how far this clock is behind the service's, negative where ahead; or None."""
        if not self._offsets:
            return None
        return timedelta(seconds=median(one.total_seconds() for one in self._offsets))

    def is_older_than(self, seconds: float) -> bool:
        """Return whether no answer had the time in it within so many seconds."""
        return self._noted_at is None or self._clock.monotonic() - self._noted_at > seconds


def _date(reply: Response) -> datetime | None:
    text = reply.header("date")
    if text is None or reply.header("age") is not None:
        return None
    try:
        date = parsedate_to_datetime(text)
    except ValueError:
        return None
    return date.astimezone(UTC) if date.tzinfo is not None else date.replace(tzinfo=UTC)
