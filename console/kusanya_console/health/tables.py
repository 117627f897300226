"""The tables of the health report: failures by cause, prompts by channel, odd payments. Pure."""

from collections import Counter

from kusanya.alarms.anomalous_collections import AnomalousCollection, AnomalyReport
from kusanya.domain.business_day import EAT
from kusanya.domain.failure_codes import ADVICE
from kusanya.domain.status import CAUSES, CodeClass
from kusanya.filters import Filter, Range, Term, TimeRange
from kusanya.health.causes import Cause, Causes, Lookback, begins
from kusanya.text import safe
from kusanya_console.commands import LIVE
from kusanya_console.health.lines import HealthEntry, HealthTarget, leading, plainly
from kusanya_console.health.reader import HealthReading, channel_target
from kusanya_console.ui import vocabulary
from kusanya_console.ui.format import (
    Line,
    Look,
    cell,
    columns,
    fit,
    fit_id,
    format_duration,
    format_instant,
    wrapped,
)
from kusanya_console.ui.language import translate
from kusanya_console.ui.vocabulary import FAILED, MUTED, PLAIN, WARN, Run

WIDE = 96
"""From this width on a table shows all of its columns."""
_CODE = 24
_CHANNEL = 12
_TOTALS = (-7, -7, -15)
_GAP = 2
_HOUR_S = 3_600
_ANOMALIES_SHOWN = 12
"""Anomalies that have a line of their own; the rest are counted."""
_SAID = 31
"""Cells before the sentence about an odd payment."""
_GROUPS = {
    CodeClass.CUSTOMER: "the customer can put it right",
    CodeClass.DATA: "our data is wrong",
    CodeClass.LATER: "later may go well",
    CodeClass.UNKNOWN: "ask the provider",
}


def causes(found: HealthReading, width: int) -> list[HealthEntry]:
    """Return failures and expiries of that time, grouped by who can act on them."""
    counted = found.causes or Causes(found.health.causes, found.health.currency)
    if not counted.causes:
        since = translate(found.lookback.value)
        return plainly([((f"{translate('no failure and no expiry')}, {since}", MUTED),)])
    # A channel stays whether or not a prompt of it is open at this moment.
    known = (*found.health.channels, *(one.channel for one in found.times))
    named = _channels(counted, known, width) if width >= WIDE else ()
    shape = (_CODE, *(-_CHANNEL for _ in named), *_TOTALS)
    heads = ["code", *(vocabulary.channel(one) for one in named), "all", "usual"]
    heads.append(translate("value {currency}", currency=safe(counted.currency, 8)))
    entries = plainly(
        [columns(((translate(head), MUTED), wide) for head, wide in zip(heads, shape, strict=True))]
    )
    for group, title in _GROUPS.items():
        mine = [cause for cause in counted.causes if _group(cause) is group]
        if mine:
            total = sum(cause.count for cause in mine)
            entries += plainly([((f"{translate(title)}: {total:,}", MUTED),)])
        entries += [
            HealthEntry(_cause(cause, named, shape), _cause_target(cause, found)) for cause in mine
        ]
    return entries


