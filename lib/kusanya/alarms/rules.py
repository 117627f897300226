"""The alarm rules. Pure: a rule judges one reading and returns the alarms that it raises.

To add an alarm, write its function here and name it in `RULES`; health report, status line and
acknowledgements follow. What a rule infers it says so. The most urgent rules come first.
"""

from collections.abc import Callable, Iterable, Iterator
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Final

import msgspec

from kusanya.alarms.inputs import AlarmInputs
from kusanya.alarms.stalled_intents import format_count
from kusanya.assumptions import REPLAY_WINDOW
from kusanya.failure_codes import channel_label
from kusanya.filters import Filter, Term
from kusanya.health import StuckChannel, format_failures
from kusanya.store.records import IntentRow, Verdict
from kusanya.text import safe
from kusanya.webhooks.refusals import REFUSAL_REASONS
from kusanya.wire import Mode, Status

CLOSING_WITHIN: Final = timedelta(hours=2)
"""A replay window with less left is an alarm."""
_QUIET: Final = timedelta(minutes=2)
"""Without an arrival for so long the prompts may have ended unheard."""
_DISABLED: Final = "✕ {count} disabled"
_FAILING: Final = "✕ {count} failing"
_OPEN: Final = Term("status", (Status.CREATED.value,))
_ONE_PHONE: Final = (
    "one phone: a customer, no outage.",
    "Ask the service with c; send no further prompt.",
)

FormatTime = Callable[[datetime], str]
"""How whoever shows an alarm writes an instant."""


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

    @property
    def key(self) -> str:
        """Return what is the same for the same thing in every outbreak."""
        return f"{self.code}:{self.subject}" if self.subject else self.code

    @property
    def id(self) -> str:
        """Return what an acknowledgement names, or nothing."""
        if self.onset is None:
            return ""
        return ":".join(filter(None, (self.code, self.mode.value, self.subject))) + f":{self.onset}"

    @property
    def text(self) -> str:
        """Return mark, sentence and next step."""
        return " ".join(filter(None, (self.mark, self.sentence, self.next_step)))


class HeaderAlarm(msgspec.Struct, frozen=True):
    """The alarms that share their words in a status line."""

    words: str
    severity: Severity


def raised(inputs: AlarmInputs, *, format_time: FormatTime) -> tuple[Alarm, ...]:
    """Return every alarm that is raised, in the order of the rules."""
    return tuple(alarm for rule in RULES for alarm in rule(inputs, format_time))


def in_header(alarms: Iterable[Alarm]) -> tuple[HeaderAlarm, ...]:
    """Return what a status line says of them, the urgent first.

    An endpoint counts once however many alarms name it; a disabled one does not count as failing.
    """
    named: dict[str, set[str]] = {_DISABLED: set(), _FAILING: set()}
    severities = dict.fromkeys(named, Severity.URGENT)
    for alarm in alarms:
        if alarm.header:
            named.setdefault(alarm.header, set()).add(alarm.endpoint or alarm.subject)
            severities.setdefault(alarm.header, alarm.severity)
    named[_FAILING] -= named[_DISABLED]
    found = [
        HeaderAlarm(header.format(count=len(names)), severities[header])
        for header, names in named.items()
        if names
    ]
    return tuple(sorted(found, key=lambda one: one.severity is not Severity.URGENT))


def _sender_disabled(inputs: AlarmInputs, format_time: FormatTime) -> Iterator[Alarm]:
    for one in inputs.sender:
        if one.is_disabled:
            since = "" if one.disabled_at is None else f" since {format_time(one.disabled_at)}"
            yield Alarm(
                code="sender_disabled",
                mode=inputs.mode,
                subject=one.id,
                onset=_instant(one.disabled_at or one.failing_since),
                severity=Severity.URGENT,
                mark="✕",
                name=f"endpoint {safe(one.id, 40)}",
                sentence=f"disabled: the sender sends nothing to {safe(one.url, 80)}{since}.",
                next_step=(
                    "To do: mend the receiver, then enable the endpoint on Service (6); what it "
                    "held goes on then."
                ),
                rows=AlarmList.DELIVERIES,
                header=_DISABLED,
                endpoint=one.name,
            )


def _sender_failing(inputs: AlarmInputs, format_time: FormatTime) -> Iterator[Alarm]:
    for one in inputs.sender:
        if one.failing_since is not None and not one.is_disabled:
            blows = one.disables_at
            until = (
                "" if blows is None else f"; a failure at or after {format_time(blows)} disables it"
            )
            yield Alarm(
                code="sender_failing",
                mode=inputs.mode,
                subject=one.id,
                onset=_instant(one.failing_since),
                severity=Severity.URGENT,
                mark="✕",
                name=f"endpoint {safe(one.id, 40)}",
                sentence=(
                    f"failing: the sender has had no success at {safe(one.url, 80)} since "
                    f"{format_time(one.failing_since)}{until}."
                ),
                rows=AlarmList.DELIVERIES,
                header=_FAILING,
                endpoint=one.name,
            )


