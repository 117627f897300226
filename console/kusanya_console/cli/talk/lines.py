"""What `kusanya talk` says of records, figures and alarms: a line each, in words alone. Pure.

What a listener waits for comes first: the reference and its state, then the money, then the rest.
"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import datetime

from kusanya.alarms.alarm import Alarm
from kusanya.domain.business_day import format_instant
from kusanya.domain.channels import channel_label
from kusanya.domain.failure_codes import ADVICE
from kusanya.domain.status import UNPAID, Status
from kusanya.health.causes import Cause
from kusanya.health.delivery_plan import DeliveryPlan, SlotState
from kusanya.privacy import mask_phone
from kusanya.store.records import (
    Acknowledgement,
    CollectionRow,
    IntentRow,
    MissingEventRow,
    Verdict,
)
from kusanya.text import safe
from kusanya_console.deliveries.cards import ahead
from kusanya_console.deliveries.filtering import DeliveryRecord
from kusanya_console.feed import CollectionCounts, Snapshot
from kusanya_console.ui.format import Look, format_money, format_percent, format_text, plain
from kusanya_console.ui.language import translate
from kusanya_console.ui.vocabulary import attempt_words, first_sent_words

_NAME = 60
_LONGEST = 400
"""Cells of a line that is said: it is wrapped by whatever shows it."""
_MASKED = re.compile(r"(?:\+|(?<![0-9]))[0-9]*+•+([0-9]*)")


def spoken(line: str) -> str:
    """Return a line without the signs that a screen reader spells out or leaves out."""
    said = translate(line)
    ending = _MASKED.sub(_ending, said)
    return ending.replace("≠ ", f"{translate('contradiction')}: ").replace("—", "-")


def _ending(found: re.Match[str]) -> str:
    return translate("ending {digits}", digits=found[1]) if found[1] else translate("masked")


def collection_line(row: CollectionRow, *, now: datetime) -> str:
    """Return a collection in one line."""
    parts = [
        f"{format_text(row.reference, _NAME)} {_state(row)}",
        format_money(row.amount, row.currency),
        safe(channel_label(row.channel), 40),
        translate("phone {phone}", phone=mask_phone(row.phone)),
        translate("created {at}", at=format_instant(row.created_at, now=now)),
    ]
    return ", ".join(parts)


def intent_line(row: IntentRow, *, now: datetime) -> str:
    """Return a creation in one line."""
    first = row.first_sent_at
    sent = first_sent_words(row, "" if first is None else format_instant(first, now=now))
    phone = translate("phone {phone}", phone=mask_phone(row.phone))
    state = translate("creation {state}", state=translate(row.state.value))
    amount = format_money(row.amount, "TZS")
    return f"{format_text(row.reference, _NAME)} {state}, {amount}, {phone}, {sent}"


def delivery_line(row: DeliveryRecord, *, now: datetime) -> str:
    """Return what arrived, or what should have, in one line."""
    name = format_text(row.reference or row.event_id or translate("without a reference"), _NAME)
    kind = format_text(row.event_type or "event", 40)
    at = format_instant(row.arrived_at, now=now)
    if isinstance(row, MissingEventRow):
        verdict = translate(row.verdict.value)
        return f"{name}, {kind} {verdict}, {translate('expected {at}', at=at)}"
    reason = translate(" for {reason}", reason=format_text(row.reason, 80)) if row.reason else ""
    attempt = attempt_words(row)
    where = safe(row.endpoint or translate("no endpoint"), 40)
    answered = translate("answered {status}", status=row.answer)
    verdict = translate(row.verdict.value.replace("_", " "))
    at_endpoint = translate("at {endpoint}", endpoint=where)
    return f"{name}, {kind} {verdict}{reason}, {at_endpoint}, {attempt}, {answered}, {at}"


def plan_lines(plan: DeliveryPlan | None, *, now: datetime) -> Iterator[str]:
    """Yield the attempts of an event, their numbers inferred, then what comes next."""
    for slot in () if plan is None else plan.slots:
        if slot.state is SlotState.SPARED:
            continue
        said = translate(slot.state.value)
        if slot.arrival is not None:
            said = translate("answered {status}", status=slot.arrival.answer)
        at = "" if slot.at is None else f", {format_instant(slot.at, now=now)}"
        yield f"{translate('attempt {number}', number=slot.number)}: {said}{at}"
    for line in plain(ahead(plan, Look(now), _LONGEST)).splitlines():
        yield " ".join(line.strip("◌✕").split())


def cause_lines(cause: Cause, currency: str) -> Iterator[str]:
    """Yield one cause of failures: how many, how many are usual, what they come to, and where."""
    usual = translate("new")
    if cause.seen_before:
        usual = translate("usually {count}", count=f"{cause.usual:,}")
    amount = format_money(cause.amount, currency)
    yield f"{safe(cause.word, 60)}: {cause.count:,}, {usual}, {amount}"
    by = sorted(cause.channels.items(), key=lambda one: (-one[1], one[0]))
    yield "  " + ", ".join(f"{safe(channel_label(name), 40)} {count:,}" for name, count in by)
    advice = ADVICE.get(cause.word)
    if advice is not None:
        yield f"  {translate(advice[1])}"


def alarm_lines(alarm: Alarm, held: Acknowledgement | None, *, now: datetime) -> Iterator[str]:
    """Yield an alarm: how much it presses and what it says, then what to do."""
    alarmed = translate("alarm, {severity}", severity=translate(alarm.severity.value))
    yield f"{alarmed}: {safe(translate(alarm.sentence), 400)}"
    if alarm.next_step:
        yield f"  {safe(translate(alarm.next_step), 400)}"
    if held is not None:
        yield f"  {held_by(held, now=now)}: {format_text(held.reason, 200)}"


def held_by(held: Acknowledgement, *, now: datetime) -> str:
    """Return who looks after an alarm, or until when somebody has muted it."""
    who = safe(held.actor, 60)
    if held.until is None:
        return translate("looked after by {who}", who=who)
    return translate("muted by {who} until {at}", who=who, at=format_instant(held.until, now=now))


def status_lines(snapshot: Snapshot, *, now: datetime) -> Iterator[str]:
    """Yield the counts of the last 60 minutes and of today, and how far behind the feed is."""
    at = format_instant(snapshot.at, now=now)
    yield translate("{mode} mode, as of {at} East Africa Time", mode=snapshot.mode.value, at=at)
    yield f"{translate('last 60 minutes')}: {_counts(snapshot.hour)}"
    paid = snapshot.day.paid
    money = snapshot.day.currency
    collected = translate(
        "collected {amount}, fees {fee}, net {net}",
        amount=format_money(paid.amount, money),
        fee=format_money(paid.fee, money),
        net=format_money(paid.amount - paid.fee, money),
    )
    yield f"{translate('today')}: {_counts(snapshot.day)}; {collected}"
    arrived = snapshot.arrivals
    rejected = arrived.total - sum(
        arrived.verdicts.get(one, 0) for one in (Verdict.VERIFIED, Verdict.REPEAT)
    )
    yield translate(
        "deliveries in the last 60 minutes: {count}, {refused} of them not taken",
        count=f"{arrived.total:,}",
        refused=f"{rejected:,}",
    )
    if snapshot.behind:
        seconds = f"{snapshot.behind.total_seconds():.0f}"
        yield translate("the feed is {seconds} seconds behind", seconds=seconds)


def is_problem(row: CollectionRow) -> bool:
    """Return whether a collection needs attention, or ended without money."""
    return bool(row.contradictions) or row.status in UNPAID or row.status not in set(Status)


def summary_line(rows: Sequence[CollectionRow]) -> str:
    """Return how many further changes there were, where they are too many to be read out."""
    counted = Counter(safe(row.status, 40) for row in rows)
    said = ", ".join(f"{count:,} {_word(word)}" for word, count in counted.most_common())
    return f"{translate('and {count} more', count=f'{len(rows):,}')}: {said}"


def _state(row: CollectionRow) -> str:
    reason = f", {safe(row.failure_code, 40)}" if row.failure_code else ""
    doubt = translate(", its facts contradict each other") if row.contradictions else ""
    return f"{_word(safe(row.status, 40))}{reason}{doubt}"


def _word(status: str) -> str:
    return translate(status) if status in set(Status) else status


def _counts(figures: CollectionCounts) -> str:
    said = [f"{figures.of(status).count:,} {translate(status.value)}" for status in Status]
    if figures.others:
        said.append(translate("{count} in another state", count=f"{figures.others:,}"))
    finals = figures.finals
    if finals:
        share = format_percent(figures.paid.count, finals)
        said.append(f"{translate('success')} {share}")
    if figures.other_currencies:
        said.append(translate("sums in {currency} alone", currency=safe(figures.currency, 8)))
    return ", ".join(said)
