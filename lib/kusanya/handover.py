"""The hand-over of a shift: what happened since an instant, who did what, what is open.

`load` reads the store, `lines` writes it for people; both know no full phone number.
"""

from collections import Counter
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from typing import Any, Final

import msgspec

from kusanya.alarms import inputs
from kusanya.alarms.acknowledgements import Acknowledgement, acknowledgements
from kusanya.alarms.alarm import Alarm, describe_alarm_id
from kusanya.alarms.rules import raised
from kusanya.business_day import format_instant
from kusanya.lookup import Subject, load_subjects
from kusanya.privacy import mask_text
from kusanya.store import Store
from kusanya.store.records import AuditFilter, AuditRow, IntentRow, Verdict
from kusanya.text import safe
from kusanya.wire import Mode, Status

_HOUR: Final = timedelta(hours=1)
_ACTS: Final = 200
"""So many acts are read, the newest; a shift has fewer."""
_OPEN_SHOWN: Final = 20


class Handover(msgspec.Struct, frozen=True, kw_only=True):
    """What one shift hands to the next, in one mode."""

    mode: Mode
    since: datetime
    at: datetime
    statuses: dict[str, int]
    """Collections created since then, by their present status."""
    collected: dict[str, int]
    """What those of them that succeeded come to, by currency."""
    deliveries: dict[str, int]
    """Arrivals since then, by verdict."""
    acts: tuple[AuditRow, ...]
    """What people did since then, newest first, in either mode."""
    more_acts: bool
    subjects: dict[str, Subject]
    alarms: tuple[Alarm, ...]
    """What stands now, the most urgent first."""
    looked_after: dict[str, Acknowledgement]
    """Who looks after an alarm, by the alarm's id."""
    unknown: tuple[IntentRow, ...]
    """Creations whose outcome is unknown, the newest first."""
    open_prompts: int
    """Collections without a final state, 1,000 at most."""


def load(store: Store, mode: Mode, *, since: datetime, now: datetime) -> Handover:
    """Return the hand-over of the time from `since` to `now`. Raises StoreError.

    All of it is of one moment: what commits meanwhile is in no part of it.
    """
    with store.one_moment():
        return _load(store, mode, since=since, now=now)


def _load(store: Store, mode: Mode, *, since: datetime, now: datetime) -> Handover:
    alarm_inputs = inputs.load(store, mode, now=now)
    alarms = raised(alarm_inputs, format_time=lambda at: format_instant(at, now=now))
    # Rollups hold whole hours; the part of the first one is counted by the row.
    whole = min(since.replace(minute=0, second=0, microsecond=0) + _HOUR, now)
    until = now + _HOUR
    statuses: Counter[str] = Counter()
    collected: Counter[str] = Counter()
    for row in (
        *store.rollups.within(mode, since=since, until=whole),
        *(store.rollups.collections(mode, since=whole, until=until) if whole < now else ()),
    ):
        statuses[row.status] += row.count
        if row.status == Status.SUCCEEDED:
            collected[row.currency] += row.amount
    deliveries: Counter[str] = Counter()
    for arrivals in (
        *store.rollups.arrivals_within(mode, since=since, until=whole),
        *(store.rollups.deliveries(mode, since=whole, until=until) if whole < now else ()),
    ):
        deliveries[str(arrivals.verdict)] += arrivals.count
    acts = store.audit.page(where=AuditFilter(since=since), limit=_ACTS)
    return Handover(
        mode=mode,
        since=since,
        at=now,
        statuses=dict(+statuses),
        collected=dict(+collected),
        deliveries=dict(+deliveries),
        acts=acts.rows,
        more_acts=acts.more,
        subjects=load_subjects(store, (row.subject for row in acts.rows)),
        alarms=alarms,
        looked_after=acknowledgements(store) if alarms else {},
        unknown=alarm_inputs.unknown,
        open_prompts=len(store.collections.still_open(mode, limit=1_000).rows),
    )


class HandoverLine(msgspec.Struct, frozen=True):
    """One line of the page, safe to show."""

    part: str
    """happened, did or open."""
    text: str
    is_quoted: bool = False
    """True where it holds what people wrote: it is in no language of ours."""


