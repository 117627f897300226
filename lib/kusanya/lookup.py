"""Support's one box: from whatever a customer reads out to the collection and what happened to it.

`find` ranks what a text may mean and never guesses: every match is returned with the way it was
found. `story` gathers the recorded facts about one collection in the order in which we heard them.
Both only read. Source: specification, Collection, Events.
"""

import re
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Final

import msgspec
from msgspec.structs import replace

from kusanya.privacy import PhoneError, is_wire_phone, normalise_phone
from kusanya.state.observation import CollectionState, Observation, Source
from kusanya.store import Store
from kusanya.store.records import (
    CollectionFilter,
    CollectionRow,
    DeliveryFilter,
    DeliveryRow,
    IntentState,
    Verdict,
)
from kusanya.wire import Mode, Status, is_collection_id, is_event_id
from kusanya.wording import Advice, advise, is_late

ALSO_WITHIN: Final = timedelta(hours=24)
"""How far back other collections on the same phone are told with a story."""
_BOUND: Final = 50
_PHONE_LIKE: Final = re.compile(r"\+?[0-9][0-9\s().\-\u00a0\u2010-\u2015]{6,24}")
_AMOUNT: Final = re.compile(
    r"(?:TZS\s*)?([0-9][0-9,. ]{0,16}?)(?:\s+([0-2]?[0-9])[:.h]([0-5][0-9]))?", re.IGNORECASE
)
_AROUND: Final = timedelta(minutes=15)
_PART_LENGTH: Final = 4
"""Shorter parts of a reference or a note match too much to help anybody."""


class Way(StrEnum):
    """How a collection was found; in the order in which matches are ranked."""

    ID = "id"
    EVENT = "event"
    CLAIM = "claimed by a delivery"
    REFERENCE = "reference"
    PHONE = "phone"
    PREFIX = "beginning of a reference"
    NOTE = "note"
    PART = "part of a reference"
    AMOUNT = "amount"


class Match(msgspec.Struct, frozen=True):
    """One collection and how the text led to it."""

    row: CollectionRow
    way: Way


class Found(msgspec.Struct, frozen=True, kw_only=True):
    """Everything a text may mean in one mode, best first."""

    text: str
    matches: tuple[Match, ...] = ()
    more: bool = False
    """True when more begin with this text than are listed."""
    elsewhere: int = 0
    """How many match in the other mode; counted only when none does in this one."""
    trouble: str | None = None
    """Why a text that looks like a phone number cannot be one."""


def find(
    store: Store,
    text: str,
    *,
    mode: Mode,
    now: datetime,
    day: Callable[[datetime], datetime],
    limit: int = _BOUND,
) -> Found:
    """Return what `text` may mean: an id, an event, a reference, a phone, an amount and a time.

    `day` gives the first instant of the business day that an instant lies on, so that "85000 15:20"
    means a time of today. The other mode is looked at only when this one has nothing. Raises
    StoreError when the store cannot be read.
    """
    asked = text.strip()
    if not asked:
        return Found(text=asked)
    matches, more, trouble = _matches(store, asked, mode=mode, now=now, day=day, limit=limit)
    if matches:
        return Found(text=asked, matches=tuple(matches), more=more)
    other = Mode.TEST if mode is Mode.LIVE else Mode.LIVE
    elsewhere, _, _ = _matches(store, asked, mode=other, now=now, day=day, limit=limit)
    return Found(text=asked, elsewhere=len(elsewhere), trouble=trouble)


