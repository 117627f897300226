"""Health in words and figures: alarms, endpoints worst first, failures by cause, open prompts.

Pure: sections from one frozen reading. An alarm is a sentence with its next step; what is inferred
says so. Who acknowledged an alarm stands under it: it stays until it is over.
"""

from datetime import timedelta

from kusanya.health import FAILURES_COUNTED, EndpointHealth, StuckChannel, UnusableDeliveries
from kusanya.limits import DISABLE_AFTER
from kusanya.store.records import Verdict
from kusanya.text import safe
from kusanya.wire import Mode
from kusanya_console.alarms import (
    sender_id,
    silence_id,
)
from kusanya_console.commands import DELIVERIES, INTENTS
from kusanya_console.health.lines import Entry, Section, Target, leading, plainly
from kusanya_console.health.reader import (
    Reading,
    channel_target,
    endpoint_target,
    senders_word,
    unusable_target,
)
from kusanya_console.health.tables import WIDE, causes, odd, prompts
from kusanya_console.held_up import held_up_id, many
from kusanya_console.ui import vocabulary
from kusanya_console.ui.format import (
    Line,
    Look,
    cell,
    columns,
    format_duration,
    format_instant,
    rule,
    wrapped,
)
from kusanya_console.ui.vocabulary import FAILED, MUTED, PLAIN, WARN, Run

_BLANK: Line = ()
_FUSE_CELLS = 12
_LEFT_CELLS = 24
_SOON = timedelta(hours=6)
"""A fuse with less left is no background any more."""
_ALARMS = 4
"""Endpoints that have a sentence of their own; the rest are counted."""
_QUIET = timedelta(minutes=2)
"""Without an arrival for so long the prompts may have ended unheard."""
_ONE_PHONE = "one phone: a customer, no outage. Ask the service with c; send no further prompt."


def report(found: Reading, look: Look, width: int) -> tuple[Section, ...]:
    """Return the whole report, the alarms first."""
    return (
        Section("alarms", tuple(_alarms(found, look, width))),
        Section("endpoints, as the sender must see them", tuple(_endpoints(found, look, width))),
        Section(
            f"failures, {found.window.value}, by who can mend them", tuple(causes(found, width))
        ),
        Section("open prompts and the time to a final state", tuple(prompts(found, look, width))),
        Section("odd payments", tuple(odd(found, look, width))),
    )


def health_lines(found: Reading, look: Look, width: int) -> list[Line]:
    """Return the report as lines, each section under its title."""
    lines: list[Line] = []
    for place, section in enumerate(report(found, look, width)):
        if place:
            lines += [_BLANK, rule(section.title, width)]
        lines += [entry.line for entry in section.entries]
    return lines


def _held_up(found: Reading, look: Look, width: int) -> list[Entry]:
    held = found.held_up
    said: list[str] = []
    if held.unsent:
        said.append(
            f"{many(held.unsent)} creations were not taken by the service, so no customer was "
            "asked: does the service answer?"
        )
    if held.left:
        said.append(
            f"{many(held.left)} left and nobody waits for their answer: the customers may have "
            "been asked."
        )
    since = "" if held.since is None else f", the oldest of {format_instant(held.since, look)}"
    lines = wrapped(
        f"◌ held up{since}: {' '.join(said)} kusanya intents resume sends them with the same key, "
        "R on Intents (5) one of them; make no new ones.",
        width,
        role=WARN,
    )
    target = Target(
        key="held-up", name="creations held up", screen=INTENTS,
        alarm=held_up_id(held, found.mode),
    )  # fmt: skip
    return _alarm(found, lines, target, look, width)


