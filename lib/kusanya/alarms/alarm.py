"""What an alarm is, and the parts that the rules share. Pure."""

import re
from collections.abc import Callable, Iterable, Iterator
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any, Final, TypeAlias

import msgspec

from kusanya.alarms.inputs import AlarmInputs
from kusanya.domain.channels import channel_label
from kusanya.filters import Filter, Term
from kusanya.privacy import mask_text
from kusanya.say import Language, Said, in_language, joined, plural
from kusanya.text import safe
from kusanya.wire import Mode

RUNBOOK: Final = "console/README.md"
"""Where each rule has a paragraph of its own."""

DISABLED: Final = "✕ {count} disabled"
FAILING: Final = "✕ {count} failing"
"""What a status line says of endpoints, which may be named by several alarms."""

_ONSET: Final = re.compile(r"\d{4}-\d\d-\d\d.*|never")
"""With what the onset of an alarm begins, or what it is, in its id."""
FormatTime: TypeAlias = Callable[[datetime], str]
"""How the place that shows an alarm writes an instant."""


class Severity(StrEnum):
    """How much an alarm presses."""

    URGENT = "urgent"
    WARNING = "warning"


class AlarmList(StrEnum):
    """The list that shows the rows behind an alarm."""

    COLLECTIONS = "collections"
    DELIVERIES = "deliveries"
    INTENTS = "intents"


class Alarm(msgspec.Struct, frozen=True, kw_only=True):
    """Something that a person should look after now."""

    code: str
    """The rule, as a stable word."""
    mode: Mode
    subject: str = ""
    """Which endpoint or channel it is about, where a rule may raise several alarms."""
    onset: str | None = None
    """What tells one outbreak from the next; None for an alarm that cannot be acknowledged."""
    stage: str = ""
    """What is news although the alarm stands already, such as an endpoint that is disabled now."""
    severity: Severity
    mark: str
    """One character that stands for it where there is no colour."""
    name: str
    sentence: str
    next_step: str = ""
    rows: AlarmList
    filter: Filter = Filter()
    header: str = ""
    """Its words in a status line, which counts the subjects of the same words; or empty."""
    endpoint: str = ""
    """The endpoint that it counts for there, where the subject names it otherwise."""
    is_proven: bool = False
    """Whether it has stood long enough already: nobody waits before people are told."""
    causes: frozenset[str] = frozenset()
    """The codes of what follows from it while it stands."""
    follows: tuple["Alarm", ...] = ()
    """What follows from it, and is listed in its sentence in the place of its own."""

    @property
    def key(self) -> str:
        """Return what is the same for the same thing in every outbreak."""
        return f"{self.code}:{self.subject}" if self.subject else self.code

    @property
    def id(self) -> str:
        """Return what an acknowledgement names, or nothing."""
        if self.onset is None:
            return ""
        return f"{self.muted_as}:{self.onset}"

    @property
    def muted_as(self) -> str:
        """Return what a mute names: this alarm in every outbreak."""
        return ":".join(filter(None, (self.code, self.mode.value, self.subject)))

    @property
    def names(self) -> tuple[str, ...]:
        """Return what an acknowledgement or a mute of it names."""
        return tuple(filter(None, (self.id, self.muted_as)))

    @property
    def runbook(self) -> str:
        """Return where the runbook tells what to do."""
        return runbook_of(self.code)

    @property
    def text(self) -> str:
        """Return mark, sentence and next step."""
        return joined(" ", (self.mark, self.sentence, self.next_step))


def describe_alarm_id(alarm_id: str, *, here: Mode | None = None) -> str | None:
    """Return what the id of an alarm names, as in: stuck, M-Pesa, live; None for another text.

    The mode is left out where it is that of the reader, `here`.
    """
    code, *rest = alarm_id.split(":")
    onset = next((n for n, part in enumerate(rest) if _ONSET.fullmatch(part)), None)
    if not rest or rest[0] not in set(Mode) or not onset:
        return None
    about = channel_label(":".join(rest[1:onset]))
    mode = "" if rest[0] == here else rest[0]
    named = Said("{about}").of(about=safe(mask_text(about), 100))
    return joined(", ", (safe(code.replace("_", " "), 40), named, mode))


def names_of(alarms: Iterable[Alarm]) -> list[str]:
    """Return what acknowledgements and mutes of these alarms name."""
    return [name for alarm in alarms for name in alarm.names]


def as_json(alarm: Alarm) -> dict[str, Any]:
    """Return an alarm for a program: plain texts in English, no phone number."""
    return {
        "code": alarm.code,
        "key": alarm.key,
        "id": alarm.id,
        "mode": alarm.mode.value,
        "severity": alarm.severity.value,
        "name": in_language(alarm.name, Language.ENGLISH),
        "sentence": in_language(alarm.sentence, Language.ENGLISH),
        "next_step": in_language(alarm.next_step, Language.ENGLISH),
        "runbook": alarm.runbook,
        "follows": [one.key for one in alarm.follows],
    }


class HeaderAlarm(msgspec.Struct, frozen=True):
    """The alarms that share their words in a status line."""

    words: str
    severity: Severity


Judge: TypeAlias = Callable[[AlarmInputs, FormatTime], Iterator[Alarm]]


class Rule(msgspec.Struct, frozen=True, kw_only=True):
    """One entry of the list: what is judged, how much it presses, where the runbook tells more."""

    code: str
    rank: int
    """Its place among all rules, by tens: what has the smallest is reported first."""
    severity: Severity
    """The most that it presses; one alarm may press less."""
    condition: str
    """When it is raised, in one sentence."""
    judge: Judge

    @property
    def runbook(self) -> str:
        """Return where its paragraph stands."""
        return runbook_of(self.code)


def runbook_of(code: str) -> str:
    """Return where the paragraph of a rule stands."""
    return f"{RUNBOOK}#alarm-{code.replace('_', '-')}"


def of_endpoint(name: str) -> Filter:
    """Return the filter of what an endpoint did not take well."""
    return Filter((Term("endpoint", (name,)),), unwell=True)


def format_length(passed: timedelta) -> str:
    """Return a length of time in the largest unit of which it has two at least."""
    for unit, text in ((timedelta(days=1), "{count} days"), (timedelta(hours=1), "{count} hours")):
        if passed >= 2 * unit:
            return Said(text).of(count=passed // unit)
    return plural(passed // timedelta(minutes=1), "1 minute", "{count} minutes")


def instant(at: datetime | None) -> str:
    """Return an instant as the onset of an alarm."""
    return "" if at is None else at.isoformat()


def hour(at: datetime) -> str:
    """Return an hour as the onset of an alarm."""
    return f"{at:%Y-%m-%dT%H}"