def _matches(
    store: Store,
    asked: str,
    *,
    mode: Mode,
    now: datetime,
    day: Callable[[datetime], datetime],
    limit: int,
) -> tuple[list[Match], bool, str | None]:
    if is_collection_id(asked):
        row = store.collection(asked)
        if row is not None:
            return [Match(row, Way.ID)] if row.mode is mode else [], False, None
    if is_event_id(asked):
        by_event = _by_event(store, asked, mode)
        if by_event:
            return by_event, False, None
    ranked = [
        Match(row, Way.REFERENCE)
        for row in store.collections_by_reference(mode, asked, limit=limit)
    ]
    phone, trouble = _as_phone(asked)
    if phone is not None:
        by_phone = store.collections_by_phone(mode, phone, limit=limit)
        ranked += [Match(row, Way.PHONE) for row in by_phone]
    page = store.collections_by_prefix(mode, asked, limit=limit)
    ranked += [Match(row, Way.PREFIX) for row in page.rows]
    exact = any(match.way in {Way.REFERENCE, Way.PHONE} for match in ranked)
    # Parts cost most to find; whoever knows the whole does not ask for a part.
    if len(asked) >= _PART_LENGTH and not exact and len(ranked) < limit:
        ranked += _by_note(store, asked, mode)
        ranked += [Match(row, Way.PART) for row in store.search_reference(mode, asked, limit=limit)]
    if not ranked:
        ranked = _by_amount(store, asked, mode=mode, now=now, day=day, limit=limit)
    once = {match.row.id: match for match in reversed(ranked)}
    kept = [match for match in ranked if once[match.row.id] is match]
    return kept[:limit], page.more or len(kept) > limit, trouble


def _by_note(store: Store, asked: str, mode: Mode) -> list[Match]:
    """Return collections with a note that contains the text: an SMS receipt number, say.

    A note on an intent leads to the collection that it became.
    """
    notes = store.search_notes(asked, limit=_BOUND)
    rows = store.collections_by_id([_noted(store, note.subject) for note in notes])
    return [Match(row, Way.NOTE) for row in rows.values() if row.mode is mode]


def _noted(store: Store, subject: str) -> str:
    intent = None if is_collection_id(subject) else store.intent(subject)
    return subject if intent is None else intent.collection_id or subject


def _by_event(store: Store, event_id: str, mode: Mode) -> list[Match]:
    event = store.event(event_id, mode)
    if event is not None:
        row = store.collection(event.collection_id)
        return [Match(row, Way.EVENT)] if row is not None and row.mode is mode else []
    # No authentic arrival: a rejected one may still name a collection that we know.
    claims = store.deliveries(mode, where=DeliveryFilter(event_id=event_id), limit=_BOUND).rows
    named = sorted({claim.collection_id for claim in claims if claim.collection_id is not None})
    rows = store.collections_by_id(named)
    return [Match(row, Way.CLAIM) for row in rows.values() if row.mode is mode]


def _as_phone(asked: str) -> tuple[str | None, str | None]:
    if not _PHONE_LIKE.fullmatch(asked):
        return None, None
    try:
        return normalise_phone(asked), None
    except PhoneError as error:
        # Numbers of other countries are on the wire as they are, so they can be asked for as such.
        compact = "".join(character for character in asked if character.isdigit())
        known = asked.startswith("+") and is_wire_phone(compact)
        return (compact if known else None), str(error)


def _by_amount(
    store: Store,
    asked: str,
    *,
    mode: Mode,
    now: datetime,
    day: Callable[[datetime], datetime],
    limit: int,
) -> list[Match]:
    parts = _AMOUNT.fullmatch(asked)
    if parts is None:
        return []
    amount = int(re.sub(r"[,. ]", "", parts[1]))
    begin, end = day(now), now
    if parts[2] is not None and int(parts[2]) < 24:  # noqa: PLR2004 - hours of a day
        at = begin + timedelta(hours=int(parts[2]), minutes=int(parts[3]))
        begin, end = at - _AROUND, at + _AROUND
    where = CollectionFilter(
        amount_min=amount, amount_max=amount, created_from=begin, created_to=end
    )
    return [
        Match(row, Way.AMOUNT) for row in store.collections(mode, where=where, limit=limit).rows
    ]


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


