"""What `kusanya find` and `show` print: one line a match, the story, what to say, and as JSON.

Pure but for reading stories from the store. Times for people are East Africa's, JSON holds UTC.
"""

from collections.abc import Iterator
from datetime import datetime
from typing import Any, Final

from kusanya.business_day import EAT
from kusanya.lookup import (
    CreationTimeline,
    LookupResult,
    NewRequest,
    Timeline,
    advice,
    creation_advice,
    load_creation_timeline,
    load_timeline,
    new_request,
)
from kusanya.privacy import mask_phone, mask_text
from kusanya.state.anomalies import Anomaly, anomalies
from kusanya.store import Store
from kusanya.store.records import AuditRow, CollectionRow, IntentRow
from kusanya.text import safe
from kusanya.wording import Advice, Wording

_STORIES: Final = 5
"""So many of the best matches are printed with what to say; `show` says it of the others."""


def found_lines(store: Store, found: LookupResult, now: datetime) -> Iterator[str]:
    """Yield what was found: a line each, and what to say about the best."""
    left = _STORIES
    for match in found.creations:
        yield f"{_creation_line(match.intent)}  (by {match.kind.value})"
        told = load_creation_timeline(store, match.intent.id, now=now) if left > 0 else None
        left -= 1
        if told is not None:
            yield from _replay_lines(told)
            yield from _say_lines(creation_advice(told), new_request(told))
    for found_row in found.matches:
        yield f"{_line(found_row.row)}  (by {found_row.kind.value})"
        if found_row.row.contradictions:
            yield from _contradiction_lines(store, found_row.row, now)
        known = (
            load_timeline(store, found_row.row.id, found_row.row.mode, now=now)
            if left > 0
            else None
        )
        left -= 1
        if known is not None:
            yield from _say_lines(advice(known), new_request(known))
    if left < 0:
        yield "kusanya show ID says what to tell the customer about the others"
    if found.more:
        yield "more begin with this: type more of the reference"


def found_json(store: Store, found: LookupResult, now: datetime) -> dict[str, Any]:
    """Return what was found for scripts, with what to say about each."""
    matches = []
    for match in found.matches:
        known = load_timeline(store, match.row.id, match.row.mode, now=now)
        said = {} if known is None else _said(advice(known), new_request(known))
        matches.append(_record(match.row) | {"found_by": match.kind.value} | said)
    creations = []
    for one in found.creations:
        told = load_creation_timeline(store, one.intent.id, now=now)
        if told is not None:
            creations.append(_creation_record(told) | {"found_by": one.kind.value})
    return {"data": matches, "creations": creations, "more": found.more}


def story_lines(store: Store, told: Timeline | CreationTimeline) -> Iterator[str]:
    """Yield all that is known of one payment or creation."""
    if isinstance(told, CreationTimeline):
        yield _creation_line(told.intent)
        yield from _replay_lines(told)
        yield from _say_lines(creation_advice(told), new_request(told))
        for moment in told.entries:
            said = mask_text(f"{moment.word}  {moment.detail}".rstrip())
            yield safe(f"  {_at(moment.at)}  {said}", 400)
        return
    row = told.row
    net = "-" if row.net is None else f"{row.net:,}"
    yield _line(row)
    yield f"mode {row.mode.value}  fee {row.fee:,}  net {net}"
    yield f"created {_at(row.created_at)}  completed {_at(row.completed_at)}"
    if row.failure_message:
        yield f"reason  {safe(mask_text(row.failure_message))}"
    yield from _say_lines(advice(told), new_request(told))
    for seen in store.collections.observations(row.id, row.mode):
        event = f"  {seen.event_id}" if seen.event_id else ""
        yield safe(
            f"  {_at(seen.observed_at)}  {seen.collection.status:<10} by {seen.source}{event}"
        )
    for one in reversed(told.deliveries):
        attempt = "?" if one.attempt is None else one.attempt
        yield safe(
            f"  {_at(one.arrived_at)}  delivery to {one.endpoint}: {one.verdict}, attempt "
            f"{attempt} of 7, we answered {one.answer}"
        )
    for note in store.notes.of(row.id, row.mode):
        yield safe(f"  {_at(note.at)}  note by {note.author}: {mask_text(note.text)}", 600)
    for intent in told.around.creations:
        yield f"  ? open beside it: {_creation_line(intent)}"
    for odd in _odd(store, told):
        yield safe(f"  {'≠' if odd.urgent else '!'} {odd.sentence}", 400)