def lines(found: Handover) -> Iterator[HandoverLine]:
    """Yield the hand-over line by line, part after part."""

    def at(instant: datetime) -> str:
        return format_instant(instant, now=found.at)

    total = sum(found.statuses.values())
    shares = ", ".join(f"{count:,} {safe(word, 40)}" for word, count in _ordered(found.statuses))
    created = f"{total:,} collections were created" + (f": {shares}" if shares else "")
    yield HandoverLine("happened", created)
    for currency, amount in sorted(found.collected.items()):
        yield HandoverLine("happened", f"{safe(currency, 8)} {amount:,} collected")
    arrived = sum(found.deliveries.values())
    bad = ", ".join(
        f"{count:,} {word.replace('_', ' ')}"
        for word, count in sorted(found.deliveries.items())
        if word not in {Verdict.VERIFIED, Verdict.REPEAT}
    )
    brought = f"{arrived:,} deliveries arrived" + (f", of them {bad}" if bad else "")
    yield HandoverLine("happened", brought)
    yield HandoverLine("did", _actors(found))
    yield from (HandoverLine("did", line, is_quoted=True) for line in _acts(found, at))
    yield from (HandoverLine("open", line) for line in _open(found, at))


def as_json(found: Handover) -> dict[str, Any]:
    """Return the hand-over for a program: no full phone number."""
    return {
        "mode": found.mode.value,
        "since": found.since,
        "at": found.at,
        "collections": found.statuses,
        "collected": found.collected,
        "deliveries": found.deliveries,
        "acts": [
            {
                "at": row.at,
                "actor": row.actor,
                "act": row.act,
                "subject": None if row.subject is None else mask_text(row.subject),
                "reference": _reference(found, row),
                "detail": mask_text(row.detail),
                "outcome": mask_text(row.outcome),
            }
            for row in found.acts
        ],
        "more_acts": found.more_acts,
        "alarms": [
            {"severity": one.severity.value, "text": one.text, "looked_after_by": _who(found, one)}
            for one in found.alarms
        ],
        "unknown": [
            {
                "id": row.id,
                "reference": mask_text(row.reference),
                "amount": row.amount,
                "first_sent_at": row.first_sent_at,
            }
            for row in found.unknown
        ],
        "open_prompts": found.open_prompts,
    }


def _actors(found: Handover) -> str:
    if not found.acts:
        return "nobody has acted"
    by_person = Counter(row.actor for row in found.acts)
    people = ", ".join(f"{safe(name, 60)} {count:,}" for name, count in by_person.most_common())
    acts = f"{len(found.acts):,} acts: {people}"
    return f"at least {acts}" if found.more_acts else acts


def _acts(found: Handover, at: Callable[[datetime], str]) -> Iterator[str]:
    for row in found.acts:
        raw = row.subject or ""
        alarm = describe_alarm_id(raw, here=found.mode)
        about = _reference(found, row) or alarm or mask_text(raw)
        why = mask_text(row.detail)
        said = [at(row.at), row.actor, row.act.replace("_", " "), about, row.outcome, why]
        yield safe("  ".join(part for part in said if part), 300)


def _open(found: Handover, at: Callable[[datetime], str]) -> Iterator[str]:
    for one in found.alarms:
        who = _who(found, one)
        yield one.text + (f" {safe(who, 60)} looks after it." if who else "")
    for row in found.unknown[:_OPEN_SHOWN]:
        first = "never sent" if row.first_sent_at is None else f"sent {at(row.first_sent_at)}"
        reference = safe(mask_text(row.reference), 60)
        yield f"? outcome unknown: {reference}, TZS {row.amount:,}, {first}; never create it anew"
    if len(found.unknown) > _OPEN_SHOWN:
        yield f"? and {len(found.unknown) - _OPEN_SHOWN:,} more creations of unknown outcome"
    if found.open_prompts:
        yield f"{found.open_prompts:,} collections have no final state yet"
    if not (found.alarms or found.unknown or found.open_prompts):
        yield "nothing is open"


def _reference(found: Handover, row: AuditRow) -> str | None:
    of = found.subjects.get(row.subject or "")
    return None if of is None else mask_text(of.reference)


def _who(found: Handover, alarm: Alarm) -> str | None:
    held = found.looked_after.get(alarm.id) if alarm.id else None
    return None if held is None else held.by


def _ordered(statuses: dict[str, int]) -> list[tuple[str, int]]:
    return sorted(statuses.items(), key=lambda pair: (-pair[1], pair[0]))
