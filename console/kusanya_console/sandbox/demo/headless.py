"""The demo without a terminal: a line a second, a JSON summary, and a verdict.

Orders are placed for a part of the time; the rest is left for the last of them to become final and
be announced. Then service, store and events are compared, collection by collection.
"""

import sys
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Final, Self

import msgspec

from kusanya.clock import Clock, SystemClock
from kusanya.domain.limits import ACKNOWLEDGEMENT_TIME, RETRY_GAPS, TEST_COMPLETION_MAX
from kusanya.domain.status import FINAL, Status
from kusanya.store.records import DeliveryFilter, Key, Verdict
from kusanya.wire import Mode
from kusanya_console.sandbox.dashboard.client import DashboardClient
from kusanya_console.sandbox.demo.convergence import Mismatch, StoredState, compare

if TYPE_CHECKING:
    from kusanya.store import Store
    from kusanya_console.sandbox.demo.stage import Stage

_SETTLE_S: Final = 3.0
"""Real seconds for the last events to arrive after the last completion."""
_GRACE: Final = TEST_COMPLETION_MAX + ACKNOWLEDGEMENT_TIME + RETRY_GAPS[0]
"""How long past the asked-for time, in the service's time, a last event may take.

A delivery that failed because an earlier demo was killed comes again after the first gap.
"""
_LONG_AGO: Final = datetime(2020, 1, 1, tzinfo=UTC)
_FAR_AHEAD: Final = datetime(2120, 1, 1, tzinfo=UTC)
_SHOWN: Final = 20


class Summary(msgspec.Struct, kw_only=True):
    """The closing JSON document. Durations of `lag_ms` are real milliseconds."""

    converged: bool
    collections: int
    by_status: dict[str, int]
    deliveries: dict[str, int]
    lag_ms: dict[str, int | None]
    seconds: float
    collections_per_second: float
    mismatches: list[Mismatch]
    """The first twenty, where there are any."""


def orders_for(seconds: float, *, speed: float) -> float:
    """Return for how many seconds orders are placed in a run of `seconds`."""
    return max(2.0, seconds - TEST_COMPLETION_MAX.total_seconds() / speed - _SETTLE_S)


def watch(stage: "Stage", *, seconds: float, clock: Clock | None = None) -> bool:
    """Print a line a second until the time is over and all is final; return whether all agree."""
    from kusanya.store import Store

    clock = clock or SystemClock()
    started = clock.monotonic()
    latest = seconds + _SETTLE_S + _GRACE.total_seconds() / stage.speed
    with _Judge(stage) as judge, Store.open(stage.folder.store_url, read_only=True) as store:
        lags = _Lags(store, speed=stage.speed)
        for second in _ticks(clock):
            stage.check()
            counts, verdicts = _counts(store), _verdicts(store)
            sys.stdout.write(_line(second, counts, verdicts, lags.read()) + "\n")
            sys.stdout.flush()
            elapsed = clock.monotonic() - started
            if elapsed >= latest:
                break
            if elapsed >= seconds and not _open(counts) and not judge.mismatches(store)[1]:
                break
        served, mismatches = judge.mismatches(store)
    summary = Summary(
        converged=not mismatches and sum(counts.values()) == served > 0,
        collections=served,
        by_status=counts,
        deliveries=verdicts,
        lag_ms={"p50": lags.percentile(0.5), "p99": lags.percentile(0.99)},
        seconds=round(elapsed, 1),
        collections_per_second=round(served / orders_for(seconds, speed=stage.speed), 1),
        mismatches=list(mismatches[:_SHOWN]),
    )
    sys.stdout.write(msgspec.json.encode(summary).decode() + "\n")
    sys.stdout.flush()
    return summary.converged


def _ticks(clock: Clock) -> Iterator[int]:
    started, second = clock.monotonic(), 0
    while True:
        second += 1
        clock.sleep(started + second - clock.monotonic())
        yield second


def _counts(store: "Store") -> dict[str, int]:
    counts: dict[str, int] = {}
    for row in store.rollups.collections(Mode.TEST, since=_LONG_AGO, until=_FAR_AHEAD):
        counts[row.status] = counts.get(row.status, 0) + row.count
    return counts


def _verdicts(store: "Store") -> dict[str, int]:
    counts: dict[str, int] = {}
    for row in store.rollups.deliveries(Mode.TEST, since=_LONG_AGO, until=_FAR_AHEAD):
        counts[row.verdict] = counts.get(row.verdict, 0) + row.count
    return counts


def _open(counts: dict[str, int]) -> int:
    return sum(count for status, count in counts.items() if status not in FINAL)


def _line(
    second: int, counts: dict[str, int], verdicts: dict[str, int], lag: timedelta | None
) -> str:
    states = "  ".join(f"{status} {counts.get(status, 0):>4}" for status in Status)
    lag_text = "     -" if lag is None else f"{lag / timedelta(milliseconds=1):4.0f} ms"
    return f"{second:>4} s  {states}  verified {verdicts.get('verified', 0):>4}  lag {lag_text}"


class _Lags:
    """How long after an event's creation its first delivery was here, in real time."""

    def __init__(self, store: "Store", *, speed: float) -> None:
        self._store = store
        self._speed = speed
        self._seen: Key | None = None
        self.all: list[timedelta] = []

    def read(self) -> timedelta | None:
        """Return the longest lag among arrivals since the last reading; None for no arrival."""
        where = DeliveryFilter(verdicts=(Verdict.VERIFIED,))
        fresh: list[timedelta] = []
        while True:
            page = self._store.deliveries.page(Mode.TEST, where=where, newer_than=self._seen)
            if page.rows:
                self._seen = page.rows[0].key
            fresh.extend(
                (row.arrived_at - row.event_created_at) / self._speed
                for row in page.rows
                if row.event_created_at is not None
            )
            if not page.more or not page.rows:
                break
        self.all.extend(fresh)
        return max(fresh, default=None)

    def percentile(self, share: float) -> int | None:
        """Return a percentile of all lags in whole milliseconds."""
        if not self.all:
            return None
        ordered = sorted(self.all)
        return ordered[min(len(ordered) - 1, int(share * len(ordered)))] // timedelta(
            milliseconds=1
        )


class _Judge:
    """Asks the service and compares; see `convergence.compare`."""

    def __init__(self, stage: "Stage") -> None:
        from kusanya.client import Client

        self._dashboard = DashboardClient(stage.addresses.dashboard_url, stage.dashboard_token)
        self._client = Client(stage.addresses.test_key, base_url=stage.addresses.base_url)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._client.close()
        self._dashboard.close()

    def mismatches(self, store: "Store") -> tuple[int, tuple[Mismatch, ...]]:
        """Return how many collections the service has, and on which of them not all agree."""
        served = list(self._dashboard.every("collections", mode="test"))
        return len(served), compare(
            served, kept=lambda found: _kept(store, found), announced=self._announced
        )

    def _announced(self, event_id: str) -> tuple[str, str]:
        event = self._client.get_event(event_id)
        return event.data.id, event.data.status


def _kept(store: "Store", collection_id: str) -> StoredState | None:
    row = store.collections.get(collection_id, Mode.TEST)
    if row is None:
        return None
    return StoredState(row.status, row.amount, row.fee, row.event_id, row.contradictions)
