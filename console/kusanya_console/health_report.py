"""Health in words and figures: alarms, endpoints worst first, failures by cause, open prompts.

Pure: sections from one frozen reading. An alarm is a sentence with its next step; what is inferred
says so. Who acknowledged an alarm stands under it: it stays until it is over.
"""

import msgspec

from kusanya.causes import Cause, Causes, TimeToFinal, Window
from kusanya.filters import Filter, Span, Term
from kusanya.health import FAILURES_COUNTED, EndpointHealth, Health
from kusanya.limits import DISABLE_AFTER
from kusanya.reconcile.codes import CODES, EXPIRED, NO_CODE, CodeClass
from kusanya.text import safe
from kusanya.watch import Silence
from kusanya.wire import Mode, Status
from kusanya_console import words
from kusanya_console.alarms import (
    INBOX_SHOWN,
    Acknowledged,
    Inbox,
    failing_id,
    silence_id,
    stuck_id,
)
from kusanya_console.health_lines import Entry, Section, Target, leading, plainly
from kusanya_console.present import (
    Line,
    Look,
    cell,
    columns,
    fit,
    moment,
    rule,
    span,
    wrapped,
)
from kusanya_console.words import FAILED, MUTED, PLAIN, WARN, Run

_BLANK: Line = ()
_WIDE = 96
_CODE = 24
_FUSE_CELLS = 12
_ALARMS = 4
"""Endpoints that have a sentence of their own; the rest are counted."""
_DELIVERIES, _LIVE = "deliveries", "live"
_GROUPS = {
    CodeClass.CUSTOMER: "the customer can mend it",
    CodeClass.DATA: "our data is wrong",
    CodeClass.LATER: "later may go well",
    CodeClass.UNKNOWN: "ask the provider",
}
_COUNTED_AS = {"expired": EXPIRED, "no code": NO_CODE}


