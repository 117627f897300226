"""Health in words and figures: alarms, endpoints worst first, failures by cause, open prompts.

Pure: sections from one frozen reading. An alarm is a sentence with its next step; what is inferred
says so. Who acknowledged an alarm stands under it: it stays until it is over.
"""

from datetime import timedelta
from itertools import groupby

from kusanya.alarms.alarm import Alarm
from kusanya.alarms.sender import SenderEndpoint
from kusanya.domain.limits import DISABLE_AFTER
from kusanya.health.endpoints import EndpointHealth, format_failures
from kusanya.say import Said, joined
from kusanya.text import safe
from kusanya_console.health.lines import HealthEntry, HealthSection, leading, plainly
from kusanya_console.health.reader import HealthReading, alarm_target, endpoint_target, senders_word
from kusanya_console.health.tables import WIDE, anomalies, causes, prompts
from kusanya_console.screens.status_line import alarm_role
from kusanya_console.ui.format import (
    Line,
    Look,
    cell,
    columns,
    format_fuse,
    format_instant,
    rule,
    wrapped,
)
from kusanya_console.ui.language import translate
from kusanya_console.ui.vocabulary import FAILED, MUTED, PLAIN, WARN, Run

_BLANK: Line = ()
_FUSE_CELLS = 12
_LEFT_CELLS = 27
_SOON = timedelta(hours=6)
"""A fuse with less left is no background any more."""
_KEYS = {
    "sender_disabled": "Service (6) enables it.",
    "closing": "R on Intents (5): one of them.",
    "unknown": "R on Intents (5): one of them.",
    "stalled": "R on Intents (5): one of them.",
    "stuck": "c asks about all that is open.",
    "silent": "c catches up.",
    "contradictions": "A on one of them below acknowledges it.",
    "paid_again": "A acknowledges it once the money is given back.",
    "fee_changes": "A on one of them below acknowledges it.",
}
"""What the console's own keys do about an alarm, by its rule."""
_ALARMS = 6
"""So many alarms of one rule have a sentence of their own; the rest are counted."""


def report(found: HealthReading, look: Look, width: int) -> tuple[HealthSection, ...]:
    """Return the whole report, the alarms first."""
    return (
        HealthSection("alarms", tuple(_alarms(found, look, width))),
        HealthSection(
            "endpoints, as the sender must see them", tuple(_endpoints(found, look, width))
        ),
        HealthSection(
            translate(
                "failures, {our_window}, by who can act on them",
                our_window=translate(found.lookback.value),
            ),
            tuple(causes(found, width)),
        ),
        HealthSection(
            "open prompts and the time to a final state", tuple(prompts(found, look, width))
        ),
        HealthSection("odd payments", tuple(anomalies(found, look, width))),
    )


def health_lines(found: HealthReading, look: Look, width: int) -> list[Line]:
    """Return the report as lines, each section under its title."""
    lines: list[Line] = []
    for place, section in enumerate(report(found, look, width)):
        if place:
            lines += [_BLANK, rule(section.title, width)]
        lines += [entry.line for entry in section.entries]
    return lines


def _alarms(found: HealthReading, look: Look, width: int) -> list[HealthEntry]:
    entries: list[HealthEntry] = []
    if found.lost_at is not None:
        lost = Said(
            "✕ store lost: it cannot be read since {at}. Everything below is the last that "
            "was known; nothing here is an all-clear."
        ).of(at=format_instant(found.lost_at, look))
        entries += plainly(wrapped(translate(lost), width, role=FAILED))
    for code, group in groupby(found.alarms, key=lambda alarm: alarm.code):
        alarms = list(group)
        for alarm in alarms[:_ALARMS]:
            entries += leading(_alarm_lines(alarm, found, look, width), alarm_target(alarm))
        if len(alarms) > _ALARMS:
            rest, what = f"{len(alarms) - _ALARMS:,}", translate(code.replace("_", " "))
            more = translate("and {count} more: {what}", count=rest, what=what)
            role = alarm_role(alarms[-1].severity)
            entries += plainly([((f"{alarms[-1].mark} {more}", role),)])
    return entries or plainly([((translate("● nothing is failing, silent or stuck"), PLAIN),)])


