"""The moments of a story: every recorded fact about one payment, in the words of people.

Each function takes the records of one kind and returns what happened, unsorted. Texts are as they
came from outside.
"""

from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Final

import msgspec

from kusanya.state.observation import Observation, Source
from kusanya.store.records import AttemptRow, DeliveryRow, IntentRow, NoteRow, Verdict
from kusanya.wire import Status

_ANSWERED: Final = "answered"


class What(StrEnum):
    """What kind of thing happened at a moment of a story."""

    INTENT = "intent"
    SENT = "sent"
    STATUS = "status"
    """A status was heard that was not known before; `word` is the status."""
    SAME = "same"
    """A status was heard again."""
    ANSWERED = "answered"
    """Our answer to a delivery."""
    REPEAT = "repeat"
    REFUSED = "refused"
    """A delivery that was not believed, or had no effect."""
    NOTE = "note"


class Moment(msgspec.Struct, frozen=True, kw_only=True):
    """One recorded fact: when we heard it, what it says, from where. Its texts are from outside."""

    at: datetime
    what: What
    word: str
    detail: str = ""
    source: str = ""


def noted(notes: Iterable[NoteRow]) -> list[Moment]:
    """Return what people noted."""
    return [
        Moment(at=note.at, what=What.NOTE, word=note.text, source=note.author) for note in notes
    ]


def heard(observations: Sequence[Observation]) -> list[Moment]:
    """Return what was heard of a collection, marking what was known already."""
    known: set[str] = set()
    told: list[Moment] = []
    for fact in observations:
        status = fact.collection.status
        told.append(
            Moment(
                at=fact.observed_at,
                what=What.SAME if status in known else What.STATUS,
                word=status,
                detail=_saying(fact),
                source=fact.source.value.replace("_", " "),
            )
        )
        known.add(status)
    return told


def _saying(fact: Observation) -> str:
    match fact.source:
        case Source.ANSWER if fact.replayed:
            return "202 replayed: the original answer, it tells the past"
        case Source.ANSWER if fact.collection.status == Status.CREATED:
            return f"202, fee fixed at {fact.collection.fee:,}; the service prompts the phone"
        case Source.ANSWER:
            said = f"202, fee fixed at {fact.collection.fee:,}"
        case Source.EVENT:
            said = f"{fact.event_id} verified"
        case Source.EVENT_CHECK:
            said = f"GET /v1/events/{fact.event_id}"
        case Source.POLL:
            said = f"GET /v1/collections/{fact.collection.id}"
    cause = ": ".join(
        part for part in (fact.collection.failure_code, fact.collection.failure_message) if part
    )
    return f"{said}; {cause}" if cause else said


def delivered(deliveries: Sequence[DeliveryRow]) -> list[Moment]:
    """Return how we answered the deliveries that name a collection."""
    told: list[Moment] = []
    for row in deliveries:
        # The answer is the last that happened to a delivery, so it stands after what it reported.
        at = row.arrived_at + timedelta(microseconds=row.took_us)
        if row.verdict is Verdict.VERIFIED:
            what, detail = What.ANSWERED, "after the commit"
        elif row.verdict is Verdict.REPEAT:
            what, detail = What.REPEAT, f"{row.event_id} again: known already, no effect"
        else:
            why = row.reason or row.verdict.value
            what, detail = What.REFUSED, f"a delivery was not believed: {why}"
        told.append(
            Moment(
                at=at, what=what, word=f"we answered {row.answer}", detail=detail, source="receiver"
            )
        )
    return told


def created(intent: IntentRow, attempts: Iterable[AttemptRow]) -> list[Moment]:
    """Return how a creation was kept, and each of its sendings with how it ended."""
    saved = Moment(
        at=intent.prepared_at,
        what=What.INTENT,
        word="intent saved",
        detail="on disk before the first byte left",
        source="intent",
    )
    return [saved, *(_sent(attempt) for attempt in attempts)]


def _sent(attempt: AttemptRow) -> Moment:
    detail = f"POST /v1/collections, attempt {attempt.number}"
    if attempt.outcome is not None and attempt.outcome != _ANSWERED:
        status = "" if attempt.status is None else f", status {attempt.status}"
        detail += f": {attempt.outcome.replace('_', ' ')}{status}"
    return Moment(at=attempt.sent_at, what=What.SENT, word="sent", detail=detail, source="client")
