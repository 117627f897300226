"""What a metric is: its name, its sentence, its type, and where its values are read.

The receiver's metrics are entries of `kusanya.receiver.metrics.METRICS`, the store's gauges of
`kusanya.alarms.gauges.METRICS`. One entry is one metric: `/metrics` and the table of the README
follow from it.
"""

from collections.abc import Callable, Iterable, Iterator
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

import msgspec

if TYPE_CHECKING:
    from prometheus_client.core import Metric as Family

Reading = TypeVar("Reading")


class MetricType(StrEnum):
    """Prometheus's word for how a metric's values behave."""

    COUNTER = "counter"
    """Only grows while the process runs."""
    GAUGE = "gauge"
    HISTOGRAM = "histogram"


class Histogram(msgspec.Struct, frozen=True):
    """The value of a histogram."""

    buckets: tuple[tuple[str, float], ...]
    """Each upper bound, the last is +Inf, with how many were at most so much."""
    sum: float


Values = Iterable[tuple[tuple[str, ...], float | Histogram]]
"""A value for each combination of labels; without labels the combination is ()."""


class Metric(msgspec.Struct, Generic[Reading], frozen=True, kw_only=True):
    """One metric of a program; `read` takes what was read of it."""

    name: str
    """Without the _total that Prometheus adds to a counter's."""
    help: str
    type: MetricType = MetricType.GAUGE
    labels: tuple[str, ...] = ()
    read: Callable[[Reading], Values]

    @property
    def shown_name(self) -> str:
        """Return the name as a scrape has it."""
        return f"{self.name}_total" if self.type is MetricType.COUNTER else self.name


def families(metrics: Iterable[Metric[Reading]], reading: Reading) -> "Iterator[Family]":
    """Yield the metrics with the values of a reading, for prometheus-client."""
    for metric in metrics:
        family = _family(metric)
        for labels, value in metric.read(reading):
            if isinstance(value, Histogram):
                family.add_metric(labels, list(value.buckets), value.sum)
            else:
                family.add_metric(labels, value)
        yield family


def _family(metric: Metric[Any]) -> Any:
    from prometheus_client import core

    made = {
        MetricType.COUNTER: core.CounterMetricFamily,
        MetricType.GAUGE: core.GaugeMetricFamily,
        MetricType.HISTOGRAM: core.HistogramMetricFamily,
    }[metric.type]
    return made(metric.name, metric.help, labels=metric.labels)


class Collector(Protocol):
    """What prometheus-client asks for metrics."""

    def collect(self) -> "Iterator[Family]":
        """Return the metrics as they are now."""
        ...


def expose(*collectors: Collector) -> tuple[bytes, bytes] | None:
    """Return body and content type of a scrape, or None without prometheus-client."""
    try:
        from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, generate_latest
    except ImportError:
        return None
    registry = CollectorRegistry(auto_describe=False)
    for collector in collectors:
        registry.register(collector)
    return generate_latest(registry), CONTENT_TYPE_LATEST.encode()
