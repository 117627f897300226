"""The list of all alarm rules. Pure: a rule judges one reading and returns the alarms it raises.

What an alarm needs stands in tests/README.md, "Change one thing"; health report, status line,
notifications, metrics and acknowledgements follow. A rule that infers something says so in its
sentence.
"""

from collections.abc import Iterable
from typing import Final

import msgspec

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
from kusanya.say import Said, joined

RULES: Final[tuple[Rule, ...]] = tuple(
    sorted(
        (*deliveries.RULES, *payments.RULES, *orders.RULES, *operation.RULES),
        key=lambda rule: rule.rank,
    )
)
"""Every rule, the most urgent first."""
CAUSES: Final = (
    *("service_silent", "store_full", "clock_skew", "unwatched"),
    *("sender_disabled", "sender_failing", "failing", "silent"),
)
"""Rules with consequences, from the outside in: the service, our machines, our programs."""


def raised(inputs: AlarmInputs, *, format_time: FormatTime) -> tuple[Alarm, ...]:
    """Return what is wrong, in the order of the rules: causes, with what follows from each.

    What follows from a cause is named in the cause's sentence, and is no alarm beside it.
    """
    found = [alarm for rule in RULES for alarm in rule.judge(inputs, format_time)]
    # From the outside in: what follows from two causes is listed by the outer one.
    causes = sorted((one for one in found if one.causes), key=lambda one: CAUSES.index(one.code))
    following: dict[str, list[Alarm]] = {}
    listed: set[str] = set()
    for cause in causes:
        if cause.key not in listed:
            mine = [
                one
                for one in found
                if one.code in cause.causes and one.key not in {*listed, *following}
            ]
            following[cause.key] = mine
            listed |= {one.key for one in mine}
    return tuple(_with(one, following.get(one.key, [])) for one in found if one.key not in listed)


def _with(cause: Alarm, following: list[Alarm]) -> Alarm:
    """Return a cause that names what follows from it."""
    if not following:
        return cause
    names = joined(", ", [one.name for one in following])
    listed = Said("Because of it: {our_names}.").of(our_names=names)
    return msgspec.structs.replace(
        cause, sentence=joined(" ", (cause.sentence, listed)), follows=tuple(following)
    )


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
