"""What is sent of alarms: a title, lines of text for people, and the same for a program. Pure."""

from collections import Counter
from collections.abc import Sequence
from datetime import datetime
from typing import Any, Final

import msgspec

from kusanya.alarms.alarm import Alarm, Severity, as_json, format_length
from kusanya.alarms.notices.notices import Due
from kusanya.store.records import AlarmNotice, PendingNotice
from kusanya.wire import Mode

_OF_ONE_RULE: Final = 6
"""So many alarms of one rule have a line of their own; the rest are counted."""


class AlarmMessage(msgspec.Struct, frozen=True, kw_only=True):
    """One message to people."""

    title: str
    body: str
    data: dict[str, Any]


def compose(due: Due, *, mode: Mode, now: datetime) -> AlarmMessage:
    """Return the one message that says everything that is due."""
    lines = [*_lines(due.alarms), *(_recovered(one, now) for one in due.recovered)]
    counts = [
        _count(len(due.alarms), "alarm"),
        f"{len(due.recovered)} recovered" if due.recovered else "",
    ]
    urgent = any(one.severity is Severity.URGENT for one in due.alarms)
    return AlarmMessage(
        title=f"Kusanya {mode.value}{', urgent' if urgent else ''}: "
        + ", ".join(filter(None, counts)),
        body="\n".join(lines),
        data={
            "mode": mode.value,
            "at": now.isoformat(),
            "alarms": [as_json(one) for one in due.alarms],
            "recovered": [
                {"key": one.key, "name": one.name, "began_at": one.began_at.isoformat()}
                for one in due.recovered
            ],
        },
    )


def joined(pending: Sequence[PendingNotice]) -> AlarmMessage:
    """Return the messages that wait for one address as one, the oldest first."""
    if len(pending) == 1:
        [one] = pending
        return AlarmMessage(title=one.title, body=one.body, data=one.data)
    return AlarmMessage(
        title=f"Kusanya: {len(pending)} messages, the first waited since "
        f"{pending[0].since:%Y-%m-%d %H:%M} UTC",
        body="\n\n".join(f"{one.title}\n{one.body}" for one in pending),
        data={"messages": [one.data for one in pending]},
    )


def _lines(alarms: Sequence[Alarm]) -> list[str]:
    lines: list[str] = []
    said: Counter[str] = Counter()
    for alarm in alarms:
        said[alarm.code] += 1
        if said[alarm.code] <= _OF_ONE_RULE:
            word = "URGENT " if alarm.severity is Severity.URGENT else ""
            text = " ".join(filter(None, (alarm.sentence, alarm.next_step)))
            lines.append(f"{word}{text} See {alarm.runbook}")
    for code, count in said.items():
        if count > _OF_ONE_RULE:
            lines.append(f"and {count - _OF_ONE_RULE:,} more: {code.replace('_', ' ')}")
    return lines


def _recovered(notice: AlarmNotice, now: datetime) -> str:
    lasted = (notice.gone_at or now) - notice.began_at
    return f"recovered: {notice.name}, after {format_length(lasted)}"


def _count(count: int, word: str) -> str:
    return "" if not count else f"{count} {word}{'s' if count != 1 else ''}"