def _alarm_lines(alarm: Alarm, found: HealthReading, look: Look, width: int) -> list[Line]:
    said = translate(joined(" ", (alarm.text, _KEYS.get(alarm.code, ""))))
    lines = wrapped(said, width, role=alarm_role(alarm.severity))
    held = found.acknowledgement(*alarm.names)
    if held is not None:
        end = format_instant(held.until or held.at, look)
        said = "muted by {who} until {at}" if held.until else "looked after by {who} since {at}"
        who = translate(said, who=safe(held.actor, 40), at=end)
        lines += wrapped(f"{who}: {safe(held.reason, 200)}", width, indent=2, role=MUTED)
    return lines


def _endpoints(found: HealthReading, look: Look, width: int) -> list[HealthEntry]:
    if not found.health.endpoints:
        return plainly([((translate("no delivery has arrived within seven days"), MUTED),)])
    shape: tuple[int, ...] = (12, 10, 12, 12, -8, _FUSE_CELLS, _LEFT_CELLS)
    heads = ("endpoint", "state", "last arrival", "last 2xx", "refused", "fuse, 72 h", "")
    kept = range(len(shape)) if width >= WIDE else (0, 1, 2, 4, 6)
    entries = plainly([columns(((translate(heads[n]), MUTED), shape[n]) for n in kept)])
    for one in found.health.endpoints:
        said = senders_word(one.endpoint, found)
        runs: tuple[Run, ...] = (
            cell(one.endpoint, limit=40),
            _state(one, said, found, look),
            (format_instant(one.last_arrival_at, look), PLAIN),
            (format_instant(one.last_success_at, look), PLAIN),
            (format_failures(one.failures), PLAIN),
            _fuse(one, said, look),
            _left(one, said, found, look),
        )
        line = columns((runs[n], shape[n]) for n in kept)
        entries.append(HealthEntry(line, endpoint_target(one, found)))
    return entries


def _state(
    one: EndpointHealth, said: SenderEndpoint | None, found: HealthReading, look: Look
) -> Run:
    """Return how an endpoint stands: the sender's word first, then what arrived here.

    Healthy takes a store that can be read and a success of the last minutes. Where nothing is
    expected, its absence is quiet; where prompts wait for an answer, it is silence.
    """
    disabled = one.fuse.blown_at is not None if said is None else said.is_disabled
    failing = one.failures > 0 or (said is not None and said.failing_since is not None)
    states: tuple[tuple[bool, Run], ...] = (
        (found.lost_at is not None, ("? unknown", WARN)),
        (disabled, ("✕ disabled", FAILED)),
        (failing, ("✕ failing", FAILED)),
        (_is_silent(one, found, look), ("◐ silent", WARN)),
        (one.is_recent(now=look.now), ("● healthy", PLAIN)),
    )
    word, role = next((one for holds, one in states if holds), ("○ quiet", MUTED))
    return translate(word), role


def _is_silent(one: EndpointHealth, found: HealthReading, look: Look) -> bool:
    """Return whether nothing arrives: what was well when it last arrived says nothing of now."""
    expected = any(stuck.stuck for stuck in found.health.stuck)
    return found.inputs.silence is not None or (expected and not one.is_recent(now=look.now))


def _fuse(one: EndpointHealth, said: SenderEndpoint | None, look: Look) -> Run:
    """Return how far a fuse has burnt: to now by the sender's word, else to the last arrival."""
    fuse, until = (one.fuse, one.last_arrival_at) if said is None else (said.fuse, look.now)
    if fuse.lit_at is None:
        return "·" * _FUSE_CELLS, MUTED
    burnt = ((fuse.blown_at or until) - fuse.lit_at) / DISABLE_AFTER
    full = max(1, min(_FUSE_CELLS, round(burnt * _FUSE_CELLS)))
    return "█" * full + "·" * (_FUSE_CELLS - full), FAILED


def _left(
    one: EndpointHealth, said: SenderEndpoint | None, found: HealthReading, look: Look
) -> Run:
    fuse = one.fuse if said is None else said.fuse
    # Where nothing arrives, only the sender knows whether it fails.
    silent = found.lost_at is not None or _is_silent(one, found, look)
    if said is None and fuse.lit_at is None and silent:
        return translate("not known"), WARN
    soon = fuse.blows_at is not None and fuse.blows_at - look.now < _SOON
    return format_fuse(fuse, look), FAILED if soon or fuse.blown_at is not None else MUTED
