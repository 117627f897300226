"""The alarms and the figures behind them as gauges for Prometheus, for receiver and watcher.

METRICS has an entry for each.

A scrape reads the store, not more often than every few seconds, and never raises: a store that
cannot be read is a gauge of its own, and the others are left out then.
"""

import threading
from collections.abc import Iterator
from datetime import datetime
from typing import TYPE_CHECKING, Final

import msgspec

from kusanya.alarms.alarm import Alarm
from kusanya.alarms.inputs import AlarmInputs, AlarmReader
from kusanya.alarms.rules import raised
from kusanya.clock import Clock, SystemClock
from kusanya.errors import StoreError
from kusanya.store import Store
from kusanya.telemetry.metrics import Metric, families
from kusanya.wire import Mode

if TYPE_CHECKING:
    from prometheus_client.core import Metric as Family

_READ_EVERY_S: Final = 10.0


class GaugeReading(msgspec.Struct, frozen=True, kw_only=True):
    """One reading."""

    at: datetime
    inputs: AlarmInputs
    alarms: tuple[Alarm, ...]
    polled_at: datetime | None
    """When a poller last noted that it runs; None where none did within a week."""

    @property
    def mode(self) -> str:
        """Return the mode of everything that was read."""
        return self.inputs.mode.value


class StoreGauges:
    """A collector for prometheus-client: `refresh` reads the store, `collect` only what it read.

    `refresh` blocks and may be called from any thread; it belongs on no event loop.
    """

    def __init__(self, store: Store, mode: Mode, *, clock: Clock | None = None) -> None:
        self._store = store
        self._mode = mode
        self._clock = clock or SystemClock()
        self._reader = AlarmReader(store, mode)
        self._lock = threading.Lock()
        self._read_at: float | None = None
        self._figures: GaugeReading | None = None

    def refresh(self) -> None:
        """Read the store, unless that was done seconds ago."""
        with self._lock:
            began = self._clock.monotonic()
            if self._read_at is not None and began - self._read_at < _READ_EVERY_S:
                return
            self._read_at = began
            try:
                self._figures = self._read()
            except StoreError:
                self._figures = None

    def _read(self) -> GaugeReading:
        now = self._clock.now()
        inputs = self._reader.read(now=now)
        beats = [one.polled_at for one in self._store.poll_leases.pollers(self._mode)]
        return GaugeReading(
            at=now,
            inputs=inputs,
            alarms=raised(inputs, format_time=str),
            polled_at=max(beats, default=None),
        )

    def collect(self) -> "Iterator[Family]":
        """Return the gauges of the last reading."""
        figures = self._figures
        yield from families((READABLE,), (self._mode, figures is not None))
        if figures is not None:
            yield from families(METRICS, figures)


class UnreadableStore:
    """The gauges of a store that could not be opened yet; for prometheus-client."""

    def __init__(self, mode: Mode) -> None:
        self._mode = mode

    def refresh(self) -> None:
        """Do nothing: there is nothing to read."""

    def collect(self) -> "Iterator[Family]":
        """Return that the store cannot be read."""
        yield from families((READABLE,), (self._mode, False))


READABLE: Final = Metric[tuple[Mode, bool]](
    name="kusanya_store_readable",
    help="1 while the store can be read; while it cannot, its other gauges are left out.",
    labels=("mode",),
    read=lambda it: [((it[0].value,), int(it[1]))],
)
METRICS: Final[tuple[Metric[GaugeReading], ...]] = (
    Metric(
        name="kusanya_alarm",
        help="1 for each alarm that stands.",
        labels=("mode", "code", "severity", "subject"),
        read=lambda it: [
            ((one.mode.value, one.code, one.severity.value, one.subject), 1) for one in it.alarms
        ],
    ),
    Metric(
        name="kusanya_unknown_outcomes",
        help="Creations without an answer, 100 at most.",
        labels=("mode",),
        read=lambda it: [((it.mode,), len(it.inputs.unknown))],
    ),
    Metric(
        name="kusanya_stalled_intents",
        help="Creations on which no program works.",
        labels=("mode",),
        read=lambda it: [((it.mode,), it.inputs.stalled.count)],
    ),
    Metric(
        name="kusanya_missing_events",
        help="Events of the last day that have been missing for an hour.",
        labels=("mode",),
        read=lambda it: [((it.mode,), it.inputs.missing_events)],
    ),
    Metric(
        name="kusanya_stuck_prompts",
        help="Prompts that are open for too long.",
        labels=("mode", "channel"),
        read=lambda it: [((it.mode, one.channel), one.overdue) for one in it.inputs.health.stuck],
    ),
    Metric(
        name="kusanya_fuse_seconds_left",
        help="Until a failure disables a failing endpoint; below 0 it has.",
        labels=("mode", "endpoint"),
        read=lambda it: [
            ((it.mode, one.endpoint), (one.disables_at - it.at).total_seconds())
            for one in it.inputs.health.failing
            if one.disables_at is not None
        ],
    ),
    Metric(
        name="kusanya_outcomes_waiting",
        help="Outcomes of orders that nobody has acted on yet.",
        labels=("mode", "consumer"),
        read=lambda it: [((it.mode, one.name), one.waiting) for one in it.inputs.consumers],
    ),
    Metric(
        name="kusanya_outcomes_parked",
        help="Outcomes of orders that wait for a person.",
        labels=("mode", "consumer"),
        read=lambda it: [((it.mode, one.name), one.parked) for one in it.inputs.consumers],
    ),
    Metric(
        name="kusanya_paid_and_waiting_seconds",
        help="Since the customer paid who waits longest; left out where none does.",
        labels=("mode", "consumer"),
        read=lambda it: [
            ((it.mode, one.name), max((it.at - one.oldest_paid).total_seconds(), 0.0))
            for one in it.inputs.consumers
            if one.oldest_paid is not None
        ],
    ),
    Metric(
        name="kusanya_poller_heartbeat_age_seconds",
        help="Since a poller noted that it runs.",
        labels=("mode",),
        read=lambda it: [
            ((it.mode,), max((it.at - at).total_seconds(), 0.0))
            for at in (it.polled_at,)
            if at is not None
        ],
    ),
    Metric(
        name="kusanya_clock_offset_seconds",
        help="How far a poller's clock is behind the service's.",
        labels=("mode", "machine"),
        read=lambda it: [
            ((it.mode, machine), offset.total_seconds())
            for machine, offset in it.inputs.clock_offsets.items()
        ],
    ),
    Metric(
        name="kusanya_store_free_bytes",
        help="Room on the disk of the store; left out on a database server.",
        read=lambda it: [((), free) for free in (it.inputs.free_bytes,) if free is not None],
    ),
    Metric(
        name="kusanya_backup_age_seconds",
        help="Since the newest verified backup; left out where there is none.",
        read=lambda it: [
            ((), max((it.at - one.at).total_seconds(), 0.0))
            for one in (it.inputs.backup.last,)
            if one is not None
        ],
    ),
    Metric(
        name="kusanya_months_left_seconds",
        help="Until the tables of deliveries end; left out where deliveries are in one table.",
        read=lambda it: [
            ((), (until - it.at).total_seconds())
            for until in (it.inputs.months_until,)
            if until is not None
        ],
    ),
)
