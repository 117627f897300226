"""What is usual for each channel: how long its prompts take, and how many end without money.

From the rollups and the newest final states of a week, so it costs the same however long the
history is. It changes slowly: `HistoryReader` reads it anew after some minutes.
"""

import math
from collections import Counter
from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Final

import msgspec

from kusanya.domain.business_day import EAT
from kusanya.domain.failure_codes import FAILURE_CODES
from kusanya.domain.status import CODED, FINAL, UNPAID, CodeClass
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
_WITHOUT_HISTORY: Final = 0.6
_LEAST_BOUND, _MOST_BOUND = 0.05, 0.9
_SHRUNK_BY: Final = 50
"""An hour of the day is drawn to the whole day as if by so many payments more."""
_DEVIATIONS: Final = 2.0
_MARGIN: Final = 0.03
"""Above the usual share lies a bound, so that a slow drift is no trouble."""


class FailureClass(StrEnum):
    """Whose matter it is that a payment brought no money."""

    NETWORK = "network"
    """The network's: also an expiry, and a code that nobody knows."""
    CUSTOMER = "customer"
    OURS = "ours"
    """What we sent was refused: a number, an amount."""


def class_of(status: str, failure_code: str | None) -> FailureClass | None:
    """Return whose matter it is that a payment ended without money; None for any other."""
    if status not in UNPAID:
        return None
    known = FAILURE_CODES.get(failure_code or "") if status in CODED else None
    return FailureClass.NETWORK if known is None else _CLASS_OF.get(known.group, _NETWORKS)


_NETWORKS: Final = FailureClass.NETWORK
_CLASS_OF: Final = {
    CodeClass.CUSTOMER: FailureClass.CUSTOMER,
    CodeClass.DATA: FailureClass.OURS,
}


class History(msgspec.Struct, frozen=True, kw_only=True):
    """What the last week was like, up to the hour before `at`."""

    at: datetime
    usual_times: Mapping[str, timedelta]
    """By channel, the time from creation to completion that 95 % do not exceed."""
    usual_failures: Mapping[tuple[str, FailureClass], "UsualFailures"]
    """By channel and class; a channel with too few payments is left out."""


class UsualFailures(msgspec.Struct, frozen=True, kw_only=True):
    """How many payments of a channel ended in a week, and how many for reasons of one class."""

    hours: tuple[tuple[int, int], ...] = ()
    """Finals and failed of each hour of the day in East Africa; none where it is not known."""

    @property
    def finals_a_day(self) -> float:
        """Return how many payments end within a day."""
        return sum(finals for finals, _ in self.hours) / _WEEK.days

    @property
    def share(self) -> float | None:
        """Return the share that ended without money; None where it is not known."""
        finals = sum(finals for finals, _ in self.hours)
        return sum(failed for _, failed in self.hours) / finals if finals else None

    def bound(self, at: datetime) -> float:
        """Return the share that is no trouble yet at this hour of the day."""
        whole = self.share
        if whole is None:
            return _WITHOUT_HISTORY
        finals, failed = self.hours[at.astimezone(EAT).hour]
        count = finals + _SHRUNK_BY
        share = (failed + _SHRUNK_BY * whole) / count
        spread = math.sqrt(share * (1 - share) / count)
        bound = share + _DEVIATIONS * spread + _MARGIN
        return min(max(bound, _LEAST_BOUND), _MOST_BOUND)


class FailureRate(msgspec.Struct, frozen=True, kw_only=True):
    """A channel in trouble: how many payments ended, and without money, since it began."""

    channel: str
    whose: FailureClass
    since: datetime
    """When it began, as far as can be told."""
    finals: int
    failed: int
    """For reasons of the class."""
    usual: float | None
    """The share in the week before; None where there were too few payments."""


def load_history(store: Store, mode: Mode, *, now: datetime) -> History:
    """Return what the week before the last two hours was like. Raises StoreError."""
    rows = store.rollups.collections(mode, since=now - _WEEK, until=_recent(now))
    return History(
        at=now,
        usual_times={
            one.channel: one.p95
            for one in times_to_final(store, mode, since=now - _WEEK)
            if one.count >= _TIMES_NEEDED
        },
        usual_failures=_usual_failures(rows),
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


def _usual_failures(
    rows: Iterable[RollupRow],
) -> dict[tuple[str, FailureClass], UsualFailures]:
    finals = Counter[tuple[str, int]]()
    failed = Counter[tuple[str, FailureClass | None, int]]()
    for row in rows:
        hour = row.hour.astimezone(EAT).hour
        if row.status in FINAL:
            finals[row.channel, hour] += row.count
        failed[row.channel, class_of(row.status, row.failure_code), hour] += row.count
    found = {}
    for channel in sorted({channel for channel, _ in finals}):
        if sum(finals[channel, hour] for hour in range(24)) < _FINALS_NEEDED:
            continue
        for whose in FailureClass:
            hours = ((finals[channel, hour], failed[channel, whose, hour]) for hour in range(24))
            found[channel, whose] = UsualFailures(hours=tuple(hours))
    return found
