"""What a text may mean: collections, and creations that no collection is known of, ranked.

Nothing is guessed: every match is returned with the way it was found.
"""

import re
from collections.abc import Callable, Sequence
from datetime import datetime
from enum import StrEnum
from typing import Final

import msgspec

from kusanya import confirmations
from kusanya.filters import FilterError, parse
from kusanya.lookup.amounts import read_amount
from kusanya.lookup.by_message import MessageMatch, match_messages
from kusanya.privacy import PhoneError, is_phone_like, is_wire_phone, normalise_phone
from kusanya.store import Store
from kusanya.store.records import (
    CollectionFilter,
    CollectionRow,
    DeliveryFilter,
    IntentRow,
    MetadataTerm,
)
from kusanya.wire import Mode, is_collection_id, is_event_id

_BOUND: Final = 50
_PHONE_LIKE: Final = re.compile(r"[+(]{0,2}[0-9][0-9\s().\-\u00a0\u2010-\u2015]{6,24}")
_SEPARATORS: Final = re.compile(r"[\s().\-\u00a0\u2010-\u2015]")
_PHONE_END: Final = re.compile(r"[0-9]{6,8}")
"""Fewer digits are those of too many phones."""
_PHONE_DIGITS: Final = 13
"""A longer number without a + was never meant as a phone: receipts have 13 digits and more."""
_OPEN_LOOKED_AT: Final = 1_000
_JOINTS: Final = re.compile(r"[\s\-_/.#]+")
_JOINED_BY: Final = ("-", "", "/", "_", ".", " ")
_MOST_PIECES: Final = 6
_PART_LENGTH: Final = 4
"""Shorter parts of a reference or a note match too much to help anybody."""


_TEXT: Final = re.compile(r'"?(?:meta|description)[:=]', re.IGNORECASE)
_PART_LEAST: Final = 3
_ONE_PART: Final = (
    f"one part of a description of {_PART_LEAST} letters at least is looked for, as in "
    'description:"school fees"'
)
_INTENT_ID: Final = "int_"


class MatchKind(StrEnum):
    """How a collection was found; in the order in which matches are ranked."""

    ID = "id"
    CREATION = "creation"
    """The id of the creation that became it."""
    EVENT = "event"
    CLAIM = "claimed by a delivery"
    REFERENCE = "reference"
    RECEIPT = "receipt of the operator"
    PHONE = "phone"
    PREFIX = "beginning of a reference"
    NOTE = "note"
    PART = "part of a reference"
    SPELLING = "reference in another spelling"
    PHONE_END = "end of a phone"
    AMOUNT = "amount"
    METADATA = "metadata"
    DESCRIPTION = "description"
    MESSAGE = "the customer's message"


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
    looked_at: str = ""
    """Which amount and time were looked for, in words; empty where the text was read otherwise."""
    trouble: str | None = None
    """Why a text that looks like a phone number cannot be one, or a message no confirmation."""
    messages: tuple[MessageMatch, ...] = ()
    """What a pasted confirmation says, and which payment it can be."""
    is_message: bool = False
    """True where the text was read as a message, not as something to look up as it is."""

    @property
    def count(self) -> int:
        """Count everything that was found in this mode."""
        return len(self.creations) + len(self.matches)


