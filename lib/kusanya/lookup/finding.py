"""What a text may mean: collections, and creations that no collection is known of, ranked.

Nothing is guessed: every match is returned with the way it was found.
"""

import re
from collections.abc import Callable
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Final

import msgspec

from kusanya.privacy import PhoneError, is_phone_like, is_wire_phone, normalise_phone
from kusanya.store import Store
from kusanya.store.records import CollectionFilter, CollectionRow, DeliveryFilter, IntentRow
from kusanya.wire import Mode, is_collection_id, is_event_id

_BOUND: Final = 50
_PHONE_LIKE: Final = re.compile(r"\+?[0-9][0-9\s().\-\u00a0\u2010-\u2015]{6,24}")
_AMOUNT: Final = re.compile(
    r"(?:TZS\s*)?([0-9][0-9,. ]{0,16}?)(?:\s+([0-2]?[0-9])[:.h]([0-5][0-9]))?", re.IGNORECASE
)
_AROUND: Final = timedelta(minutes=15)
_PART_LENGTH: Final = 4
"""Shorter parts of a reference or a note match too much to help anybody."""


_INTENT_ID: Final = "int_"


class MatchKind(StrEnum):
    """How a collection was found; in the order in which matches are ranked."""

    ID = "id"
    CREATION = "creation"
    """The id of the creation that became it."""
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
    kind: MatchKind


class CreationMatch(msgspec.Struct, frozen=True):
    """One creation that no collection is known of, and how the text led to it."""

    intent: IntentRow
    kind: MatchKind


class LookupResult(msgspec.Struct, frozen=True, kw_only=True):
    """Everything a text may mean in one mode, best first."""

    text: str
    creations: tuple[CreationMatch, ...] = ()
    """Creations without a known collection: their customers may have been asked to pay."""
    matches: tuple[Match, ...] = ()
    more: bool = False
    """True when more begin with this text than are listed."""
    elsewhere: int = 0
    """How many match in the other mode; counted only when none does in this one."""
    trouble: str | None = None
    """Why a text that looks like a phone number cannot be one."""

    @property
    def count(self) -> int:
        """Count everything that was found in this mode."""
        return len(self.creations) + len(self.matches)


class _Question(msgspec.Struct, frozen=True, kw_only=True):
    """What is asked for, in one mode."""

    text: str
    mode: Mode
    now: datetime
    day: Callable[[datetime], datetime]
    limit: int


def find(
    store: Store,
    text: str,
    *,
    mode: Mode,
    now: datetime,
    day: Callable[[datetime], datetime],
    limit: int = _BOUND,
) -> LookupResult:
    """Return what `text` may mean: an id, an event, a reference, a phone, an amount and a time.

    Of creations those are found that no collection is known of: by their id or whole reference in
    every state, by the rest while they are open. `day` gives the first instant of the business day
    that an instant lies on, so that "85000 15:20" means a time of today. The other mode is looked
    at only when this one has nothing. Raises StoreError when the store cannot be read.
    """
    asked = text.strip()
    if not asked:
        return LookupResult(text=asked)
    question = _Question(text=asked, mode=mode, now=now, day=day, limit=limit)
    found = _found(store, question)
    if found.count:
        return found
    other = Mode.TEST if mode is Mode.LIVE else Mode.LIVE
    elsewhere = _found(store, msgspec.structs.replace(question, mode=other))
    return msgspec.structs.replace(found, elsewhere=elsewhere.count)


def _found(store: Store, question: _Question) -> LookupResult:
    asked, mode, limit = question.text, question.mode, question.limit
    exact = _by_id(store, asked, mode)
    if exact is not None:
        return exact
    ranked = [
        Match(row, MatchKind.REFERENCE)
        for row in store.collections.by_reference(mode, asked, limit=limit)
    ]
    phone, trouble = _as_phone(asked)
    if phone is not None:
        by_phone = store.collections.by_phone(mode, phone, limit=limit)
        ranked += [Match(row, MatchKind.PHONE) for row in by_phone]
    page = store.collections.by_prefix(mode, asked, limit=limit)
    ranked += [Match(row, MatchKind.PREFIX) for row in page.rows]
    created = _creations(store, question, phone)
    kinds = {match.kind for match in ranked} | {match.kind for match in created}
    whole = bool(kinds & {MatchKind.REFERENCE, MatchKind.PHONE})
    # Parts cost most to find; whoever knows the whole does not ask for a part.
    if len(asked) >= _PART_LENGTH and not whole and len(ranked) < limit:
        noted, noted_creations = _by_note(store, asked, mode)
        ranked += noted
        created += noted_creations
        ranked += [
            Match(row, MatchKind.PART)
            for row in store.collections.containing(mode, asked, limit=limit)
        ]
        parts = store.intents.still_open(mode, reference_part=asked, limit=limit)
        created += [CreationMatch(intent, MatchKind.PART) for intent in parts]
    if not ranked and not created:
        ranked, created = _by_amount(store, question)
    once = {match.row.id: match for match in reversed(ranked)}
    unique = [match for match in ranked if once[match.row.id] is match]
    creations = {match.intent.id: match for match in reversed(created)}
    return LookupResult(
        text=asked,
        creations=tuple(match for match in created if creations[match.intent.id] is match)[:limit],
        matches=tuple(unique[:limit]),
        more=page.more or len(unique) > limit,
        trouble=trouble,
    )


