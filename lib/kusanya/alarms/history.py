"""What is usual for each channel: how long its prompts take, and how many end without money.

From the rollups and the newest final states of a week, so it costs the same however long the
history is. It changes slowly: `HistoryReader` reads it anew after some minutes.
"""

import math
from collections import Counter
from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from typing import Final

import msgspec

from kusanya.domain.status import FINAL, UNPAID
from kusanya.health.causes import times_to_final
from kusanya.store import Store
from kusanya.store.records import RollupRow
from kusanya.wire import Mode

_HOUR: Final = timedelta(hours=1)
_WEEK: Final = timedelta(days=7)
_TIMES_NEEDED: Final = 20
"""With fewer final states there is no usual time."""
_FINALS_NEEDED: Final = 100
"""With fewer final states in a week there is no usual failure rate."""
_FEWEST: Final = 20
"""Fewer final states say nothing about an hour."""
_WITHOUT_HISTORY: Final = 0.5
_LEAST_USUAL: Final = 0.05
_DEVIATIONS: Final = 6.0
"""So many standard deviations above the usual share are no chance."""
_MARGIN: Final = 0.2
"""And so much of all payments: a busy channel deviates by little things."""


class History(msgspec.Struct, frozen=True, kw_only=True):
    """What the last week was like, up to the hour before `at`."""

    at: datetime
    usual_times: Mapping[str, timedelta]
    """By channel, the time from creation to completion that 95 % do not exceed."""
    usual_failures: Mapping[str, float]
    """By channel, the share of final payments that ended without money."""


class FailureRate(msgspec.Struct, frozen=True, kw_only=True):
    """How many payments of a channel ended without money lately, by hour of creation."""

    channel: str
    since: datetime
    finals: int
    failed: int
    usual: float | None
    """The share in the week before; None where there were too few payments."""

    @property
    def is_unusual(self) -> bool:
        """Return whether the failures are more than chance makes of the usual share."""
        if self.finals < _FEWEST:
            return False
        usual = max(_WITHOUT_HISTORY if self.usual is None else self.usual, _LEAST_USUAL)
        if self.failed < self.finals * (usual + _MARGIN):
            return False
        spread = math.sqrt(self.finals * usual * (1 - usual))
        return spread > 0 and self.failed - self.finals * usual >= _DEVIATIONS * spread


def load_history(store: Store, mode: Mode, *, now: datetime) -> History:
    """Return what the week before the last two hours was like. Raises StoreError."""
    rows = store.rollups.collections(mode, since=now - _WEEK, until=_recent(now))
    finals, failed = _counts(rows)
    return History(
        at=now,
        usual_times={
            one.channel: one.p95
            for one in times_to_final(store, mode, since=now - _WEEK)
            if one.count >= _TIMES_NEEDED
        },
        usual_failures={
            channel: failed[channel] / count
            for channel, count in finals.items()
            if count >= _FINALS_NEEDED
        },
    )


def load_failure_rates(
    store: Store, mode: Mode, history: History, *, now: datetime
) -> tuple[FailureRate, ...]:
    """Return how payments created since the hour before this one ended. Raises StoreError."""
    since = _recent(now)
    finals, failed = _counts(store.rollups.collections(mode, since=since, until=now + _HOUR))
    return tuple(
        FailureRate(
            channel=channel,
            since=since,
            finals=count,
            failed=failed[channel],
            usual=history.usual_failures.get(channel),
        )
        for channel, count in sorted(finals.items())
    )


class HistoryReader:
    """Keeps a history for some minutes of the caller's time."""

    KEPT: Final = timedelta(minutes=5)

    def __init__(self, store: Store, mode: Mode) -> None:
        self._store = store
        self._mode = mode
        self._last: History | None = None

    def read(self, *, now: datetime) -> History:
        """Return the history, read anew where it is older than some minutes. Raises StoreError."""
        last = self._last
        if last is None or abs(now - last.at) >= self.KEPT:
            self._last = last = load_history(self._store, self._mode, now=now)
        return last


def _recent(now: datetime) -> datetime:
    return now.replace(minute=0, second=0, microsecond=0) - _HOUR


def _counts(rows: Iterable[RollupRow]) -> tuple[Counter[str], Counter[str]]:
    finals, failed = Counter[str](), Counter[str]()
    for row in rows:
        if row.status in FINAL:
            finals[row.channel] += row.count
        if row.status in UNPAID:
            failed[row.channel] += row.count
    return finals, failed
