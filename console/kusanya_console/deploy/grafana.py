"""A Grafana board of the metrics that receiver and watcher answer."""

import json
from typing import Any, Final

import msgspec


class Panel(msgspec.Struct, frozen=True, kw_only=True):
    """One graph: what it shows, and of which query."""

    title: str
    expression: str
    legend: str = ""
    unit: str = "short"
    kind: str = "timeseries"


_MODE: Final = '{mode=~"$mode"}'
PANELS: Final = (
    Panel(
        title="Alarms that stand",
        expression=f"max by (mode, code, subject, severity) (kusanya_alarm{_MODE})",
        legend="{{severity}}: {{code}} {{subject}}",
        kind="table",
    ),
    Panel(
        title="Stores that can be read",
        expression=f"min by (instance) (kusanya_store_readable{_MODE})",
        legend="{{instance}}",
        kind="stat",
    ),
    Panel(
        title="Deliveries",
        expression="sum by (endpoint, verdict) (rate(kusanya_deliveries_total[5m]))",
        legend="{{endpoint}} {{verdict}}",
        unit="reqps",
    ),
    Panel(
        title="Requests refused",
        expression="sum by (status) (rate(kusanya_refused_requests_total[5m]))",
        legend="{{status}}",
        unit="reqps",
    ),
    Panel(
        title="Senders that went away",
        expression="sum(rate(kusanya_discarded_requests_total[5m]))",
        legend="all",
        unit="reqps",
    ),
    Panel(
        title="Acknowledged within, 99 of 100",
        expression="histogram_quantile(0.99, sum by (le) (rate(kusanya_ack_seconds_bucket[5m])))",
        legend="p99",
        unit="s",
    ),
    Panel(
        title="From the event to its arrival",
        expression="max by (endpoint) (kusanya_delivery_lag_seconds)",
        legend="{{endpoint}}",
        unit="s",
    ),
    Panel(
        title="Since the last delivery",
        expression="min by (endpoint) (kusanya_silence_seconds)",
        legend="{{endpoint}}",
        unit="s",
    ),
    Panel(
        title="Requests being handled",
        expression="sum by (instance) (kusanya_requests_in_flight)",
        legend="{{instance}}",
    ),
    Panel(
        title="Rows that wait to be written",
        expression="max by (instance) (kusanya_journal_queue_rows)",
        legend="{{instance}}",
    ),
    Panel(
        title="Creations without an answer",
        expression=f"max by (mode) (kusanya_unknown_outcomes{_MODE})",
        legend="unknown, {{mode}}",
    ),
    Panel(
        title="Creations on which no program works",
        expression=f"max by (mode) (kusanya_stalled_intents{_MODE})",
        legend="stalled, {{mode}}",
    ),
    Panel(
        title="Events that are missing",
        expression=f"max by (mode) (kusanya_missing_events{_MODE})",
        legend="{{mode}}",
    ),
    Panel(
        title="Prompts open for too long",
        expression=f"max by (channel) (kusanya_stuck_prompts{_MODE})",
        legend="{{channel}}",
    ),
    Panel(
        title="Until an endpoint is disabled",
        expression=f"min by (endpoint) (kusanya_fuse_seconds_left{_MODE})",
        legend="{{endpoint}}",
        unit="s",
    ),
    Panel(
        title="Since a poller ran",
        expression=f"min by (mode) (kusanya_poller_heartbeat_age_seconds{_MODE})",
        legend="{{mode}}",
        unit="s",
    ),
    Panel(
        title="Clocks behind the service's",
        expression=f"max by (machine) (kusanya_clock_offset_seconds{_MODE})",
        legend="{{machine}}",
        unit="s",
    ),
    Panel(
        title="Outcomes that wait",
        expression=f"max by (consumer) (kusanya_outcomes_waiting{_MODE})",
        legend="{{consumer}}",
    ),
    Panel(
        title="Outcomes that wait for a person",
        expression=f"max by (consumer) (kusanya_outcomes_parked{_MODE})",
        legend="{{consumer}}",
    ),
    Panel(
        title="Since the customer paid who waits longest",
        expression=f"max by (consumer) (kusanya_paid_and_waiting_seconds{_MODE})",
        legend="{{consumer}}",
        unit="s",
    ),
    Panel(
        title="Room on the disk of the store",
        expression="min by (instance) (kusanya_store_free_bytes)",
        legend="{{instance}}",
        unit="bytes",
    ),
    Panel(
        title="Since the newest backup",
        expression="min(kusanya_backup_age_seconds)",
        legend="verified",
        unit="s",
    ),
    Panel(
        title="Until the months of deliveries end",
        expression="min(kusanya_months_left_seconds)",
        legend="left",
        unit="s",
    ),
)
_COLUMNS: Final = 3
_WIDTH, _HEIGHT = 8, 7
_SOURCE: Final = {"type": "prometheus", "uid": "${source}"}


def render_grafana() -> str:
    """Return the board as JSON that Grafana imports."""
    source = {"name": "source", "label": "Source", "type": "datasource", "query": "prometheus"}
    mode = {
        "name": "mode",
        "label": "Mode",
        "type": "query",
        "datasource": _SOURCE,
        "query": "label_values(kusanya_store_readable, mode)",
        "includeAll": True,
        "multi": True,
        "refresh": 2,
    }
    found = {
        "title": "Kusanya",
        "uid": "kusanya",
        "schemaVersion": 39,
        "tags": ["kusanya"],
        "refresh": "30s",
        "time": {"from": "now-6h", "to": "now"},
        "timezone": "Africa/Dar_es_Salaam",
        "templating": {"list": [source, mode]},
        "panels": [_panel(place, one) for place, one in enumerate(PANELS)],
    }
    return json.dumps(found, indent=2) + "\n"


def _panel(place: int, panel: Panel) -> dict[str, Any]:
    row, column = divmod(place, _COLUMNS)
    target: dict[str, Any] = {
        "refId": "A",
        "datasource": _SOURCE,
        "expr": panel.expression,
        "legendFormat": panel.legend,
    }
    if panel.kind == "table":
        target |= {"instant": True, "format": "table"}
    return {
        "id": place + 1,
        "type": panel.kind,
        "title": panel.title,
        "datasource": _SOURCE,
        "gridPos": {"x": column * _WIDTH, "y": row * _HEIGHT, "w": _WIDTH, "h": _HEIGHT},
        "fieldConfig": {"defaults": {"unit": panel.unit}, "overrides": []},
        "targets": [target],
    }
