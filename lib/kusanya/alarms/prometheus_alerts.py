"""`alerts.yml` for Prometheus: an alert for each alarm rule, on the gauges of `alarms.gauges`.

Whether an alarm is raised is decided once, by the rules of this package. Prometheus reads their
result and adds what nobody can tell of himself: that the store or the program is away.
"""

import json
from typing import Final

import msgspec

from kusanya.alarms.alarm import RUNBOOK, Rule
from kusanya.alarms.rules import RULES


class Alert(msgspec.Struct, frozen=True, kw_only=True):
    """One alerting rule."""

    name: str
    expression: str
    for_: str
    severity: str
    summary: str
    runbook: str


_AROUND: Final = (
    Alert(
        name="KusanyaStoreUnreadable",
        expression="max by (instance) (kusanya_store_readable) == 0",
        for_="1m",
        severity="urgent",
        summary="The store cannot be read: no other alarm of this instance is up to date.",
        runbook=f"{RUNBOOK}#when-an-alarm-stands",
    ),
    Alert(
        name="KusanyaPollerSilent",
        expression="min by (mode) (kusanya_poller_heartbeat_age_seconds) > 300",
        for_="1m",
        severity="warning",
        summary="No kusanya watch has noted for five minutes that it runs.",
        runbook=f"{RUNBOOK}#alarm-unwatched",
    ),
    Alert(
        name="KusanyaDown",
        expression='up{job=~".*kusanya.*"} == 0',
        for_="2m",
        severity="urgent",
        summary="A receiver or a watcher does not answer for its metrics.",
        runbook=f"{RUNBOOK}#when-an-alarm-stands",
    ),
    Alert(
        name="KusanyaAnswersLate",
        expression=(
            "histogram_quantile(0.99, sum by (instance, le) "
            "(rate(kusanya_ack_seconds_bucket[5m]))) > 5"
        ),
        for_="5m",
        severity="warning",
        summary="One delivery of a hundred waits five seconds for its answer: after ten it failed.",
        runbook=f"{RUNBOOK}#when-an-alarm-stands",
    ),
    Alert(
        name="KusanyaUnobserved",
        expression="absent(kusanya_store_readable)",
        for_="5m",
        severity="urgent",
        summary="Neither a receiver nor a watcher answers for its metrics.",
        runbook=f"{RUNBOOK}#when-an-alarm-stands",
    ),
)


def alerts() -> tuple[Alert, ...]:
    """Return one alert for each rule, and those about the programs themselves."""
    return (*map(_alert, RULES), *_AROUND)


def render_alerts() -> str:
    """Return the text of `alerts.yml`."""
    lines = ["groups:", "  - name: kusanya", "    rules:"]
    for alert in alerts():
        lines += [
            f"      - alert: {alert.name}",
            f"        expr: {_quoted(alert.expression)}",
            f"        for: {alert.for_}",
            "        labels:",
            f"          severity: {_quoted(alert.severity)}",
            "        annotations:",
            f"          summary: {_quoted(alert.summary)}",
            f"          runbook: {_quoted(alert.runbook)}",
        ]
    return "\n".join(lines) + "\n"


def _alert(rule: Rule) -> Alert:
    return Alert(
        name="Kusanya" + "".join(word.capitalize() for word in rule.code.split("_")),
        expression=f'max by (mode, subject, severity) (kusanya_alarm{{code="{rule.code}"}}) > 0',
        for_="1m",
        severity="{{ $labels.severity }}",
        summary=rule.condition,
        runbook=rule.runbook,
    )


def _quoted(text: str) -> str:
    # A JSON string is a YAML string.
    return json.dumps(text, ensure_ascii=False)
