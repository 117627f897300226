"""When a collection that is still open is polled. Pure.

The first poll comes after its event is overdue; each later one waits longer. An expired prompt of
live mode is two minutes old (assumption EXPIRY), a test collection completes within twenty seconds.
"""

from collections.abc import Mapping
from datetime import datetime, timedelta
from itertools import accumulate
from typing import Final

from kusanya.domain.assumptions import LIVE_EXPIRY
from kusanya.domain.limits import TEST_COMPLETION_MAX
from kusanya.wire import Mode

_GRACE: Final = timedelta(seconds=10)
"""How long an event is on its way before we ask ourselves."""
FIRST_POLL: Final[Mapping[Mode, timedelta]] = {
    Mode.TEST: TEST_COMPLETION_MAX + _GRACE,
    Mode.LIVE: LIVE_EXPIRY + _GRACE,
}
"""Age at which an open collection is first polled."""
GAPS: Final = (
    timedelta(seconds=30),
    timedelta(minutes=1),
    timedelta(minutes=2),
    timedelta(minutes=5),
    timedelta(minutes=15),
    timedelta(hours=1),
)
"""Waits after the first to the sixth poll; the last one repeats for ever."""
_SPREAD: Final = 0.25


def polls_due(*, age: timedelta, mode: Mode, chance: float) -> int:
    """Return how many polls of a collection of this age have been due, one at least.

    Known from the age alone: whichever poller asks, and after any restart, it goes on from there.
    """
    since = age - FIRST_POLL[mode]
    return 1 + sum(gap * _spread(chance) <= since for gap in accumulate(GAPS))


def next_poll(*, polls: int, last_at: datetime, chance: float) -> datetime:
    """Return when to poll again after poll number `polls` (from 1), made at `last_at`.

    `chance` from 0 to 1 spreads each gap by a quarter both ways, so that collections created
    together are not asked for together for ever. Raises ValueError before the first look.
    """
    if polls < 1:
        raise ValueError(f"polls are counted from 1, not {polls}")
    gap = GAPS[min(polls, len(GAPS)) - 1]
    return last_at + gap * _spread(chance)


def _spread(chance: float) -> float:
    return 1 - _SPREAD + 2 * _SPREAD * chance
