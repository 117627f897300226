"""What `kusanya talk` says of records, figures and alarms: a line each, in words alone. Pure.

What a listener waits for comes first: the reference and its state, then the money, then the rest.
"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import datetime

from kusanya.alarms.acknowledgements import Acknowledgement
from kusanya.alarms.alarm import Alarm
from kusanya.business_day import format_instant
from kusanya.failure_codes import channel_label
from kusanya.health.report import attempt_of
from kusanya.privacy import mask_phone
from kusanya.store.records import CollectionRow, IntentRow, MissingEventRow, Verdict
from kusanya.text import safe
from kusanya.webhooks.schedule import ATTEMPTS
from kusanya.wire import Status
from kusanya_console.feed import Figures, Snapshot
from kusanya_console.lists.filtering import Arrived
from kusanya_console.ui.format import format_money, format_percent, format_text

_NAME = 60
_MASKED = re.compile(r"\+?[0-9]*•+([0-9]*)")
_NOT_PAID = frozenset({Status.FAILED.value, Status.EXPIRED.value})


def spoken(line: str) -> str:
    """Return a line without the signs that a screen reader spells out or leaves out."""
    ending = _MASKED.sub(lambda found: f"ending {found[1]}" if found[1] else "masked", line)
    return ending.replace("≠ ", "contradiction: ").replace("—", "-")


def collection_line(row: CollectionRow, *, now: datetime) -> str:
    """Return a collection in one line."""
    parts = [
        f"{format_text(row.reference, _NAME)} {_state(row)}",
        format_money(row.amount, row.currency),
        safe(channel_label(row.channel), 40),
        f"phone {mask_phone(row.phone)}",
        f"created {format_instant(row.created_at, now=now)}",
    ]
    return ", ".join(parts)


def intent_line(row: IntentRow, *, now: datetime) -> str:
    """Return a creation in one line."""
    sent = (
        "never sent"
        if row.first_sent_at is None
        else f"first sent {format_instant(row.first_sent_at, now=now)}"
    )
    return (
        f"{format_text(row.reference, _NAME)} creation {row.state.value}, "
        f"{format_money(row.amount, 'TZS')}, phone {mask_phone(row.phone)}, {sent}"
    )


def delivery_line(row: Arrived, *, now: datetime) -> str:
    """Return what arrived, or what should have, in one line."""
    name = format_text(row.reference or row.event_id or "without a reference", _NAME)
    kind = format_text(row.event_type or "event", 40)
    at = format_instant(row.arrived_at, now=now)
    if isinstance(row, MissingEventRow):
        return f"{name}, {kind} {row.verdict.value}, expected {at}"
    reason = f" for {format_text(row.reason, 80)}" if row.reason else ""
    number = attempt_of(row)
    attempt = "an attempt outside the plan" if number is None else f"attempt {number} of {ATTEMPTS}"
    where = safe(row.endpoint or "no endpoint", 40)
    return (
        f"{name}, {kind} {row.verdict.value}{reason}, at {where}, {attempt}, answered "
        f"{row.answer}, {at}"
    )


def alarm_lines(alarm: Alarm, held: Acknowledgement | None) -> Iterator[str]:
    """Yield an alarm: how much it presses and what it says, then what to do."""
    yield f"alarm, {alarm.severity.value}: {safe(alarm.sentence, 400)}"
    if alarm.next_step:
        yield f"  next: {safe(alarm.next_step, 400)}"
    if held is not None:
        yield f"  looked after by {safe(held.by, 60)}: {format_text(held.why, 200)}"


def status_lines(snapshot: Snapshot, *, now: datetime) -> Iterator[str]:
    """Yield the counts of the last 60 minutes and of today, and how far behind the feed is."""
    at = format_instant(snapshot.at, now=now)
    yield f"{snapshot.mode.value} mode, as of {at} East Africa Time"
    yield f"last 60 minutes: {_counts(snapshot.hour)}"
    paid = snapshot.day.of(Status.SUCCEEDED)
    money = snapshot.day.currency
    yield (
        f"today: {_counts(snapshot.day)}; collected {format_money(paid.amount, money)}, "
        f"fees {format_money(paid.fee, money)}, net {format_money(paid.amount - paid.fee, money)}"
    )
    arrived = snapshot.arrivals
    rejected = arrived.total - sum(
        arrived.verdicts.get(one, 0) for one in (Verdict.VERIFIED, Verdict.REPEAT)
    )
    yield f"deliveries in the last 60 minutes: {arrived.total:,}, {rejected:,} of them not taken"
    if snapshot.behind:
        yield f"the feed is {snapshot.behind.total_seconds():.0f} seconds behind"


def is_problem(row: CollectionRow) -> bool:
    """Tell whether a collection needs attention, or ended without money."""
    return bool(row.contradictions) or row.status in _NOT_PAID or row.status not in set(Status)


def summary_line(rows: Sequence[CollectionRow]) -> str:
    """Return how many further changes there were, where they are too many to be read out."""
    counted = Counter(safe(row.status, 40) for row in rows)
    said = ", ".join(f"{count:,} {word}" for word, count in counted.most_common())
    return f"and {len(rows):,} more: {said}"


def _state(row: CollectionRow) -> str:
    reason = f", {safe(row.failure_code, 40)}" if row.failure_code else ""
    doubt = ", its facts contradict each other" if row.contradictions else ""
    return f"{safe(row.status, 40)}{reason}{doubt}"


def _counts(figures: Figures) -> str:
    said = [f"{figures.of(status).count:,} {status.value}" for status in Status]
    if figures.others:
        said.append(f"{figures.others:,} in another state")
    finals = figures.finals
    if finals:
        share = format_percent(figures.of(Status.SUCCEEDED).count, finals)
        said.append(f"success {share}")
    if figures.other_currencies:
        said.append(f"sums in {safe(figures.currency, 8)} alone")
    return ", ".join(said)