def _failing(inputs: AlarmInputs, format_time: FormatTime) -> Iterator[Alarm]:
    for one in inputs.health.failing:
        name = safe(one.endpoint, 40)
        why = f", {safe(one.reason, 40)}" if one.reason else ""
        blows = one.fuse.blows_at
        if one.fuse.blown_at is not None or blows is None:
            end = "the sender has disabled it by now: enable it in the dashboard"
        else:
            end = f"a failure at or after {format_time(blows)} disables it; one 2xx resets the fuse"
        known = REFUSAL_REASONS.get(one.reason or "")
        yield Alarm(
            code="failing",
            mode=inputs.mode,
            subject=one.endpoint,
            onset=_instant(one.fuse.lit_at),
            severity=Severity.URGENT,
            mark="✕",
            name=f"endpoint {name}",
            sentence=f"failing: {name} refused {format_failures(one.failures)}{why}; {end}.",
            next_step=f"To do: {known.next_step}." if known and known.next_step else "",
            rows=AlarmList.DELIVERIES,
            filter=_of_endpoint(one.endpoint),
            header=_DISABLED if one.fuse.blown_at is not None else _FAILING,
            endpoint=one.endpoint,
        )


def _unread(inputs: AlarmInputs, _format_time: FormatTime) -> Iterator[Alarm]:
    for one in inputs.health.unusable:
        if one.verdict is Verdict.UNPARSEABLE:
            yield Alarm(
                code="unread",
                mode=inputs.mode,
                subject=one.endpoint,
                onset=_hour(one.last_hour),
                severity=Severity.URGENT,
                mark="!",
                name=f"deliveries without effect at {safe(one.endpoint, 40)}",
                sentence=(
                    f"unread: {safe(one.endpoint, 40)} took {one.count:,} within 24 h that are "
                    "genuine and no event we can read; the sender will not repeat them."
                ),
                next_step=(
                    "To do: ask for the collections with kusanya catch-up, and show their bodies "
                    "to whoever maintains this program."
                ),
                rows=AlarmList.DELIVERIES,
                filter=_of_endpoint(one.endpoint),
                header=_FAILING,
                endpoint=one.endpoint,
            )


def _wrong_mode(inputs: AlarmInputs, _format_time: FormatTime) -> Iterator[Alarm]:
    for one in inputs.health.unusable:
        if one.verdict is Verdict.WRONG_MODE:
            other = next(mode for mode in Mode if mode is not one.mode)
            yield Alarm(
                code="wrong_mode",
                mode=inputs.mode,
                subject=f"{one.mode.value}:{one.endpoint}",
                onset=_hour(one.last_hour),
                severity=Severity.URGENT,
                mark="≠",
                name=f"deliveries without effect at {safe(one.endpoint, 40)}",
                sentence=(
                    f"wrong mode: {safe(one.endpoint, 40)} receives {one.mode} events and refused "
                    f"{one.count:,} of {other} mode within 24 h, which count nowhere."
                ),
                next_step=(
                    f"To do: {REFUSAL_REASONS['wrong_mode'].next_step}; what it gave up, "
                    f"kusanya catch-up in {other} mode learns."
                ),
                rows=AlarmList.DELIVERIES,
                filter=_of_endpoint(one.endpoint),
                header="≠ wrong mode",
            )


def _closing(inputs: AlarmInputs, _format_time: FormatTime) -> Iterator[Alarm]:
    count = sum(_closes_soon(row, inputs.at) for row in inputs.unknown)
    if count:
        which = "1 creation" if count == 1 else f"{count:,} creations"
        yield Alarm(
            code="closing",
            mode=inputs.mode,
            severity=Severity.URGENT,
            mark="?",
            name="replay windows that close",
            sentence=(
                f"closing: {which} without an answer may be replayed for less than "
                f"{CLOSING_WITHIN // timedelta(hours=1)} h more."
            ),
            next_step="To do: R on Intents (5), or kusanya intents resume.",
            rows=AlarmList.INTENTS,
            header=f"? {count} closing",
        )


def _stuck(inputs: AlarmInputs, format_time: FormatTime) -> Iterator[Alarm]:
    for one in inputs.health.stuck:
        if one.stuck > 1:
            channel = safe(channel_label(one.channel), 40)
            is_outage = one.phones > 1
            where, next_step = _outage(one, inputs, format_time) if is_outage else _ONE_PHONE
            yield Alarm(
                code="stuck",
                mode=inputs.mode,
                subject=one.channel,
                # An acknowledgement of an outage lasts for its hour.
                onset=_hour(inputs.health.at),
                severity=Severity.URGENT if is_outage else Severity.WARNING,
                mark="✕",
                name=f"open prompts of {channel}",
                sentence=f"stuck: {one.stuck:,} prompts of {channel} wait over 2 min on {where}",
                next_step=next_step,
                rows=AlarmList.COLLECTIONS,
                filter=open_prompts(one.channel),
                header="✕ {count} stuck" if is_outage else "",
            )


