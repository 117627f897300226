"""The page of a hand-over: all that is read for it, its lines for people, its JSON."""

from collections import Counter
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from typing import Any, Final

import msgspec

from kusanya.alarms import inputs
from kusanya.alarms.acknowledgements import Acknowledgements, acknowledgements
from kusanya.alarms.alarm import Alarm, describe_alarm_id, names_of
from kusanya.alarms.rules import raised
from kusanya.domain.business_day import format_instant
from kusanya.domain.status import CONTRADICTION, PAID, Status
from kusanya.handover.acts import ActRun, ShiftActs, load_acts
from kusanya.lookup import Subject, load_subjects
from kusanya.privacy import mask_text
from kusanya.say import Said, joined, plural
from kusanya.store import Store
from kusanya.store.records import IntentRow, Verdict
from kusanya.text import safe
from kusanya.wire import Mode

_HOUR: Final = timedelta(hours=1)
_OPEN_SHOWN: Final = 20
_COUNTED: Final = frozenset({*Status, CONTRADICTION})
"""Statuses that are texts of ours, not only as they came."""


class Handover(msgspec.Struct, frozen=True, kw_only=True):
    """What one shift hands to the next, in one mode."""

    mode: Mode
    since: datetime
    at: datetime
    statuses: dict[str, int]
    """Collections created since then, by their present status."""
    finals: dict[str, int]
    """Collections whose final state was learned since then, whenever they were created."""
    collected: dict[str, int]
    """What those of the finals that succeeded come to, by currency."""
    deliveries: dict[str, int]
    """Arrivals since then, by verdict."""
    acts: ShiftActs
    """What people did since then, in either mode."""
    subjects: dict[str, Subject]
    alarms: tuple[Alarm, ...]
    """What stands now, the most urgent first."""
    looked_after: Acknowledgements
    """Who looks after an alarm, or has muted it."""
    unknown: tuple[IntentRow, ...]
    """Creations whose outcome is unknown, the newest first."""
    unknown_in_all: int
    """How many there are; `unknown` lists the newest."""
    open_prompts: int
    """Collections without a final state."""


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
    finals: Counter[str] = Counter()
    collected: Counter[str] = Counter()
    for row in (
        *store.rollups.within(mode, since=since, until=whole),
        *(store.rollups.collections(mode, since=whole, until=until) if whole < now else ()),
    ):
        statuses[row.status] += row.count
    for row in store.rollups.finals_within(mode, since=since, until=until):
        finals[row.status] += row.count
        if row.status in PAID:
            collected[row.currency] += row.amount
    deliveries: Counter[str] = Counter()
    for arrivals in (
        *store.rollups.arrivals_within(mode, since=since, until=whole),
        *(store.rollups.deliveries(mode, since=whole, until=until) if whole < now else ()),
    ):
        deliveries[str(arrivals.verdict)] += arrivals.count
    acts = load_acts(store, since=since)
    return Handover(
        mode=mode,
        since=since,
        at=now,
        statuses=dict(+statuses),
        finals=dict(+finals),
        collected=dict(+collected),
        deliveries=dict(+deliveries),
        acts=acts,
        subjects=load_subjects(store, (run.subject for run in acts.runs)),
        alarms=alarms,
        looked_after=acknowledgements(store, names_of(alarms), now=now),
        unknown=alarm_inputs.unknown,
        unknown_in_all=store.intents.count_unknown(mode),
        open_prompts=store.collections.count_open(mode),
    )


class HandoverLine(msgspec.Struct, frozen=True):
    """One line of the page, safe to show."""

    part: str
    """happened, open or did."""
    text: str


def lines(found: Handover) -> Iterator[HandoverLine]:
    """Yield the hand-over line by line, part after part."""

    def at(instant: datetime) -> str:
        return format_instant(instant, now=found.at)

    created = plural(
        sum(found.statuses.values()),
        "1 collection was created",
        "{count} collections were created",
    )
    yield HandoverLine("happened", _shares(created, found.statuses))
    ended = plural(
        sum(found.finals.values()), "1 collection became final", "{count} collections became final"
    )
    yield HandoverLine("happened", _shares(ended, found.finals))
    for currency, amount in sorted(found.collected.items()):
        yield HandoverLine(
            "happened",
            Said("{currency} {amount} collected").of(currency=safe(currency, 8), amount=amount),
        )
    arrived = sum(found.deliveries.values())
    bad = [
        Said(f"{{count}} {word.replace('_', ' ')}").of(count=count)
        for word, count in sorted(found.deliveries.items())
        if word not in {Verdict.VERIFIED, Verdict.REPEAT}
    ]
    brought = plural(arrived, "1 delivery arrived", "{count} deliveries arrived")
    if bad:
        brought = Said("{our_brought}, of them {our_list}").of(
            our_brought=brought, our_list=joined(", ", bad)
        )
    yield HandoverLine("happened", brought)
    # Before the acts, which may be many: it is what the next shift has to do.
    yield from (HandoverLine("open", line) for line in _open(found, at))
    yield HandoverLine("did", _actors(found))
    yield from (HandoverLine("did", line) for line in _acts(found, at))
    if found.acts.unlisted:
        unlisted = plural(
            found.acts.unlisted,
            "and 1 routine act before, counted above",
            "and {count} routine acts before, counted above",
        )
        yield HandoverLine("did", unlisted)


