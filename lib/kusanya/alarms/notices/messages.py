"""What is sent of alarms: a title, lines of text for people, and the same for a program. Pure."""

from collections import Counter
from collections.abc import Sequence
from datetime import datetime
from typing import Any, Final

import msgspec

from kusanya.alarms.alarm import Alarm, Severity, as_json, format_length
from kusanya.alarms.notices.notices import Due
from kusanya.say import Said, joined, kept, plural
from kusanya.store.records import AlarmNotice, PendingNotice
from kusanya.wire import Mode

_OF_ONE_RULE: Final = 6
"""So many alarms of one rule have a line of their own; the rest are counted."""


class AlarmMessage(msgspec.Struct, frozen=True, kw_only=True):
    """One message to people; title and body are texts of ours, put into words when it is sent."""

    title: str
    body: str
    data: dict[str, Any]


def compose(due: Due, *, mode: Mode, now: datetime) -> AlarmMessage:
    """Return the one message that says everything that is due."""
    lines = [*_lines(due.alarms), *(_recovered(one, now) for one in due.recovered)]
    recovered = len(due.recovered)
    counts = (
        plural(len(due.alarms), "1 alarm", "{count} alarms") if due.alarms else "",
        Said("{count} recovered").of(count=recovered) if recovered else "",
    )
    urgent = any(one.severity is Severity.URGENT for one in due.alarms)
    title = "Kusanya {mode}, urgent: {our_counts}" if urgent else "Kusanya {mode}: {our_counts}"
    return AlarmMessage(
        title=Said(title).of(mode=mode.value, our_counts=joined(", ", counts)),
        body=joined("\n", lines),
        data={
            "mode": mode.value,
            "at": now.isoformat(),
            "alarms": [as_json(one) for one in due.alarms],
            "recovered": [
                {"key": one.key, "name": _name(one).english, "began_at": one.began_at.isoformat()}
                for one in due.recovered
            ],
        },
    )


def together(pending: Sequence[PendingNotice]) -> AlarmMessage:
    """Return the messages that wait for one address as one, the oldest first."""
    if len(pending) == 1:
        [one] = pending
        return AlarmMessage(title=one.title, body=one.body, data=one.data)
    return AlarmMessage(
        title=Said("Kusanya: {count} messages, the first waited since {at} UTC").of(
            count=len(pending), at=f"{pending[0].since:%Y-%m-%d %H:%M}"
        ),
        body="\n\n".join(f"{one.title}\n{one.body}" for one in pending),
        data={"messages": [one.data for one in pending]},
    )


def _lines(alarms: Sequence[Alarm]) -> list[str]:
    lines: list[str] = []
    said: Counter[str] = Counter()
    for alarm in alarms:
        said[alarm.code] += 1
        if said[alarm.code] <= _OF_ONE_RULE:
            word = "URGENT" if alarm.severity is Severity.URGENT else ""
            see = Said("See {place}").of(place=alarm.runbook)
            lines.append(joined(" ", (word, alarm.sentence, alarm.next_step, see)))
    for code, count in said.items():
        if count > _OF_ONE_RULE:
            lines.append(
                Said("and {count} more: {our_what}").of(
                    count=count - _OF_ONE_RULE, our_what=code.replace("_", " ")
                )
            )
    return lines


def _recovered(notice: AlarmNotice, now: datetime) -> str:
    lasted = (notice.gone_at or now) - notice.began_at
    return Said("recovered: {our_name}, after {our_length}").of(
        our_name=_name(notice), our_length=format_length(lasted)
    )


def _name(notice: AlarmNotice) -> Said:
    return joined("", (kept(notice.name),))