class Story(msgspec.Struct, frozen=True, kw_only=True):
    """All that is recorded about one collection."""

    row: CollectionRow
    state: CollectionState
    moments: tuple[Moment, ...]
    deliveries: tuple[DeliveryRow, ...]
    """Arrivals that name this collection, newest first."""
    also: tuple[CollectionRow, ...]
    """Other collections on the same phone within `ALSO_WITHIN`, newest first."""
    unknown: int
    """Creations on this phone whose outcome is unknown."""

    @property
    def open_prompts(self) -> int:
        """Count collections on this phone without a final state, this one included."""
        return sum(row.final_seen_at is None for row in (self.row, *self.also))

    @property
    def safe_to_ask_again(self) -> bool:
        """Tell whether a new request cannot charge the customer a second time for this one.

        True when this one is final and did not succeed, no prompt is open on the phone, no outcome
        on it is unknown, and nothing contradicts.
        """
        return (
            self.row.status in {Status.FAILED, Status.EXPIRED}
            and self.open_prompts == 0
            and self.unknown == 0
            and not self.state.contradictions
        )


def advice(told: Story, *, now: datetime) -> Advice:
    """Return what to say about a story, in both languages.

    The step that follows is left out where a new request is not safe: no sentence may offer one
    while a prompt on the phone may be open.
    """
    row = told.row
    found = advise(
        row.status,
        failure_code=row.failure_code,
        amount=row.amount,
        currency=row.currency,
        late=is_late(row.created_at, now=now),
    )
    if not found.may_prompt or told.safe_to_ask_again:
        return found
    return replace(
        found,
        english=replace(found.english, next_step=""),
        swahili=replace(found.swahili, next_step=""),
        may_prompt=False,
    )


def story(store: Store, collection_id: str, *, now: datetime) -> Story | None:
    """Return the story of one collection, or None when the store does not know it.

    Raises StoreError when the store cannot be read.
    """
    row = store.collection(collection_id)
    state = store.state(collection_id)
    if row is None or state is None:
        return None
    where = DeliveryFilter(collection_id=collection_id)
    deliveries = store.deliveries(row.mode, where=where, limit=_BOUND).rows
    same_phone = store.collections_by_phone(row.mode, row.phone, since=now - ALSO_WITHIN)
    unknown = store.intents(row.mode, states=(IntentState.UNKNOWN,)).rows
    moments = [
        *_heard(store.observations(collection_id)),
        *_delivered(deliveries),
        *_intended(store, row),
        *_notes(store, collection_id),
    ]
    return Story(
        row=row,
        state=state,
        moments=tuple(sorted(moments, key=lambda moment: moment.at)),
        deliveries=deliveries,
        also=tuple(other for other in same_phone if other.id != row.id),
        unknown=sum(_same_number(intent.phone, row.phone) for intent in unknown),
    )


def _notes(store: Store, subject: str) -> list[Moment]:
    return [
        Moment(at=note.at, what=What.NOTE, word=note.text, source=note.author)
        for note in store.notes(subject)
    ]


def _same_number(one: str, other: str) -> bool:
    return one.removeprefix("+") == other.removeprefix("+")


def _heard(observations: Sequence[Observation]) -> list[Moment]:
    known: set[str] = set()
    heard: list[Moment] = []
    for fact in observations:
        status = fact.collection.status
        heard.append(
            Moment(
                at=fact.observed_at,
                what=What.SAME if status in known else What.STATUS,
                word=status,
                detail=_saying(fact),
                source=fact.source.value.replace("_", " "),
            )
        )
        known.add(status)
    return heard


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


def _delivered(deliveries: Sequence[DeliveryRow]) -> list[Moment]:
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


def _intended(store: Store, row: CollectionRow) -> list[Moment]:
    told: list[Moment] = []
    for intent in store.intents_by_reference(row.mode, row.reference):
        if intent.collection_id not in {None, row.id}:
            continue
        told.append(
            Moment(
                at=intent.prepared_at,
                what=What.INTENT,
                word="intent saved",
                detail="on disk before the first byte left",
                source="intent",
            )
        )
        told.extend(
            Moment(
                at=attempt.sent_at,
                what=What.SENT,
                word="sent",
                detail=f"POST /v1/collections, attempt {attempt.number}",
                source="client",
            )
            for attempt in store.attempts(intent.id)
        )
        told.extend(_notes(store, intent.id))
    return told