def _silent(inputs: AlarmInputs, format_time: FormatTime) -> Iterator[Alarm]:
    found = inputs.silence
    if found is not None:
        at = found.last_arrival_at
        last = "nothing has ever arrived" if at is None else f"last arrival {format_time(at)}"
        states = f"{found.missed} final state{'s' if found.missed != 1 else ''}"
        yield Alarm(
            code="silent",
            mode=inputs.mode,
            onset="never" if at is None else at.isoformat(),
            severity=Severity.WARNING,
            mark="◐",
            name="the silence",
            sentence=(
                f"silent: is the receiver running? Polling learned {states} and no event came; "
                f"{last}."
            ),
            next_step=(
                "If it runs, the endpoint is disabled or unreachable: look in the dashboard, then "
                "catch up with c."
            ),
            rows=AlarmList.DELIVERIES,
            header="◐ silent",
        )


def _stalled(inputs: AlarmInputs, format_time: FormatTime) -> Iterator[Alarm]:
    found = inputs.stalled
    if not found.count:
        return
    since = "" if found.since is None else f", the oldest of {format_time(found.since)}"
    said: list[str] = []
    if found.unsent:
        said.append(
            f"{format_count(found.unsent)} creations were not taken by the service, so no customer "
            "was asked: does the service answer?"
        )
    if found.unanswered:
        said.append(
            f"{format_count(found.unanswered)} left and nobody waits for their answer: the "
            "customers may have been asked."
        )
    yield Alarm(
        code="stalled",
        mode=inputs.mode,
        onset=_instant(found.since),
        severity=Severity.WARNING,
        mark="◌",
        name="creations held up",
        sentence=f"held up{since}: {' '.join(said)}",
        next_step=(
            "kusanya intents resume sends them with the same key, R on Intents (5) one of them; "
            "make no new ones."
        ),
        rows=AlarmList.INTENTS,
        header=f"◌ {format_count(found.count)} held up",
    )


def _unwatched(inputs: AlarmInputs, format_time: FormatTime) -> Iterator[Alarm]:
    found = inputs.health.unwatched
    if found is not None:
        since = found.open_since if found.last_poll_at is None else found.last_poll_at
        yield Alarm(
            code="unwatched",
            mode=inputs.mode,
            onset=since.isoformat(),
            severity=Severity.WARNING,
            mark="◐",
            name="open collections that nobody polls",
            sentence=(
                f"unwatched: no poller has run for {_length(inputs.at - since)}, and collections "
                f"are open since {format_time(found.open_since)}."
            ),
            next_step="To do: start kusanya watch.",
            rows=AlarmList.COLLECTIONS,
            filter=Filter((_OPEN,)),
        )


def open_prompts(channel: str) -> Filter:
    """Return the filter of a channel's open prompts."""
    return Filter((Term("channel", (channel,)), _OPEN))


def _outage(one: StuckChannel, inputs: AlarmInputs, format_time: FormatTime) -> tuple[str, str]:
    arrived = [endpoint.last_arrival_at for endpoint in inputs.health.endpoints]
    where = f"{one.phones:,} phones: ask the service with c."
    if not arrived or max(arrived) < inputs.health.at - _QUIET:
        last = f"since {format_time(max(arrived))}" if arrived else "yet"
        where += f" Nothing has arrived {last}: is the receiver running?"
    return where, "Still open, it is an outage: ask the network, send no second prompts."


def _of_endpoint(name: str) -> Filter:
    return Filter((Term("endpoint", (name,)),), unwell=True)


def _closes_soon(row: IntentRow, now: datetime) -> bool:
    """Tell whether an unknown outcome may be replayed, and only for a short while more."""
    if row.window_closed_at is not None or row.first_sent_at is None:
        return False
    left = row.first_sent_at + REPLAY_WINDOW - now
    return timedelta() < left <= CLOSING_WITHIN


def _length(passed: timedelta) -> str:
    """Return a length of time in the largest unit of which it has two at least."""
    for unit, name in ((timedelta(days=1), "days"), (timedelta(hours=1), "hours")):
        if passed >= 2 * unit:
            return f"{passed // unit:,} {name}"
    return f"{passed // timedelta(minutes=1)} minutes"


def _instant(at: datetime | None) -> str:
    return "" if at is None else at.isoformat()


def _hour(at: datetime) -> str:
    return f"{at:%Y-%m-%dT%H}"


AlarmRule = Callable[[AlarmInputs, FormatTime], Iterator[Alarm]]
RULES: Final[tuple[AlarmRule, ...]] = (
    _sender_disabled, _sender_failing, _failing, _unread, _wrong_mode, _closing, _stuck, _silent,
    _stalled, _unwatched,
)  # fmt: skip
"""Every rule, the most urgent first."""