def _channels(counted: Causes, known: tuple[str, ...], width: int) -> tuple[str, ...]:
    """Return as many channels as there is room for beside the totals, the busiest kept."""
    counts: Counter[str] = Counter(dict.fromkeys(known, 0))
    for cause in counted.causes:
        counts.update(cause.channels)
    used = _CODE + sum(-wide + _GAP for wide in _TOTALS)
    kept = counts.most_common(max((width - used) // (_CHANNEL + _GAP), 0))
    return tuple(sorted(channel for channel, _ in kept))


def _group(cause: Cause) -> CodeClass:
    group, _ = ADVICE.get(cause.word, (CodeClass.UNKNOWN, ""))
    return group


def _cause(cause: Cause, named: tuple[str, ...], shape: tuple[int, ...]) -> Line:
    over = cause.seen_before and cause.count > 2 * max(cause.usual, 1)
    status = CAUSES.get(cause.word)
    word, role = cell(cause.word, limit=60) if status is None else (vocabulary.cause(status), PLAIN)
    runs: list[Run] = [
        (f"  {word}", role),
        *(_some(cause.channels.get(one, 0)) for one in named),
        (f"{cause.count:,} ▲" if over else f"{cause.count:,}", WARN if over else PLAIN),
        (f"{cause.usual:,}" if cause.seen_before else translate("new"), MUTED),
        (f"{cause.amount:,}", PLAIN),
    ]
    return columns(zip(runs, shape, strict=True))


def _cause_target(cause: Cause, found: HealthReading) -> HealthTarget:
    status = CAUSES.get(cause.word)
    term = Term("code", (cause.word,)) if status is None else Term("status", (status.value,))
    return HealthTarget(
        key=f"cause:{cause.word}",
        name=safe(cause.word, 60),
        screen=LIVE,
        narrowed=Filter((term, *_within(found))),
    )


def _within(found: HealthReading) -> tuple[Term, ...]:
    now = found.health.at
    begin = begins(found.lookback, now).astimezone(EAT)
    if found.lookback is Lookback.HOUR:
        return (Term("age", (Range(None, _HOUR_S),)),)
    return (Term("at", (TimeRange(begin.date(), None),)),)


def prompts(found: HealthReading, look: Look, width: int) -> list[HealthEntry]:
    """Return open prompts by their age, and how long prompts take, channel by channel."""
    opened = {one.channel: one for one in found.health.stuck}
    timed = {one.channel: one for one in found.times}
    if not opened and not timed:
        return plainly([((translate("no collection waits, and none has become final"), MUTED),)])
    shape = (16, -10, -8, -10, -13, -9, -9)
    heads = ("channel", "under 60 s", "60–120 s", "over 120 s", "oldest", "p50 final", "p95 final")
    kept = range(len(shape)) if width >= WIDE else (0, 1, 3, 4, 5, 6)
    entries = plainly([columns(((translate(heads[n]), MUTED), shape[n]) for n in kept)])
    for channel in sorted(opened.keys() | timed.keys()):
        one, took = opened.get(channel), timed.get(channel)
        none: Run = ("—", MUTED)
        runs: tuple[Run, ...] = (
            (vocabulary.channel(channel), PLAIN),
            _some(0 if one is None else one.young),
            _some(0 if one is None else one.late),
            _some(0 if one is None else one.stuck, FAILED),
            none if one is None else (format_duration(look.now - one.oldest_at), MUTED),
            none if took is None else (format_duration(took.p50), PLAIN),
            none if took is None else (format_duration(took.p95), PLAIN),
        )
        entries.append(
            HealthEntry(columns((runs[n], shape[n]) for n in kept), channel_target(channel, found))
        )
    if found.health.more_open:
        more = "more are open than were looked at: the newest 20,000 are counted"
        entries += plainly([((translate(more), WARN),)])
    return entries


def _some(count: int, role: str = PLAIN) -> Run:
    return (f"{count:,}", role if count else MUTED)


def anomalies(found: HealthReading, look: Look, width: int) -> list[HealthEntry]:
    """Return what is odd among the newest payments, each with its sentence."""
    report = found.anomalies
    if report is None:
        return plainly([((translate("looking through the newest payments"), MUTED),)])
    looked = _looked_through(report)
    if not report.found:
        none = translate("no payment yet")
        if report.looked_at:
            none = f"{translate('nothing odd')}; {looked}"
        return plainly([((none, MUTED),)])
    kinds = ", ".join(
        f"{translate(kind.value.replace('_', ' '))} {count:,}" for kind, count in report.kinds
    )
    entries = plainly(wrapped(f"{kinds}; {looked}", width, role=MUTED))
    for one in report.found[:_ANOMALIES_SHOWN]:
        entries += _anomaly(one, look, width)
    if len(report.found) > _ANOMALIES_SHOWN:
        rest = len(report.found) - _ANOMALIES_SHOWN
        more = "and {count} more: acknowledge what is looked after with A"
        entries += plainly([((translate(more, count=f"{rest:,}"), MUTED),)])
    return entries


def _looked_through(report: AnomalyReport) -> str:
    """Return how many payments were looked through, and what of them is not listed."""
    acknowledged = sum(name.startswith("odd:") for name in report.held.by_name)
    looked = (
        translate("1 payment looked through")
        if report.looked_at == 1
        else translate("{count} newest payments looked through", count=f"{report.looked_at:,}")
    )
    if acknowledged:
        looked += translate(", {count} acknowledged", count=f"{acknowledged:,}")
    if report.more:
        looked += translate("; for older ones ! on Live")
    return looked


def _anomaly(one: AnomalousCollection, look: Look, width: int) -> list[HealthEntry]:
    """Return the payment and what is odd about it, on as many lines as the sentence needs."""
    glyph, role = ("≠", FAILED) if one.anomaly.urgent else ("!", WARN)
    reference, _ = cell(one.row.reference, limit=24)
    head: Line = (
        (f"{glyph} ", role),
        (fit(format_instant(one.row.created_at, look), 9), MUTED),
        ("  ", PLAIN),
        (fit_id(reference, 16), PLAIN),
        ("  ", PLAIN),
    )
    said = wrapped(safe(translate(one.anomaly.sentence), 300), width, indent=_SAID, role=role)
    name = f"{reference}: {translate(one.anomaly.kind.value.replace('_', ' '))}"
    target = HealthTarget(key=one.id, name=name, story=one.row.id, alarm=one.id)
    return leading([(*head, *said[0][1:]), *said[1:]], target)
