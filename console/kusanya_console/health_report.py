"""Health in words and figures: endpoints worst first, failures by code and channel, stuck prompts.

Pure: lines from one frozen report. An alarm is a sentence with its next step.
"""

from kusanya.health import FAILURES_COUNTED, Cause, EndpointHealth, Health
from kusanya.limits import DISABLE_AFTER
from kusanya.text import safe
from kusanya.watch import Silence
from kusanya_console import words
from kusanya_console.present import (
    Line,
    Look,
    cell,
    columns,
    moment,
    rule,
    span,
    wrapped,
)
from kusanya_console.words import FAILED, MUTED, PLAIN, WARN, Run

_BLANK: Line = ()
_WIDE = 96
_CODE = 22
_FUSE_CELLS = 12
_ALARMS = 4
"""Endpoints that have a sentence of their own; the rest are counted."""


def health_lines(found: Health, silent: Silence | None, look: Look, width: int) -> list[Line]:
    """Return the whole report, the alarms first."""
    lines = [*_alarms(found, silent, look, width)]
    lines += [_BLANK, rule("endpoints, as the sender must see them", width)]
    lines += _endpoints(found, look, width)
    lines += [_BLANK, rule("failures, this hour of creation", width)]
    lines += _causes(found, width)
    lines += [_BLANK, rule("open prompts", width)]
    lines += _stuck(found, look)
    return lines


def _alarms(found: Health, silent: Silence | None, look: Look, width: int) -> list[Line]:
    lines: list[Line] = []
    if silent is not None:
        at = silent.last_arrival_at
        last = "nothing has ever arrived" if at is None else f"last arrival {moment(at, look)}"
        lines += wrapped(
            f"◐ silent: polling learned {silent.missed} final states and no event; {last}. "
            "Likely disabled or unreachable: look in the dashboard, then run "
            "kusanya catch-up. No handler can see this alarm.",
            width,
            role=WARN,
        )
    for one in found.failing[:_ALARMS]:
        why = f", {safe(one.reason, 40)}" if one.reason else ""
        blows = one.fuse.blows_at
        if one.fuse.blown_at is not None or blows is None:
            end = "the sender has disabled it by now: enable it in the dashboard"
        else:
            end = (
                f"a failure at or after {moment(blows, look)} disables it; one 2xx resets the fuse"
            )
        lines += wrapped(
            f"✕ failing: {safe(one.endpoint, 40)} refused {_many(one.failures)}{why}; {end}.",
            width,
            role=FAILED,
        )
    if len(found.failing) > _ALARMS:
        lines.append(((f"✕ and {len(found.failing) - _ALARMS} more endpoints fail", FAILED),))
    for stuck in found.stuck:
        if stuck.stuck > 1:
            said = (
                f"✕ stuck: {stuck.stuck} prompts of {words.channel(stuck.channel)} wait over 2 min"
            )
            lines += wrapped(
                f"{said}: many phones on one channel are an outage.", width, role=FAILED
            )
    return lines or [(("● nothing is failing, nothing is silent, nothing is stuck", PLAIN),)]


def _endpoints(found: Health, look: Look, width: int) -> list[Line]:
    if not found.endpoints:
        return [(("no delivery has arrived within seven days", MUTED),)]
    shape: tuple[int, ...] = (12, 10, 12, 12, -8, _FUSE_CELLS, 30)
    heads = ("endpoint", "state", "last arrival", "last 2xx", "refused", "fuse, 72 h", "")
    kept = range(len(shape)) if width >= _WIDE else (0, 1, 2, 4, 6)
    lines = [columns(((heads[n], MUTED), shape[n]) for n in kept)]
    for one in found.endpoints:
        runs: tuple[Run, ...] = (
            cell(one.endpoint, limit=40),
            ("✕ failing", FAILED) if one.failures else ("● healthy", PLAIN),
            (moment(one.last_arrival_at, look), PLAIN),
            (moment(one.last_success_at, look), PLAIN),
            (_many(one.failures), PLAIN),
            (_fuse(one), FAILED if one.failures else MUTED),
            (_left(one, look), MUTED),
        )
        lines.append(columns((runs[n], shape[n]) for n in kept))
    return lines


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


def _causes(found: Health, width: int) -> list[Line]:
    if not found.causes:
        return [(("no failure and no expiry in this hour", MUTED),)]
    named = found.channels if width >= _WIDE else ()
    shape = (_CODE, *(-12 for _ in named), -7, -7, -15)
    heads = ["code", *(words.channel(one) for one in named), "all", "usual"]
    heads.append(f"value {safe(found.currency, 8)}")
    lines = [columns(((head, MUTED), wide) for head, wide in zip(heads, shape, strict=True))]
    return lines + [_cause(cause, named, shape) for cause in found.causes]


def _cause(cause: Cause, named: tuple[str, ...], shape: tuple[int, ...]) -> Line:
    over = cause.seen_before and cause.count > 2 * max(cause.usual, 1)
    runs: list[Run] = [
        cell(cause.word, limit=60),
        *((f"{cause.channels.get(one, 0) or '·'}", PLAIN) for one in named),
        (f"{cause.count:,} ▲" if over else f"{cause.count:,}", WARN if over else PLAIN),
        (f"{cause.usual:,}" if cause.seen_before else "new", MUTED),
        (f"{cause.amount:,}", PLAIN),
    ]
    return columns(zip(runs, shape, strict=True))


def _stuck(found: Health, look: Look) -> list[Line]:
    if not found.stuck:
        return [(("no collection waits for its final state", MUTED),)]
    shape = (16, -10, -10, -10, -14)
    heads = ("channel", "under 60 s", "60–120 s", "over 120 s", "oldest")
    lines = [columns(((head, MUTED), wide) for head, wide in zip(heads, shape, strict=True))]
    for one in found.stuck:
        runs: tuple[Run, ...] = (
            (words.channel(one.channel), PLAIN),
            (f"{one.young:,}", PLAIN),
            (f"{one.late:,}", PLAIN),
            (f"{one.stuck:,}", FAILED if one.stuck else PLAIN),
            (span(look.now - one.oldest_at), MUTED),
        )
        lines.append(columns(zip(runs, shape, strict=True)))
    if found.more_open:
        lines.append((("more are open than were looked at: the oldest 1,000 are counted", WARN),))
    return lines
