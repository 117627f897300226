"""The entries of a timeline: every recorded fact about one payment, in the words of people.

Each function takes the records of one kind and returns what happened, unsorted. Texts are as they
came from outside.
"""

from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Final

import msgspec

from kusanya.domain.status import OPEN
from kusanya.say import Said, joined, plural
from kusanya.state.observation import Observation, Source
from kusanya.store.records import (
    AttemptRow,
    DeliveryRow,
    IntentRow,
    NoteRow,
    ReceiptFact,
    Verdict,
)
from kusanya.store.records.outcomes import Kind, Outcome, Work

_ANSWERED: Final = "answered"
_NOT_SENT: Final = "not_sent"


class EventKind(StrEnum):
    """What kind of thing an entry of a timeline is about."""

    INTENT = "intent"
    SENT = "sent"
    STATUS = "status"
    """A status that was not known before; `word` is the status."""
    SAME = "same"
    """A status that was known already."""
    ANSWERED = "answered"
    """Our answer to a delivery."""
    REPEAT = "repeat"
    REFUSED = "refused"
    """A delivery that was not believed, or had no effect."""
    NOTE = "note"
    OUTCOME = "outcome"
    """What the shop is told of it, and whether the shop has acted on it."""
    RECEIPT = "receipt"
    """A receipt that an operator's statement gave."""


class TimelineEntry(msgspec.Struct, frozen=True, kw_only=True):
    """One recorded fact: when it was learned, what it says, its source. Texts are from outside."""

    at: datetime
    kind: EventKind
    word: str
    detail: str = ""
    source: str = ""


def note_entries(notes: Iterable[NoteRow]) -> list[TimelineEntry]:
    """Return what people noted."""
    return [
        TimelineEntry(
            at=note.at, kind=EventKind.NOTE, word="note", detail=note.words, source=note.author
        )
        for note in notes
    ]


def receipt_entries(receipts: Iterable[ReceiptFact]) -> list[TimelineEntry]:
    """Return the operator's receipts, and which file said so."""
    return [
        TimelineEntry(
            at=fact.at,
            kind=EventKind.RECEIPT,
            word="receipt",
            detail=Said("{receipt}, of the operator").of(receipt=fact.receipt),
            source=fact.source,
        )
        for fact in receipts
    ]


_TOLD: Final = {
    Kind.PAID: "the order is paid",
    Kind.NOT_PAID: "no money came",
    Kind.PAID_AGAIN: "the order is paid again: give the money back",
    Kind.UNEXPECTED: "money came that a person has to look at",
    Kind.DISPUTED: "facts contradict each other: ship nothing",
    Kind.CORRECTED: "what was told before does not hold",
}


def outcome_entries(outcomes: Iterable[Outcome], work: Sequence[Work]) -> list[TimelineEntry]:
    """Return what a shop is told; `work` is what its consumers have not done of it."""
    entries = []
    for one in outcomes:
        waits = [
            Said("{consumer} parked it: {why}" if left.parked else "{consumer} has not done it").of(
                consumer=left.consumer, why=left.why
            )
            for left in work
            if left.outcome.id == one.id
        ]
        entries.append(
            TimelineEntry(
                at=one.at,
                kind=EventKind.OUTCOME,
                word="outcome",
                detail=joined("; ", (_TOLD[one.kind], *waits)),
                source="store",
            )
        )
    return entries


def observation_entries(observations: Sequence[Observation]) -> list[TimelineEntry]:
    """Return the answers and events of a collection, marking what was known already."""
    known: set[str] = set()
    entries: list[TimelineEntry] = []
    for fact in observations:
        status = fact.collection.status
        entries.append(
            TimelineEntry(
                at=fact.observed_at,
                kind=EventKind.SAME if status in known else EventKind.STATUS,
                word=status,
                detail=_observation_detail(fact),
                source=fact.source.value.replace("_", " "),
            )
        )
        known.add(status)
    return entries


def _observation_detail(fact: Observation) -> str:
    match fact.source:
        case Source.ANSWER if fact.replayed:
            return "202 replayed: the original answer, it tells the past"
        case Source.ANSWER if fact.collection.status in OPEN:
            return Said("202, fee fixed at {fee}; the service prompts the phone").of(
                fee=fact.collection.fee
            )
        case Source.ANSWER:
            detail: str = Said("202, fee fixed at {fee}").of(fee=fact.collection.fee)
        case Source.EVENT:
            detail = Said("{event} verified").of(event=fact.event_id)
        case Source.EVENT_CHECK:
            detail = f"GET /v1/events/{fact.event_id}"
        case Source.RULING:
            detail = plural(
                len(fact.overrules),
                "ruled by what the service says; 1 fact is overruled",
                "ruled by what the service says; {count} facts are overruled",
            )
        case Source.POLL:
            detail = f"GET /v1/collections/{fact.collection.id}"
    failure = (fact.collection.failure_code, fact.collection.failure_message)
    cause = ": ".join(part for part in failure if part)
    return Said("{our_detail}; {cause}").of(our_detail=detail, cause=cause) if cause else detail


def delivery_entries(deliveries: Sequence[DeliveryRow]) -> list[TimelineEntry]:
    """Return how we answered the deliveries that name a collection."""
    entries: list[TimelineEntry] = []
    for row in deliveries:
        # The answer is the last that happened to a delivery, so it stands after what it reported.
        at = row.arrived_at + timedelta(microseconds=row.took_us)
        if row.verdict is Verdict.VERIFIED:
            kind, detail = EventKind.ANSWERED, "after the commit"
        elif row.verdict is Verdict.REPEAT:
            kind, detail = (
                EventKind.REPEAT,
                Said("{event} again: known already, no effect").of(event=row.event_id),
            )
        else:
            why = row.reason or row.verdict.value
            kind, detail = (
                EventKind.REFUSED,
                Said("a delivery was not believed: {our_why}").of(our_why=why),
            )
        entries.append(
            TimelineEntry(
                at=at,
                kind=kind,
                word=Said("we answered {code}").of(code=row.answer),
                detail=detail,
                source="receiver",
            )
        )
    return entries


def intent_entries(intent: IntentRow, attempts: Iterable[AttemptRow]) -> list[TimelineEntry]:
    """Return how a creation was kept, and each of its sendings with how it ended."""
    saved = TimelineEntry(
        at=intent.prepared_at,
        kind=EventKind.INTENT,
        word="intent saved",
        detail="on disk before the first byte left",
        source="intent",
    )
    return [saved, *(_attempt_entry(attempt) for attempt in attempts)]


def _attempt_entry(attempt: AttemptRow) -> TimelineEntry:
    detail = Said("POST /v1/collections, attempt {number}").of(number=attempt.number)
    is_sent = attempt.outcome != _NOT_SENT
    if is_sent and attempt.outcome is not None and attempt.outcome != _ANSWERED:
        status = "" if attempt.status is None else Said("status {code}").of(code=attempt.status)
        outcome = joined(", ", (attempt.outcome.replace("_", " "), status))
        detail = joined(": ", (detail, outcome))
    return TimelineEntry(
        at=attempt.sent_at,
        kind=EventKind.SENT,
        word="sent" if is_sent else "not sent",
        detail=detail,
        source="client",
    )
