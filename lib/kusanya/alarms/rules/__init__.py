"""The list of all alarm rules. Pure: a rule judges one reading and returns the alarms it raises.

What an alarm needs stands in tests/README.md, "Change one thing"; health report, status line,
notifications, metrics and acknowledgements follow. A rule that infers something says so in its
sentence.
"""

from collections.abc import Iterable
from typing import Final

from kusanya.alarms.alarm import (
    DISABLED,
    FAILING,
    Alarm,
    FormatTime,
    HeaderAlarm,
    Rule,
    Severity,
)
from kusanya.alarms.inputs import AlarmInputs
from kusanya.alarms.rules import deliveries, operation, orders, payments
from kusanya.say import Said

RULES: Final[tuple[Rule, ...]] = tuple(
    sorted(
        (*deliveries.RULES, *payments.RULES, *orders.RULES, *operation.RULES),
        key=lambda rule: rule.rank,
    )
)
"""Every rule, the most urgent first."""


def raised(inputs: AlarmInputs, *, format_time: FormatTime) -> tuple[Alarm, ...]:
    """Return every alarm that is raised, in the order of the rules."""
    return tuple(alarm for rule in RULES for alarm in rule.judge(inputs, format_time))


def in_header(alarms: Iterable[Alarm]) -> tuple[HeaderAlarm, ...]:
    """Return what a status line says of them, the urgent first.

    An endpoint counts once however many alarms name it; a disabled one does not count as failing.
    """
    named: dict[str, set[str]] = {DISABLED: set(), FAILING: set()}
    severities = dict.fromkeys(named, Severity.URGENT)
    for alarm in alarms:
        if alarm.header:
            named.setdefault(alarm.header, set()).add(alarm.endpoint or alarm.subject)
            severities.setdefault(alarm.header, alarm.severity)
    named[FAILING] -= named[DISABLED]
    found = [
        HeaderAlarm(_counted(header, len(names)), severities[header])
        for header, names in named.items()
        if names
    ]
    return tuple(sorted(found, key=lambda one: one.severity is not Severity.URGENT))


def _counted(header: str, count: int) -> str:
    return header if isinstance(header, Said) else Said(header).of(count=count)