def _alarms(found: Reading, look: Look, width: int) -> list[Entry]:
    entries: list[Entry] = []
    if found.lost_at is not None:
        lost = (
            f"✕ store lost: it cannot be read since {format_instant(found.lost_at, look)}. "
            "Everything below is the last that was known; nothing here is an all-clear."
        )
        entries += plainly(wrapped(lost, width, role=FAILED))
    entries += _sender_alarms(found, look, width)
    if found.closing:
        which = "1 creation" if found.closing == 1 else f"{found.closing:,} creations"
        soon = (
            f"? closing: {which} without an answer may be replayed for less than 2 h more. To do: "
            "R on Intents (5), or kusanya intents resume."
        )
        target = Target(key="closing", name="replay windows that close", screen=INTENTS)
        entries += leading(wrapped(soon, width, role=FAILED), target)
    entries += _held_up(found, look, width) if found.held_up.count else []
    if found.silent is not None:
        at = found.silent.last_arrival_at
        last = (
            "nothing has ever arrived" if at is None else f"last arrival {format_instant(at, look)}"
        )
        many = found.silent.missed
        said = (
            f"◐ silent: is the receiver running? Polling learned {many} final "
            f"state{'s' if many != 1 else ''} and no event came; {last}. If it runs, the endpoint "
            "is disabled or unreachable: look in the dashboard, then catch up with c. "
            "No handler can see this alarm."
        )
        target = Target(
            key="silent", name="the silence", screen=DELIVERIES,
            alarm=silence_id(found.silent, found.mode),
        )  # fmt: skip
        entries += _alarm(found, wrapped(said, width, role=WARN), target, look, width)
    for unusable in found.health.unusable:
        lines = wrapped(_without_effect(unusable), width, role=FAILED)
        entries += _alarm(found, lines, unusable_target(unusable), look, width)
    failing = found.health.failing
    for one in failing[:_ALARMS]:
        target = endpoint_target(one, found.mode, key="failing")
        entries += _alarm(
            found, wrapped(_failing(one, look), width, role=FAILED), target, look, width
        )
    if len(failing) > _ALARMS:
        entries += plainly([((f"✕ and {len(failing) - _ALARMS} more endpoints fail", FAILED),)])
    for stuck in found.health.stuck:
        if stuck.stuck > 1:
            name = vocabulary.channel(stuck.channel)
            is_outage = stuck.phones > 1
            said = _many_phones(found, stuck, look) if is_outage else _ONE_PHONE
            lines = wrapped(
                f"✕ stuck: {stuck.stuck:,} prompts of {name} wait over 2 min on {said}",
                width,
                role=FAILED if is_outage else WARN,
            )
            target = channel_target(stuck.channel, found, key="stuck")
            entries += _alarm(found, lines, target, look, width)
    return entries or plainly([(("● nothing is failing, silent or stuck", PLAIN),)])


def _many_phones(found: Reading, stuck: StuckChannel, look: Look) -> str:
    arrived = [one.last_arrival_at for one in found.health.endpoints]
    said = f"{stuck.phones:,} phones: ask the service with c."
    if not arrived or max(arrived) < found.health.at - _QUIET:
        last = f"since {format_instant(max(arrived), look)}" if arrived else "yet"
        said += f" Nothing has arrived {last}: is the receiver running?"
    return f"{said} Still open, it is an outage: ask the network, send no second prompts."


def _alarm(
    found: Reading, lines: list[Line], target: Target, look: Look, width: int
) -> list[Entry]:
    held = found.looked_after(target.alarm)
    if held is not None:
        who = f"looked after by {safe(held.by, 40)} since {format_instant(held.at, look)}"
        lines += wrapped(f"{who}: {safe(held.why, 200)}", width, indent=2, role=MUTED)
    return leading(lines, target)


def _failing(one: EndpointHealth, look: Look) -> str:
    why = f", {safe(one.reason, 40)}" if one.reason else ""
    blows = one.fuse.blows_at
    if one.fuse.blown_at is not None or blows is None:
        end = "the sender has disabled it by now: enable it in the dashboard"
    else:
        at = format_instant(blows, look)
        end = f"a failure at or after {at} disables it; one 2xx resets the fuse"
    to_do = vocabulary.to_do(one.reason)
    then = f" To do: {to_do}." if to_do else ""
    return f"✕ failing: {safe(one.endpoint, 40)} refused {_many(one.failures)}{why}; {end}.{then}"


def _without_effect(one: UnusableDeliveries) -> str:
    name, many = safe(one.endpoint, 40), f"{one.count:,}"
    if one.verdict is Verdict.WRONG_MODE:
        other = next(mode for mode in Mode if mode is not one.mode)
        return (
            f"≠ wrong mode: {name} receives {one.mode} events and refused {many} of {other} mode "
            f"within 24 h, which count nowhere. To do: {vocabulary.to_do('wrong_mode')}; what it "
            f"gave up, kusanya catch-up in {other} mode learns."
        )
    return (
        f"! unread: {name} took {many} within 24 h that are genuine and no event we can read; the "
        "sender will not repeat them. To do: ask for the collections with kusanya catch-up, and "
        "show their bodies to whoever maintains this program."
    )