def story_json(store: Store, told: Timeline | CreationTimeline) -> dict[str, Any]:
    """Return all that is known of one payment or creation for scripts."""
    if isinstance(told, CreationTimeline):
        return _creation_record(told)
    return (
        _record(told.row)
        | _said(advice(told), new_request(told))
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
                for seen in store.collections.observations(told.row.id, told.row.mode)
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
                for one in reversed(told.deliveries)
            ],
            "notes": [
                {"at": note.at, "author": note.author, "text": mask_text(note.text)}
                for note in store.notes.of(told.row.id, told.row.mode)
            ],
            "open_creations": [one.id for one in told.around.creations],
            "anomalies": [odd.sentence for odd in _odd(store, told)],
        }
    )


def audit_line(row: AuditRow) -> str:
    """Return one act as a line."""
    said = mask_text(f"{row.detail}  {row.outcome}".strip())
    return safe(f"{_at(row.at)}  {row.actor}  {row.act}  {row.subject or '-'}  {said}", 600)


def audit_json(row: AuditRow) -> dict[str, Any]:
    """Return one act for scripts."""
    return {
        "id": row.id,
        "at": row.at,
        "actor": row.actor,
        "act": row.act,
        "subject": row.subject,
        "detail": mask_text(row.detail),
        "outcome": mask_text(row.outcome),
    }


def _odd(store: Store, told: Timeline) -> tuple[Anomaly, ...]:
    return anomalies(
        told.state, store.collections.observations(told.row.id, told.row.mode), now=told.at
    )


def _contradiction_lines(store: Store, row: CollectionRow, now: datetime) -> Iterator[str]:
    state = store.collections.state(row.id, row.mode)
    odd = () if state is None else anomalies(state, now=now)
    for one in odd[: row.contradictions]:
        yield safe(f"  ≠ {one.sentence}", 400)


def _say_lines(said: Advice, verdict: NewRequest) -> Iterator[str]:
    yield f"  EN   {_spoken(said.english)}"
    yield f"  SW   {_spoken(said.swahili)}"
    yield f"  Next {safe(said.operator, 400)}"
    yield f"  {verdict.sentence}"


def _said(said: Advice, verdict: NewRequest) -> dict[str, Any]:
    return {
        "say": {"en": _spoken(said.english), "sw": _spoken(said.swahili)},
        "next": said.operator,
        "new_request": {
            "safe": verdict.safe,
            "reason": verdict.reason.value,
            "sentence": verdict.sentence,
        },
    }


def _spoken(said: Wording) -> str:
    return safe(f"{said.sentence} {said.next_step}".strip(), 400)


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


def _creation_record(told: CreationTimeline) -> dict[str, Any]:
    intent = told.intent
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
        "replay_safe_until": told.replay_until,
        "outcome": None if intent.outcome is None else mask_text(intent.outcome),
        "collection_id": intent.collection_id,
    } | _said(creation_advice(told), new_request(told))


def _line(row: CollectionRow) -> str:
    reason = f" {row.failure_code}" if row.failure_code else ""
    doubt = "≠ " if row.contradictions else ""
    return safe(
        f"{row.id}  {mask_text(row.reference)}  {row.currency} {row.amount:,}  "
        f"{mask_phone(row.phone)}  {row.channel}  {doubt}{row.status}{reason}  "
        f"{_at(row.created_at)}",
        400,
    )


def _creation_line(row: IntentRow) -> str:
    first = "never sent" if row.first_sent_at is None else f"first sent {_at(row.first_sent_at)}"
    return safe(
        f"{row.id}  {mask_text(row.reference)}  TZS {row.amount:,}  {mask_phone(row.phone)}  "
        f"? creation {row.state}  {first}",
        400,
    )


def _replay_lines(told: CreationTimeline) -> Iterator[str]:
    if not told.is_open:
        if told.intent.outcome:
            yield safe(f"  outcome: {mask_text(told.intent.outcome)}", 400)
    elif told.replay_until is None:
        yield "  its replay window is over: a person decides, kusanya intents decide"
    else:
        yield (
            f"  a replay is safe until {_at(told.replay_until)}: kusanya intents resume "
            f"{safe(told.intent.id, 60)}"
        )


def _at(instant: datetime | None) -> str:
    return "-" if instant is None else f"{instant.astimezone(EAT):%Y-%m-%d %H:%M:%S} EAT"