class _Found(msgspec.Struct, frozen=True):
    """What one way of reading a text leads to."""

    matches: list[Match] = []
    creations: list[CreationMatch] = []
    looked_at: str = ""


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
    payees: Sequence[str] = (),
) -> LookupResult:
    """Return what `text` may mean: an id, an event, a reference, a receipt, a phone, an amount.

    A whole value of metadata and a part of a description are found too, and by name where it begins
    so, as in a filter: meta:order_id=A-1, description:"school fees".

    An amount may have a time or a day beside it, see `read_amount`; a reference may be spelled with
    other joints; of a phone the last six digits do. A whole message of an operator is read and
    compared with what we know; `payees` are our names as such messages show them.

    Of creations those are found that no collection is known of: by their id or whole reference in
    every state, by the rest while they are open. `day` gives the first instant of the business day
    that an instant lies on, so that "85000 15:20" means a time of today. The other mode is looked
    at only when this one has nothing. Raises StoreError when the store cannot be read.
    """
    asked = text.strip()
    if not asked:
        return LookupResult(text=asked)
    reading = confirmations.read(asked)
    if reading.is_message:
        messages = match_messages(store, reading, mode=mode, now=now, payees=payees)
        return _of_messages(asked, messages, reading.reason)
    question = _Question(text=asked, mode=mode, now=now, day=day, limit=limit)
    found = _found(store, question)
    if found.count:
        return found
    other = Mode.TEST if mode is Mode.LIVE else Mode.LIVE
    elsewhere = _found(store, msgspec.structs.replace(question, mode=other))
    return msgspec.structs.replace(found, elsewhere=elsewhere.count)


def _of_messages(asked: str, messages: Sequence[MessageMatch], reason: str) -> LookupResult:
    rows = {row.id: row for message in messages for row in message.rows}
    creations = {intent.id: intent for message in messages for intent in message.creations}
    return LookupResult(
        text=asked,
        creations=tuple(CreationMatch(it, MatchKind.MESSAGE) for it in creations.values()),
        matches=tuple(Match(row, MatchKind.MESSAGE) for row in rows.values()),
        trouble=reason or None,
        messages=tuple(messages),
        is_message=True,
    )


def _found(store: Store, question: _Question) -> LookupResult:
    asked, mode, limit = question.text, question.mode, question.limit
    exact = _by_id(store, asked, mode)
    if exact is not None:
        return exact
    if _TEXT.match(asked):
        return _by_text(store, question)
    ranked = [
        Match(row, MatchKind.REFERENCE)
        for row in store.collections.by_reference(mode, asked, limit=limit)
    ]
    ranked += _by_receipt(store, asked, mode)[:limit]
    ranked += [
        Match(row, MatchKind.METADATA)
        for row in store.collections.by_metadata(mode, asked, limit=limit)
    ]
    phone, trouble = _as_phone(asked)
    if phone is not None:
        by_phone = store.collections.by_phone(mode, phone, limit=limit)
        ranked += [Match(row, MatchKind.PHONE) for row in by_phone]
    page = store.collections.by_prefix(mode, asked, limit=limit)
    ranked += [Match(row, MatchKind.PREFIX) for row in page.rows]
    created = _creations(store, question, phone)
    kinds = {match.kind for match in ranked} | {match.kind for match in created}
    whole = bool(kinds & {MatchKind.REFERENCE, MatchKind.RECEIPT, MatchKind.PHONE})
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
    looked_at = ""
    if not whole:
        found = _by_phone_end(store, question)
        ranked += found.matches
        created += found.creations
    for read in (_by_spelling, _by_amount, _by_description):
        if not ranked and not created:
            found = read(store, question)
            ranked, created = found.matches, found.creations
            looked_at = looked_at or found.looked_at
    once = {match.row.id: match for match in reversed(ranked)}
    unique = [match for match in ranked if once[match.row.id] is match]
    creations = {match.intent.id: match for match in reversed(created)}
    return LookupResult(
        text=asked,
        creations=tuple(match for match in created if creations[match.intent.id] is match)[:limit],
        matches=tuple(unique[:limit]),
        more=page.more or len(unique) > limit,
        looked_at=looked_at,
        trouble=trouble,
    )


