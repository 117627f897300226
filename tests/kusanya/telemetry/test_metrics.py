"""One entry is one metric: README and alerts speak of those that there are, and of no other."""

import re
from pathlib import Path
from typing import Any

import pytest

from kusanya.alarms import gauges
from kusanya.alarms.prometheus_alerts import alerts
from kusanya.receiver import metrics as receiver_metrics
from kusanya.telemetry.metrics import Histogram, Metric, MetricType, families

README = Path(__file__).parents[3] / "lib" / "docs" / "running.md"
RECEIVER: tuple[Metric[Any], ...] = receiver_metrics.METRICS
STORE: tuple[Metric[Any], ...] = (gauges.READABLE, *gauges.METRICS)


def row(metric: Metric[Any]) -> str:
    labels = ", ".join(f"`{label}`" for label in metric.labels)
    return f"| `{metric.shown_name}` | {metric.type.value} | {labels} | {metric.help} |"


@pytest.mark.parametrize(
    ("heading", "metrics"),
    [("| of the receiver |", RECEIVER), ("| of the store |", STORE)],
    ids=["receiver", "store"],
)
def test_the_readme_lists_every_metric_as_its_entry_says(
    heading: str, metrics: tuple[Metric[Any], ...]
) -> None:
    _, _, after = README.read_text(encoding="utf-8").partition(heading)
    table = after.split("\n\n", 1)[0].splitlines()[2:]
    assert table == [row(metric) for metric in metrics]


def test_every_name_is_one_metric_and_alerts_use_no_other() -> None:
    names = [metric.shown_name for metric in (*RECEIVER, *STORE)]
    assert len(set(names)) == len(names)
    said = {name for alert in alerts() for name in re.findall(r"kusanya_\w+", alert.expression)}
    # A histogram is asked for by its buckets, its count and its sum.
    asked = {re.sub("_(bucket|count|sum)$", "", name) for name in said}
    assert asked
    assert asked <= set(names)


def test_an_entry_is_a_metric_with_its_labels_and_values() -> None:
    counted = Metric[int](
        name="kusanya_pages",
        help="Pages.",
        type=MetricType.COUNTER,
        labels=("of",),
        read=lambda it: [(("a",), it), (("b",), 2)],
    )
    timed = Metric[int](
        name="kusanya_waits",
        help="Waits.",
        type=MetricType.HISTOGRAM,
        read=lambda it: [((), Histogram((("1.0", 1.0), ("+Inf", it)), 4.5))],
    )
    samples = [
        (sample.name, sample.labels, sample.value)
        for family in families((counted, timed), 3)
        for sample in family.samples
    ]
    assert samples == [
        ("kusanya_pages_total", {"of": "a"}, 3),
        ("kusanya_pages_total", {"of": "b"}, 2),
        ("kusanya_waits_bucket", {"le": "1.0"}, 1.0),
        ("kusanya_waits_bucket", {"le": "+Inf"}, 3),
        ("kusanya_waits_count", {}, 3),
        ("kusanya_waits_sum", {}, 4.5),
    ]