def as_json(found: Handover) -> dict[str, Any]:
    """Return the hand-over for a program: no full phone number."""
    return {
        "mode": found.mode.value,
        "since": found.since,
        "at": found.at,
        "collections": found.statuses,
        "became_final": found.finals,
        "collected": found.collected,
        "deliveries": found.deliveries,
        "acts": [
            {
                "at": run.last.at,
                "first_at": run.first_at,
                "count": len(run.rows),
                "actor": run.last.actor,
                "act": run.last.act,
                "subject": None if run.subject is None else mask_text(run.subject),
                "reference": _reference(found, run),
                "detail": mask_text(run.last.detail),
                "outcome": mask_text(run.outcome),
            }
            for run in found.acts.runs
        ],
        "acts_by_person": found.acts.by_person,
        "acts_not_listed": found.acts.unlisted,
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


def _shares(sentence: Said, counts: dict[str, int]) -> Said:
    """Return a sentence with how many there are of what."""
    said = joined(", ", (_counted(word, count) for word, count in _ordered(counts)))
    return joined(": ", (sentence, said))


def _counted(word: str, count: int) -> Said:
    if word in _COUNTED:
        return Said(f"{{count}} {word}").of(count=count)
    return Said("{count} {word}").of(count=count, word=safe(word, 40))


def _actors(found: Handover) -> str:
    by_person = found.acts.by_person
    if not by_person:
        return "nobody has acted"
    people = ", ".join(f"{safe(name, 60)} {count:,}" for name, count in _ordered(by_person))
    return plural(
        sum(by_person.values()), "1 act: {people}", "{count} acts: {people}", people=people
    )


def _acts(found: Handover, at: Callable[[datetime], str]) -> Iterator[str]:
    for run in found.acts.runs:
        row, count, when = run.last, len(run.rows), at(run.last.at)
        raw = run.subject or ""
        alarm = describe_alarm_id(raw, here=found.mode)
        about = alarm or _quoted(_reference(found, run) or mask_text(raw))
        if count > 1:
            when, about = f"{at(run.first_at)}–{when}", _quoted(f"×{count:,}")
        why = mask_text(row.detail)
        act = row.act.replace("_", " ")
        said = (when, _quoted(row.actor), act, about, safe(run.outcome, 200), _quoted(why))
        yield joined("  ", said)


def _quoted(text: str) -> Said:
    """Return what a person wrote: it is in no language of ours."""
    return Said("{text}").of(text=safe(text, 400))


def _open(found: Handover, at: Callable[[datetime], str]) -> Iterator[str]:
    for one in found.alarms:
        who = _who(found, one)
        held = Said("{who} looks after it.").of(who=safe(who, 60)) if who else ""
        yield joined(" ", (one.text, held))
    for row in found.unknown[:_OPEN_SHOWN]:
        first = (
            "never sent"
            if row.first_sent_at is None
            else Said("sent {at}").of(at=at(row.first_sent_at))
        )
        reference = safe(mask_text(row.reference), 60)
        yield Said(
            "? outcome unknown: {reference}, TZS {amount}, {our_first}; never create it anew"
        ).of(reference=reference, amount=row.amount, our_first=first)
    if found.unknown_in_all > _OPEN_SHOWN:
        yield plural(
            found.unknown_in_all - _OPEN_SHOWN,
            "? and 1 more creation of unknown outcome",
            "? and {count} more creations of unknown outcome",
        )
    if found.open_prompts:
        yield plural(
            found.open_prompts,
            "1 collection has no final state yet",
            "{count} collections have no final state yet",
        )
    if not (found.alarms or found.unknown or found.open_prompts):
        yield "nothing is open"


def _reference(found: Handover, run: ActRun) -> str | None:
    of = found.subjects.get(run.subject or "")
    return None if of is None else mask_text(of.reference)


def _who(found: Handover, alarm: Alarm) -> str | None:
    held = found.looked_after.of(*alarm.names)
    return None if held is None else held.actor


def _ordered(counts: dict[str, int]) -> list[tuple[str, int]]:
    return sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))