def _endpoints(found: Reading, look: Look, width: int) -> list[Entry]:
    if not found.health.endpoints:
        return plainly([(("no delivery has arrived within seven days", MUTED),)])
    shape: tuple[int, ...] = (12, 10, 12, 12, -8, _FUSE_CELLS, _LEFT_CELLS)
    heads = ("endpoint", "state", "last arrival", "last 2xx", "refused", "fuse, 72 h", "")
    kept = range(len(shape)) if width >= WIDE else (0, 1, 2, 4, 6)
    entries = plainly([columns(((heads[n], MUTED), shape[n]) for n in kept)])
    for one in found.health.endpoints:
        runs: tuple[Run, ...] = (
            cell(one.endpoint, limit=40),
            _state(one, found, look),
            (format_instant(one.last_arrival_at, look), PLAIN),
            (format_instant(one.last_success_at, look), PLAIN),
            (_many(one.failures), PLAIN),
            (_fuse(one), FAILED if one.failures else MUTED),
            _left(one, look),
        )
        line = columns((runs[n], shape[n]) for n in kept)
        entries.append(Entry(line, endpoint_target(one, found.mode)))
    return entries


def _state(one: EndpointHealth, found: Reading, look: Look) -> Run:
    """Return how an endpoint stands: the sender's word first, then what arrived here.

    Healthy takes a store that can be read and a success of the last minutes. Where nothing is
    expected, its absence is quiet; where prompts wait for an answer, it is silence.
    """
    said = senders_word(one.endpoint, found)
    disabled = one.fuse.blown_at is not None or (said is not None and said.is_disabled)
    failing = one.failures > 0 or (said is not None and said.failing_since is not None)
    recent = one.is_recent(now=look.now)
    expected = any(stuck.stuck for stuck in found.health.stuck)
    states: tuple[tuple[bool, Run], ...] = (
        (found.lost_at is not None, ("? unknown", WARN)),
        (disabled, ("✕ disabled", FAILED)),
        (failing, ("✕ failing", FAILED)),
        # What was well when it last arrived is not healthy while nothing arrives at all.
        (found.silent is not None or (expected and not recent), ("◐ silent", WARN)),
        (recent, ("● healthy", PLAIN)),
    )
    return next((word for holds, word in states if holds), ("○ quiet", MUTED))


def _sender_alarms(found: Reading, look: Look, width: int) -> list[Entry]:
    entries: list[Entry] = []
    for one in found.sender:
        where = safe(one.url, 80)
        if one.is_disabled:
            since = (
                "" if one.disabled_at is None else f" since {format_instant(one.disabled_at, look)}"
            )
            said = (
                f"✕ disabled: the sender sends nothing to {where}{since}. To do: mend the "
                "receiver, then enable the endpoint on Service (6); what it held goes on then."
            )
        elif one.failing_since is not None:
            blows = one.disables_at
            until = (
                ""
                if blows is None
                else f"; a failure at or after {format_instant(blows, look)} disables it"
            )
            said = (
                f"✕ failing: the sender has had no success at {where} since "
                f"{format_instant(one.failing_since, look)}{until}."
            )
        else:
            continue
        target = Target(
            key=f"sender:{one.id}",
            name=f"endpoint {safe(one.id, 40)}",
            screen=DELIVERIES,
            alarm=sender_id(one.id, one.disabled_at or one.failing_since, found.mode),
        )
        entries += _alarm(found, wrapped(said, width, role=FAILED), target, look, width)
    return entries


def _many(failures: int) -> str:
    return f"{failures}+" if failures >= FAILURES_COUNTED else f"{failures}"


def _fuse(one: EndpointHealth) -> str:
    lit = one.fuse.lit_at
    if lit is None:
        return "·" * _FUSE_CELLS
    burnt = (one.last_arrival_at - lit) / DISABLE_AFTER
    full = max(1, min(_FUSE_CELLS, round(burnt * _FUSE_CELLS)))
    return "█" * full + "·" * (_FUSE_CELLS - full)


def _left(one: EndpointHealth, look: Look) -> Run:
    if one.fuse.blown_at is not None:
        return f"blown {format_instant(one.fuse.blown_at, look)}", FAILED
    blows = one.fuse.blows_at
    if blows is None:
        return "not lit", MUTED
    left = blows - look.now
    said = f"{format_instant(blows, look)}, {format_duration(left)}"
    whole = f"{said} left"
    # The figure stays whole where the word finds no room.
    fits = whole if len(whole) <= _LEFT_CELLS else said
    return fits, FAILED if left < _SOON else MUTED