def _by_text(store: Store, question: _Question) -> LookupResult:
    """Return what has the metadata or description that was asked for by name, as in a filter."""
    try:
        asked = parse(question.text, keys=("meta", "description"), whose="look-ups")
    except FilterError as error:
        return LookupResult(text=question.text, trouble=str(error), is_message=True)
    entries: list[MetadataTerm] = []
    part: str | None = None
    for term in asked.terms:
        if term.key == "meta":
            pairs = tuple(str(value).partition("=")[::2] for value in term.values)
            entries.append(MetadataTerm(pairs, negated=term.negated))
        elif part is None and len(term.values) == 1 and not term.negated:
            part = str(term.values[0])
        else:
            return LookupResult(text=question.text, trouble=_ONE_PART, is_message=True)
    if part is not None and len(part) < _PART_LEAST:
        return LookupResult(text=question.text, trouble=_ONE_PART, is_message=True)
    where = CollectionFilter(metadata=tuple(entries), description_part=part)
    page = store.collections.page(question.mode, where=where, limit=question.limit)
    kind = MatchKind.METADATA if entries else MatchKind.DESCRIPTION
    matches = tuple(Match(row, kind) for row in page.rows)
    return LookupResult(text=question.text, matches=matches, more=page.more)


def _by_description(store: Store, question: _Question) -> _Found:
    if len(question.text) < _PART_LENGTH:
        return _Found()
    rows = store.collections.described(question.mode, question.text, limit=question.limit)
    return _Found([Match(row, MatchKind.DESCRIPTION) for row in rows])


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


def _by_receipt(store: Store, asked: str, mode: Mode) -> list[Match]:
    ids = [fact.collection_id for fact in store.receipts.find(asked, mode)]
    rows = store.collections.by_id(ids, mode) if ids else {}
    return [Match(row, MatchKind.RECEIPT) for row in rows.values()]


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
        meant = is_phone_like(asked) and (asked.startswith("+") or len(compact) <= _PHONE_DIGITS)
        return (compact if known else None), str(error) if meant else None


def _by_amount(store: Store, question: _Question) -> _Found:
    asked = read_amount(question.text, now=question.now, day=question.day)
    if asked is None:
        return _Found()
    where = CollectionFilter(
        amount_min=asked.amount,
        amount_max=asked.amount,
        created_from=asked.begin,
        created_to=asked.end,
    )
    mode, limit = question.mode, question.limit
    rows = store.collections.page(mode, where=where, limit=limit).rows
    opened = store.intents.still_open(
        mode, amount=asked.amount, prepared_from=asked.begin, prepared_to=asked.end, limit=limit
    )
    return _Found(
        [Match(row, MatchKind.AMOUNT) for row in rows],
        [CreationMatch(intent, MatchKind.AMOUNT) for intent in opened],
        f"{asked.amount:,}, {asked.sentence}",
    )


def _by_spelling(store: Store, question: _Question) -> _Found:
    """Return what has the reference in another spelling: INV 000100 where INV-000100 stands.

    The same letters and digits in the same order, whole: nothing is guessed.
    """
    pieces = [piece for piece in _JOINTS.split(question.text) if piece]
    if not 1 < len(pieces) <= _MOST_PIECES or sum(map(len, pieces)) < _PART_LENGTH:
        return _Found()
    mode, limit = question.mode, question.limit
    joined = [joint.join(pieces) for joint in _JOINED_BY]
    spelled = dict.fromkeys([*joined, *(text.upper() for text in joined)])
    rows = [
        row for text in spelled for row in store.collections.by_reference(mode, text, limit=limit)
    ]
    intents = [row for text in spelled for row in store.intents.by_reference(mode, text)[:limit]]
    return _Found(
        [Match(row, MatchKind.SPELLING) for row in rows],
        [CreationMatch(row, MatchKind.SPELLING) for row in intents if _became(store, row) is None],
    )


def _by_phone_end(store: Store, question: _Question) -> _Found:
    """Return what was asked lately of phones that end so: customers say their last digits."""
    digits = _SEPARATORS.sub("", question.text)
    if not _PHONE_END.fullmatch(digits):
        return _Found()
    mode, limit = question.mode, question.limit
    rows = store.collections.by_phone_end(mode, digits, limit=limit)
    opened = store.intents.still_open(mode, limit=_OPEN_LOOKED_AT)
    return _Found(
        [Match(row, MatchKind.PHONE_END) for row in rows],
        [CreationMatch(row, MatchKind.PHONE_END) for row in opened if row.phone.endswith(digits)][
            :limit
        ],
    )
