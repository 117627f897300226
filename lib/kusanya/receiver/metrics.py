"""What the receiver counts, and how it is read by Prometheus.

Counting costs a few additions per delivery; the exposition format is made when somebody asks.
"""

from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Final

from kusanya.store.records import Arrival, Verdict

if TYPE_CHECKING:
    from prometheus_client.core import Metric

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
        self, *, queue_depth: Callable[[], int], now: datetime
    ) -> tuple[bytes, bytes] | None:
        """Return body and content type for a scrape at `now`, or None without prometheus-client."""
        try:
            from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, generate_latest
        except ImportError:
            return None
        registry = CollectorRegistry(auto_describe=False)
        registry.register(_Collector(self, queue_depth, now))
        return generate_latest(registry), CONTENT_TYPE_LATEST.encode()

    def _cumulative(self) -> list[tuple[str, float]]:
        rows, below = [], 0
        for bound, count in zip((*map(str, BUCKETS_S), "+Inf"), self._buckets, strict=True):
            below += count
            rows.append((bound, float(below)))
        return rows


class _Collector:
    def __init__(
        self, metrics: ReceiverMetrics, queue_depth: Callable[[], int], now: datetime
    ) -> None:
        self._metrics = metrics
        self._now = now
        self._queue_depth = queue_depth

    def collect(self) -> "Iterator[Metric]":
        yield from self._counted()
        yield from self._timeliness()

    def _timeliness(self) -> "Iterator[Metric]":
        from prometheus_client.core import GaugeMetricFamily

        silence = GaugeMetricFamily(
            "kusanya_silence_seconds",
            "Since the last authentic delivery, or since the start, by endpoint.",
            labels=("endpoint",),
        )
        for endpoint, last_authentic_at in sorted(self._metrics.last_authentic_at.items()):
            silence.add_metric((endpoint,), (self._now - last_authentic_at).total_seconds())
        yield silence
        lag = GaugeMetricFamily(
            "kusanya_delivery_lag_seconds",
            "From an event's creation to its arrival, of the last authentic delivery.",
            labels=("endpoint",),
        )
        for endpoint, behind in sorted(self._metrics.lag.items()):
            lag.add_metric((endpoint,), behind.total_seconds())
        yield lag

    def _counted(self) -> "Iterator[Metric]":
        from prometheus_client.core import (
            CounterMetricFamily,
            GaugeMetricFamily,
            HistogramMetricFamily,
        )

        metrics = self._metrics
        deliveries = CounterMetricFamily(
            "kusanya_deliveries",
            "Deliveries made durable, by endpoint and verdict.",
            labels=("endpoint", "verdict"),
        )
        for (endpoint, verdict), count in sorted(metrics.deliveries.items()):
            deliveries.add_metric((endpoint, verdict.value), count)
        yield deliveries
        refused = CounterMetricFamily(
            "kusanya_refused_requests",
            "Requests answered without being kept, by HTTP status.",
            labels=("status",),
        )
        for status, count in sorted(metrics.refused.items()):
            refused.add_metric((str(status),), count)
        yield refused
        yield CounterMetricFamily(
            "kusanya_discarded_requests",
            "Requests whose sender went away before their body was complete.",
            value=metrics.discarded,
        )
        yield HistogramMetricFamily(
            "kusanya_ack_seconds",
            "From the begin of a request to its durable acknowledgement.",
            buckets=metrics._cumulative(),  # noqa: SLF001 - its own half
            sum_value=metrics._seconds,  # noqa: SLF001 - its own half
        )
        yield GaugeMetricFamily(
            "kusanya_requests_in_flight", "Requests being handled now.", value=metrics.in_flight
        )
        yield GaugeMetricFamily(
            "kusanya_journal_queue_rows",
            "Rows waiting for the journal's writer.",
            value=self._queue_depth(),
        )