class Reading(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that the report says, as of one instant."""

    mode: Mode
    health: Health
    silent: Silence | None
    window: Window = Window.HOUR
    causes: Causes | None = None
    """None until the window has been counted: then the hour's own stand there."""
    times: tuple[TimeToFinal, ...] = ()
    inbox: Inbox | None = None

    def looked_after(self, alarm: str) -> Acknowledged | None:
        """Return who acknowledged an alarm, or None."""
        return None if self.inbox is None else self.inbox.acknowledged.get(alarm)


def report(found: Reading, look: Look, width: int) -> tuple[Section, ...]:
    """Return the whole report, the alarms first."""
    return (
        Section("alarms", tuple(_alarms(found, look, width))),
        Section("endpoints, as the sender must see them", tuple(_endpoints(found, look, width))),
        Section(
            f"failures, {found.window.value}, by who can mend them", tuple(_causes(found, width))
        ),
        Section("open prompts and the time to a final state", tuple(_prompts(found, look, width))),
        Section("odd payments", tuple(_odd(found, look, width))),
    )


def health_lines(found: Reading, look: Look, width: int) -> list[Line]:
    """Return the report as lines, each section under its title."""
    lines: list[Line] = []
    for place, section in enumerate(report(found, look, width)):
        if place:
            lines += [_BLANK, rule(section.title, width)]
        lines += [entry.line for entry in section.entries]
    return lines


def _alarms(found: Reading, look: Look, width: int) -> list[Entry]:
    entries: list[Entry] = []
    if found.silent is not None:
        at = found.silent.last_arrival_at
        last = "nothing has ever arrived" if at is None else f"last arrival {moment(at, look)}"
        many = found.silent.missed
        said = (
            f"◐ silent: is the receiver running? Polling learned {many} final "
            f"state{'s' if many != 1 else ''} and no event came; {last}. If it runs, the endpoint "
            "is disabled or unreachable: look in the dashboard, then catch up with c. "
            "No handler can see this alarm."
        )
        target = Target(
            key="silent", name="the silence", screen=_DELIVERIES,
            alarm=silence_id(found.silent, found.mode),
        )  # fmt: skip
        entries += _alarm(found, said, WARN, target, look, width)
    failing = found.health.failing
    for one in failing[:_ALARMS]:
        target = _endpoint_target(one, found.mode)
        entries += _alarm(found, _failing(one, look), FAILED, target, look, width)
    if len(failing) > _ALARMS:
        entries += plainly([((f"✕ and {len(failing) - _ALARMS} more endpoints fail", FAILED),)])
    for stuck in found.health.stuck:
        if stuck.stuck > 1:
            name = words.channel(stuck.channel)
            said = (
                f"✕ stuck: {stuck.stuck} prompts of {name} wait over 2 min: many phones on one "
                "channel are an outage. Ask the network; send no second prompts."
            )
            target = _channel_target(stuck.channel, found)
            entries += _alarm(found, said, FAILED, target, look, width)
    return entries or plainly([(("● nothing is failing, silent or stuck", PLAIN),)])


def _alarm(
    found: Reading, said: str, role: str, target: Target, look: Look, width: int
) -> list[Entry]:
    lines = wrapped(said, width, role=role)
    held = found.looked_after(target.alarm)
    if held is not None:
        who = f"looked after by {safe(held.by, 40)} since {moment(held.at, look)}"
        lines += wrapped(f"{who}: {safe(held.why, 200)}", width, indent=2, role=MUTED)
    return leading(lines, target)


def _failing(one: EndpointHealth, look: Look) -> str:
    why = f", {safe(one.reason, 40)}" if one.reason else ""
    blows = one.fuse.blows_at
    if one.fuse.blown_at is not None or blows is None:
        end = "the sender has disabled it by now: enable it in the dashboard"
    else:
        end = f"a failure at or after {moment(blows, look)} disables it; one 2xx resets the fuse"
    to_do = words.to_do(one.reason)
    then = f" To do: {to_do}." if to_do else ""
    return f"✕ failing: {safe(one.endpoint, 40)} refused {_many(one.failures)}{why}; {end}.{then}"


def _endpoint_target(one: EndpointHealth, mode: Mode) -> Target:
    failing = one.failures > 0
    return Target(
        key=f"endpoint:{one.endpoint}",
        name=f"endpoint {safe(one.endpoint, 40)}",
        screen=_DELIVERIES,
        narrowed=Filter((Term("endpoint", (one.endpoint,)),), unwell=failing),
        alarm=failing_id(one.endpoint, one.fuse.lit_at, mode) if failing else "",
    )


def _channel_target(channel: str, found: Reading) -> Target:
    return Target(
        key=f"open:{channel}",
        name=f"open prompts of {words.channel(channel)}",
        screen=_LIVE,
        narrowed=Filter((Term("channel", (channel,)), Term("status", (Status.CREATED.value,)))),
        alarm=stuck_id(channel, found.health, found.mode),
    )


def _endpoints(found: Reading, look: Look, width: int) -> list[Entry]:
    if not found.health.endpoints:
        return plainly([(("no delivery has arrived within seven days", MUTED),)])
    shape: tuple[int, ...] = (12, 10, 12, 12, -8, _FUSE_CELLS, 30)
    heads = ("endpoint", "state", "last arrival", "last 2xx", "refused", "fuse, 72 h", "")
    kept = range(len(shape)) if width >= _WIDE else (0, 1, 2, 4, 6)
    entries = plainly([columns(((heads[n], MUTED), shape[n]) for n in kept)])
    for one in found.health.endpoints:
        runs: tuple[Run, ...] = (
            cell(one.endpoint, limit=40),
            _state(one, found.silent),
            (moment(one.last_arrival_at, look), PLAIN),
            (moment(one.last_success_at, look), PLAIN),
            (_many(one.failures), PLAIN),
            (_fuse(one), FAILED if one.failures else MUTED),
            (_left(one, look), MUTED),
        )
        line = columns((runs[n], shape[n]) for n in kept)
        entries.append(Entry(line, _endpoint_target(one, found.mode)))
    return entries


def _state(one: EndpointHealth, silent: Silence | None) -> Run:
    if one.failures:
        return "✕ failing", FAILED
    # What was well when it last arrived is not healthy while nothing arrives at all.
    return ("◐ silent", WARN) if silent is not None else ("● healthy", PLAIN)


def _many(failures: int) -> str:
    return f"{failures}+" if failures >= FAILURES_COUNTED else f"{failures}"


def _fuse(one: EndpointHealth) -> str:
    lit = one.fuse.lit_at
    if lit is None:
        return "·" * _FUSE_CELLS
    burnt = (one.last_arrival_at - lit) / DISABLE_AFTER
    full = max(1, min(_FUSE_CELLS, round(burnt * _FUSE_CELLS)))
    return "█" * full + "·" * (_FUSE_CELLS - full)


def _left(one: EndpointHealth, look: Look) -> str:
    if one.fuse.blown_at is not None:
        return f"blown {moment(one.fuse.blown_at, look)}"
    blows = one.fuse.blows_at
    return "not lit" if blows is None else f"{moment(blows, look)}, {span(blows - look.now)} left"


def _causes(found: Reading, width: int) -> list[Entry]:
    counted = found.causes or Causes(found.health.causes, found.health.currency)
    if not counted.causes:
        return plainly([((f"no failure and no expiry, {found.window.value}", MUTED),)])
    named = found.health.channels if width >= _WIDE else ()
    shape = (_CODE, *(-12 for _ in named), -7, -7, -15)
    heads = ["code", *(words.channel(one) for one in named), "all", "usual"]
    heads.append(f"value {safe(counted.currency, 8)}")
    entries = plainly(
        [columns(((head, MUTED), wide) for head, wide in zip(heads, shape, strict=True))]
    )
    for group, title in _GROUPS.items():
        mine = [cause for cause in counted.causes if _group(cause) is group]
        if mine:
            total = sum(cause.count for cause in mine)
            entries += plainly([((f"{title}: {total:,}", MUTED),)])
        entries += [
            Entry(_cause(cause, named, shape), _cause_target(cause, found)) for cause in mine
        ]
    return entries


def _group(cause: Cause) -> CodeClass:
    known = CODES.get(_COUNTED_AS.get(cause.word, cause.word))
    return CodeClass.UNKNOWN if known is None else known.group


def _cause(cause: Cause, named: tuple[str, ...], shape: tuple[int, ...]) -> Line:
    over = cause.seen_before and cause.count > 2 * max(cause.usual, 1)
    word, role = cell(cause.word, limit=60)
    runs: list[Run] = [
        (f"  {word}", role),
        *((f"{cause.channels.get(one, 0) or '·'}", PLAIN) for one in named),
        (f"{cause.count:,} ▲" if over else f"{cause.count:,}", WARN if over else PLAIN),
        (f"{cause.usual:,}" if cause.seen_before else "new", MUTED),
        (f"{cause.amount:,}", PLAIN),
    ]
    return columns(zip(runs, shape, strict=True))


def _cause_target(cause: Cause, found: Reading) -> Target:
    if cause.word in {"expired", "no code"}:
        status = Status.EXPIRED if cause.word == "expired" else Status.FAILED
        term = Term("status", (status.value,))
    else:
        term = Term("code", (cause.word,))
    return Target(
        key=f"cause:{cause.word}",
        name=safe(cause.word, 60),
        screen=_LIVE,
        narrowed=Filter((term, *_within(found))),
    )


def _within(found: Reading) -> tuple[Term, ...]:
    from kusanya.business_day import EAT
    from kusanya.causes import begins

    now = found.health.at
    begin = begins(found.window, now).astimezone(EAT)
    if found.window is Window.HOUR:
        return (Term("at", (Span(begin.time(), None),)),)
    return (Term("at", (Span(begin.date(), None),)),)


def _prompts(found: Reading, look: Look, width: int) -> list[Entry]:
    opened = {one.channel: one for one in found.health.stuck}
    timed = {one.channel: one for one in found.times}
    if not opened and not timed:
        return plainly([(("no collection waits, and none has become final", MUTED),)])
    shape = (16, -10, -8, -10, -13, -9, -9)
    heads = ("channel", "under 60 s", "60–120 s", "over 120 s", "oldest", "p50 final", "p95 final")
    kept = range(len(shape)) if width >= _WIDE else (0, 1, 3, 4, 5, 6)
    entries = plainly([columns(((heads[n], MUTED), shape[n]) for n in kept)])
    for channel in sorted(opened.keys() | timed.keys()):
        one, took = opened.get(channel), timed.get(channel)
        none: Run = ("·", MUTED)
        runs: tuple[Run, ...] = (
            (words.channel(channel), PLAIN),
            none if one is None else (f"{one.young:,}", PLAIN),
            none if one is None else (f"{one.late:,}", PLAIN),
            none if one is None else (f"{one.stuck:,}", FAILED if one.stuck else PLAIN),
            none if one is None else (span(look.now - one.oldest_at), MUTED),
            none if took is None else (span(took.p50), PLAIN),
            none if took is None else (span(took.p95), PLAIN),
        )
        entries.append(
            Entry(columns((runs[n], shape[n]) for n in kept), _channel_target(channel, found))
        )
    if found.health.more_open:
        more = "more are open than were looked at: the oldest 1,000 are counted"
        entries += plainly([((more, WARN),)])
    return entries


def _odd(found: Reading, look: Look, width: int) -> list[Entry]:
    box = found.inbox
    if box is None:
        return plainly([(("looking through the newest payments", MUTED),)])
    held = sum(name.startswith("odd:") for name in box.acknowledged)
    after = f", {held:,} acknowledged" if held else ""
    looked = f"{box.looked_at:,} newest payments looked through{after}"
    if not box.odd:
        return plainly([((f"nothing odd; {looked}", MUTED),)])
    kinds = ", ".join(f"{kind.value.replace('_', ' ')} {count:,}" for kind, count in box.kinds)
    entries = plainly(wrapped(f"{kinds}; {looked}", width, role=MUTED))
    for one in box.odd[:INBOX_SHOWN]:
        glyph, role = ("≠", FAILED) if one.anomaly.urgent else ("!", WARN)
        reference, _ = cell(one.row.reference, limit=24)
        head: Line = (
            (f"{glyph} ", role),
            (fit(moment(one.row.created_at, look), 9), MUTED),
            ("  ", PLAIN),
            (fit(reference, 16), PLAIN),
            ("  ", PLAIN),
        )
        indent = 31
        said = wrapped(safe(one.anomaly.sentence, 300), width, indent=indent, role=role)
        lines = [(*head, *said[0][1:]), *said[1:]]
        target = Target(key=one.id, name=f"{reference}: {one.anomaly.kind.value}",
            story=one.row.id, alarm=one.id)  # fmt: skip
        entries += leading(lines, target)
    if len(box.odd) > INBOX_SHOWN:
        more = f"and {len(box.odd) - INBOX_SHOWN:,} more: acknowledge what is looked after with A"
        entries += plainly([((more, MUTED),)])
    return entries