def _by_id(store: Store, asked: str, mode: Mode) -> LookupResult | None:
    """Return what has the very id that was asked for, or None where the text is no known id."""
    if is_collection_id(asked):
        row = store.collections.get(asked, mode)
        if row is not None:
            return LookupResult(text=asked, matches=(Match(row, MatchKind.ID),))
    if is_event_id(asked):
        by_event = _by_event(store, asked, mode)
        if by_event:
            return LookupResult(text=asked, matches=tuple(by_event))
    if asked.startswith(_INTENT_ID):
        intent = store.intents.get(asked)
        if intent is not None and intent.mode is not mode:
            return LookupResult(text=asked)
        if intent is not None:
            row = _became(store, intent)
            if row is None:
                return LookupResult(text=asked, creations=(CreationMatch(intent, MatchKind.ID),))
            return LookupResult(text=asked, matches=(Match(row, MatchKind.CREATION),))
    return None


def _became(store: Store, intent: IntentRow) -> CollectionRow | None:
    """Return the collection that a creation became, as far as the store has seen it."""
    if intent.collection_id is None:
        return None
    return store.collections.get(intent.collection_id, intent.mode)


def _creations(store: Store, question: _Question, phone: str | None) -> list[CreationMatch]:
    """Return creations without a known collection: by their whole reference, then by phone."""
    under = store.intents.by_reference(question.mode, question.text)
    found = [
        CreationMatch(intent, MatchKind.REFERENCE)
        for intent in under[: question.limit]
        if _became(store, intent) is None
    ]
    if phone is not None:
        on_phone = store.intents.still_open(question.mode, phone=phone, limit=question.limit)
        found += [CreationMatch(intent, MatchKind.PHONE) for intent in on_phone]
    return found


def _by_note(store: Store, asked: str, mode: Mode) -> tuple[list[Match], list[CreationMatch]]:
    """Return what has a note that contains the text: an SMS receipt number, say.

    A note on an intent leads to the collection that it became, or to the intent itself.
    """
    ids: list[str] = []
    created: list[CreationMatch] = []
    for note in store.notes.search(mode, asked, limit=_BOUND):
        intent = None if is_collection_id(note.subject) else store.intents.get(note.subject)
        if intent is None:
            ids.append(note.subject)
        elif (row := _became(store, intent)) is not None:
            ids.append(row.id)
        else:
            created.append(CreationMatch(intent, MatchKind.NOTE))
    rows = store.collections.by_id(ids, mode)
    return [Match(row, MatchKind.NOTE) for row in rows.values()], created


def _by_event(store: Store, event_id: str, mode: Mode) -> list[Match]:
    event = store.events.get(event_id, mode)
    if event is not None:
        row = store.collections.get(event.collection_id, mode)
        return [] if row is None else [Match(row, MatchKind.EVENT)]
    # No authentic arrival: a rejected one may still name a collection that we know.
    claims = store.deliveries.page(mode, where=DeliveryFilter(event_id=event_id), limit=_BOUND).rows
    named = sorted({claim.collection_id for claim in claims if claim.collection_id is not None})
    rows = store.collections.by_id(named, mode)
    return [Match(row, MatchKind.CLAIM) for row in rows.values()]


def _as_phone(asked: str) -> tuple[str | None, str | None]:
    if not _PHONE_LIKE.fullmatch(asked):
        return None, None
    try:
        return normalise_phone(asked), None
    except PhoneError as error:
        # Numbers of other countries are on the wire as they are, so they can be asked for as such.
        compact = "".join(character for character in asked if character.isdigit())
        known = asked.startswith("+") and is_wire_phone(compact)
        return (compact if known else None), str(error) if is_phone_like(asked) else None


def _by_amount(store: Store, question: _Question) -> tuple[list[Match], list[CreationMatch]]:
    parts = _AMOUNT.fullmatch(question.text)
    if parts is None:
        return [], []
    amount = int(re.sub(r"[,. ]", "", parts[1]))
    begin, end = question.day(question.now), question.now
    if parts[2] is not None and int(parts[2]) < 24:  # noqa: PLR2004 - hours of a day
        at = begin + timedelta(hours=int(parts[2]), minutes=int(parts[3]))
        begin, end = at - _AROUND, at + _AROUND
    where = CollectionFilter(
        amount_min=amount, amount_max=amount, created_from=begin, created_to=end
    )
    mode, limit = question.mode, question.limit
    rows = store.collections.page(mode, where=where, limit=limit).rows
    opened = store.intents.still_open(
        mode, amount=amount, prepared_from=begin, prepared_to=end, limit=limit
    )
    return (
        [Match(row, MatchKind.AMOUNT) for row in rows],
        [CreationMatch(intent, MatchKind.AMOUNT) for intent in opened],
    )
