"""What the receiver counts, and how Prometheus reads it: METRICS has an entry for each.

Counting costs a few additions per delivery; the exposition format is made when somebody asks.
"""

from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from datetime import datetime, timedelta
from itertools import accumulate
from typing import TYPE_CHECKING, Final, Protocol

import msgspec

from kusanya.store.records import Arrival, Verdict
from kusanya.telemetry.metrics import Histogram, Metric, MetricType, expose, families

if TYPE_CHECKING:
    from prometheus_client.core import Metric as Family

BUCKETS_S: Final = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 8.0)
"""Upper bounds of the acknowledgement histogram, up to the time we give ourselves."""


class ReceiverMetrics:
    """Exact counts since the start of this process; read and written on one event loop."""

    def __init__(self, endpoints: Iterable[str], *, started_at: datetime) -> None:
        self.last_authentic_at: dict[str, datetime] = dict.fromkeys(endpoints, started_at)
        """When each endpoint's last authentic delivery came; this process's start before that."""
        self.lag: dict[str, timedelta] = {}
        """From the event's creation to its arrival, of the last authentic delivery."""
        self.deliveries: Counter[tuple[str, Verdict]] = Counter()
        """Durable deliveries by endpoint and verdict."""
        self.refused: Counter[int] = Counter()
        """Requests that were answered without being kept, by HTTP status."""
        self.discarded = 0
        """Requests whose sender went away before their body was complete."""
        self.in_flight = 0
        self._buckets = [0] * (len(BUCKETS_S) + 1)
        self._seconds = 0.0

    def acknowledged(self, arrival: Arrival, verdict: Verdict, seconds: float) -> None:
        """Count a delivery whose answer was sent `seconds` after its request began."""
        endpoint = arrival.endpoint
        self.deliveries[endpoint, verdict] += 1
        if verdict is not Verdict.REJECTED:
            self.last_authentic_at[endpoint] = arrival.arrived_at
            if arrival.event_created_at is not None:
                self.lag[endpoint] = arrival.arrived_at - arrival.event_created_at
        self._buckets[bisect_left(BUCKETS_S, seconds)] += 1
        self._seconds += seconds

    def exposition(
        self, *, queue_depth: Callable[[], int], now: datetime, gauges: "Gauges | None" = None
    ) -> tuple[bytes, bytes] | None:
        """Return body and content type for a scrape at `now`, or None without prometheus-client."""
        collector = _Collector(ReceiverReading(self, queue_depth(), now))
        return expose(collector) if gauges is None else expose(collector, gauges)

    @property
    def acknowledgements(self) -> Histogram:
        """Return how long answers took, in seconds."""
        below = accumulate(map(float, self._buckets))
        bounds = (*map(str, BUCKETS_S), "+Inf")
        return Histogram(tuple(zip(bounds, below, strict=True)), self._seconds)


class ReceiverReading(msgspec.Struct, frozen=True):
    """What the metrics are read from."""

    metrics: ReceiverMetrics
    queue_depth: int
    at: datetime


METRICS: Final[tuple[Metric[ReceiverReading], ...]] = (
    Metric(
        name="kusanya_deliveries",
        help="Deliveries made durable, by endpoint and verdict.",
        type=MetricType.COUNTER,
        labels=("endpoint", "verdict"),
        read=lambda it: [
            ((endpoint, verdict.value), count)
            for (endpoint, verdict), count in sorted(it.metrics.deliveries.items())
        ],
    ),
    Metric(
        name="kusanya_refused_requests",
        help="Requests answered without being kept, by HTTP status.",
        type=MetricType.COUNTER,
        labels=("status",),
        read=lambda it: [
            ((str(status),), count) for status, count in sorted(it.metrics.refused.items())
        ],
    ),
    Metric(
        name="kusanya_discarded_requests",
        help="Requests whose sender went away before their body was complete.",
        type=MetricType.COUNTER,
        read=lambda it: [((), it.metrics.discarded)],
    ),
    Metric(
        name="kusanya_ack_seconds",
        help="From the begin of a request to its durable acknowledgement.",
        type=MetricType.HISTOGRAM,
        read=lambda it: [((), it.metrics.acknowledgements)],
    ),
    Metric(
        name="kusanya_requests_in_flight",
        help="Requests being handled now.",
        read=lambda it: [((), it.metrics.in_flight)],
    ),
    Metric(
        name="kusanya_journal_queue_rows",
        help="Rows waiting for the journal's writer.",
        read=lambda it: [((), it.queue_depth)],
    ),
    Metric(
        name="kusanya_silence_seconds",
        help="Since the last authentic delivery, or since the start, by endpoint.",
        labels=("endpoint",),
        read=lambda it: [
            ((endpoint,), (it.at - last_at).total_seconds())
            for endpoint, last_at in sorted(it.metrics.last_authentic_at.items())
        ],
    ),
    Metric(
        name="kusanya_delivery_lag_seconds",
        help="From an event's creation to its arrival, of the last authentic delivery.",
        labels=("endpoint",),
        read=lambda it: [
            ((endpoint,), behind.total_seconds())
            for endpoint, behind in sorted(it.metrics.lag.items())
        ],
    ),
)


class Gauges(Protocol):
    """Gauges of the store beside a process's own: a collector that is called to read."""

    def refresh(self) -> None:
        """Read the store; blocks, and never raises StoreError."""
        ...

    def collect(self) -> "Iterator[Family]":
        """Return the gauges of the last reading."""
        ...


class _Collector:
    def __init__(self, reading: ReceiverReading) -> None:
        self._reading = reading

    def collect(self) -> "Iterator[Family]":
        return families(METRICS, self._reading)
