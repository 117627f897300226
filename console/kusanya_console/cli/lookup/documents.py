"""What `kusanya find` and `show` print for programs: the same as for people, in UTC.

Pure but for reading stories from the store.
"""

from datetime import datetime
from typing import Any

from kusanya.lookup import (
    CreationTimeline,
    LookupResult,
    MessageMatch,
    NewRequest,
    Timeline,
    advice,
    creation_advice,
    load_creation_timeline,
    load_timeline,
    new_request,
    order_sentence,
)
from kusanya.privacy import mask_phone, mask_text
from kusanya.store import Store
from kusanya.store.records import CollectionRow, Note
from kusanya.wording import Advice
from kusanya_console.cli.lookup.words import oddities, spoken_line


def found_json(store: Store, found: LookupResult, now: datetime) -> dict[str, Any]:
    """Return what was found for scripts, with what to say about each."""
    matches = []
    for match in found.matches:
        known = load_timeline(
            store,
            match.row.id,
            match.row.mode,
            now=now,
            is_claimed=found.is_claim,
            is_unsure=found.is_unsure,
        )
        said = {} if known is None else _said(advice(known), new_request(known))
        matches.append(_record(match.row) | {"found_by": match.kind.value} | said)
    creations = []
    for one in found.creations:
        timeline = load_creation_timeline(store, one.intent.id, now=now)
        if timeline is not None:
            creations.append(_creation_record(timeline) | {"found_by": one.kind.value})
    return {
        "data": matches,
        "creations": creations,
        "messages": [_message_record(message) for message in found.messages],
        "trouble": found.trouble if found.count else None,
        "more": found.more,
        "looked_for": found.looked_at or None,
    }


def story_json(store: Store, timeline: Timeline | CreationTimeline) -> dict[str, Any]:
    """Return all that is known of one payment or creation for scripts."""
    if isinstance(timeline, CreationTimeline):
        return _creation_record(timeline)
    return (
        _record(timeline.row)
        | _said(advice(timeline), new_request(timeline))
        | {
            "observations": [
                {
                    "source": seen.source.value,
                    "observed_at": seen.observed_at,
                    "status": seen.collection.status,
                    "fee": seen.collection.fee,
                    "replayed": seen.replayed,
                    "event_id": seen.event_id,
                }
                for seen in store.collections.observations(timeline.row.id, timeline.row.mode)
            ],
            "receipts": [
                {"receipt": proof.receipt, "source": proof.source, "recorded_at": proof.at}
                for proof in store.receipts.of(timeline.row.id, timeline.row.mode)
            ],
            "deliveries": [
                {
                    "id": one.id,
                    "arrived_at": one.arrived_at,
                    "endpoint": one.endpoint,
                    "verdict": one.verdict.value,
                    "attempt": one.attempt,
                    "answer": one.answer,
                }
                for one in reversed(timeline.deliveries)
            ],
            "notes": [
                {"at": note.at, "author": note.author, **_note_record(note)}
                for note in store.notes.of(timeline.row.id, timeline.row.mode)
            ],
            "order": order_sentence(timeline.around, timeline.row.id),
            "open_creations": [one.id for one in timeline.around.creations],
            "anomalies": [odd.sentence for odd in oddities(store, timeline)],
        }
    )


def _note_record(note: Note) -> dict[str, Any]:
    written = {name: getattr(note, name) for name in Note.__struct_fields__}
    return {
        name: mask_text(value) if isinstance(value, str) else value
        for name, value in written.items()
    }


def _message_record(message: MessageMatch) -> dict[str, Any]:
    said = message.confirmation
    return {
        "sender": said.issuer,
        "language": said.language.value,
        "direction": said.direction.value,
        "amount": said.amount,
        "receipt": said.receipt,
        "at": None if said.at is None else said.at.isoformat(),
        "payee": said.payee,
        "collection_id": None if message.row is None else message.row.id,
        "doubtful": message.is_doubtful,
        "sentence": message.sentence,
    }


def _record(row: CollectionRow) -> dict[str, Any]:
    return {
        "id": row.id,
        "mode": row.mode.value,
        "status": row.status,
        "amount": row.amount,
        "fee": row.fee,
        "net": row.net,
        "currency": row.currency,
        "channel": row.channel,
        "phone": mask_phone(row.phone),
        "reference": mask_text(row.reference),
        "failure_code": row.failure_code,
        "created_at": row.created_at,
        "completed_at": row.completed_at,
        "event_id": row.event_id,
        "contradictions": row.contradictions,
    }


def _creation_record(timeline: CreationTimeline) -> dict[str, Any]:
    intent = timeline.intent
    return {
        "id": intent.id,
        "mode": intent.mode.value,
        "state": intent.state.value,
        "amount": intent.amount,
        "phone": mask_phone(intent.phone),
        "reference": mask_text(intent.reference),
        "profile": intent.profile,
        "prepared_at": intent.prepared_at,
        "first_sent_at": intent.first_sent_at,
        "attempts": intent.attempts,
        "replay_safe_until": timeline.replay_until,
        "outcome": None if timeline.outcome is None else mask_text(timeline.outcome),
        "collection_id": intent.collection_id,
    } | _said(creation_advice(timeline), new_request(timeline))


def _said(said: Advice, verdict: NewRequest) -> dict[str, Any]:
    return {
        "say": {"en": spoken_line(said.english), "sw": spoken_line(said.swahili)},
        "next": said.support_step,
        "new_request": {
            "safe": verdict.safe,
            "reason": verdict.reason.value,
            "sentence": verdict.sentence,
        },
    }
