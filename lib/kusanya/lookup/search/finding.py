"""What a text may mean: collections, and creations that no collection is known of, ranked.

Nothing is guessed: every match is returned with the way it was found.
"""

from collections.abc import Callable, Sequence
from datetime import datetime
from functools import partial
from typing import Final, TypeVar

import msgspec

from kusanya import confirmations
from kusanya.lookup.search.by_amount import by_amount, by_amount_in_sentence, is_dated_amount
from kusanya.lookup.search.by_id import by_id
from kusanya.lookup.search.by_message import MessageMatch, match_messages
from kusanya.lookup.search.by_name import PART_LENGTH, by_note, by_receipt, by_spelling, creations
from kusanya.lookup.search.by_phone import (
    as_phone,
    by_masked_phone,
    by_named_phone,
    by_phone_end,
    by_short_phone_end,
    is_named_phone,
    phones_in,
)
from kusanya.lookup.search.by_text import by_description, by_text, is_text
from kusanya.lookup.search.by_words import by_words
from kusanya.lookup.search.matches import (
    Candidates,
    CreationMatch,
    LookupQuestion,
    LookupResult,
    Match,
    MatchKind,
)
from kusanya.store import Store
from kusanya.wire import Mode

_BOUND: Final = 50
_SHOWN_DIGITS: Final = 3
"""So many of a phone are shown to who is shown no phone."""
_HIDDEN: Final = (
    "phones are hidden from this login, so nothing is known of one: look for the reference or the "
    "receipt, or with a login of kusanya_ask"
)
_OF_SENTENCES: Final = (by_words, by_masked_phone, by_amount_in_sentence)
"""What is looked for in a text that is more than a name or an amount."""
_SENTENCE: Final = 90
"""Characters above which a text is no id, reference or amount."""
_READ: Final = 4_000
"""So many characters of a longer text are looked through."""
_M = TypeVar("_M", Match, CreationMatch)


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
    other joints; of a phone the last six digits do, and three of a phone of today. Where the whole
    text names nothing its words are looked for each alone, then the one amount that it names, as
    in what a customer writes. A whole message of an operator is read and compared with what we
    know; `payees` are our names as such messages show them.

    Of creations those are found that no collection is known of: by their id or whole reference in
    every state, by the rest while they are open. `day` gives the first instant of the business day
    that an instant lies on, so that "85000 15:20" means a time of today. The other mode is looked
    at only when this one has nothing. Everything is of one moment. Raises StoreError when the store
    cannot be read.
    """
    asked = text.strip()
    if not asked:
        return LookupResult(text=asked)
    reading = confirmations.read(asked)
    # One connection and one BEGIN for the dozens of things that a text may mean.
    with store.one_moment():
        if reading.confirmations:
            messages = match_messages(store, reading, mode=mode, now=now, payees=payees)
            return _of_messages(asked, messages)
        question = LookupQuestion(text=asked, mode=mode, now=now, day=day, limit=limit)
        is_sentence = reading.is_message or len(asked) > _SENTENCE
        look = partial(_of_sentence, reading=reading) if is_sentence else _found
        found = look(store, question)
        if found.count or reading.is_message:
            return found
        other = Mode.TEST if mode is Mode.LIVE else Mode.LIVE
        elsewhere = look(store, msgspec.structs.replace(question, mode=other))
        if sum(map(str.isdigit, asked)) > _SHOWN_DIGITS and store.hides_phones:
            return msgspec.structs.replace(found, trouble=_HIDDEN, is_message=True)
        return msgspec.structs.replace(found, elsewhere=elsewhere.count)


def _of_sentence(
    store: Store, question: LookupQuestion, reading: confirmations.MessageReading
) -> LookupResult:
    """Return what a customer's own words name, or a message that confirms nothing as it stands."""
    asked, question = question.text, msgspec.structs.replace(question, text=question.text[:_READ])
    tried = LookupResult(
        text=asked,
        trouble=reading.reason if reading.is_message else None,
        phones=len(phones_in(question.text)[0]),
        is_message=reading.is_message,
        is_unread=reading.may_confirm,
    )
    # A message of no payment leads to what it names, and never to another one of its amount.
    is_of_none = reading.is_message and not reading.may_confirm
    ways = (by_words,) if is_of_none else _OF_SENTENCES
    return _first_of(ways, store, question, tried)


def _of_messages(asked: str, messages: Sequence[MessageMatch]) -> LookupResult:
    rows = {row.id: row for message in messages for row in message.rows}
    creations = {intent.id: intent for message in messages for intent in message.creations}
    return LookupResult(
        text=asked,
        creations=tuple(CreationMatch(it, MatchKind.MESSAGE) for it in creations.values()),
        matches=tuple(Match(row, MatchKind.MESSAGE) for row in rows.values()),
        messages=tuple(messages),
        is_message=True,
    )


def _found(store: Store, question: LookupQuestion) -> LookupResult:
    asked, mode, limit = question.text, question.mode, question.limit
    exact = by_id(store, asked, mode)
    if exact is not None:
        return exact
    if is_text(asked):
        return by_text(store, question)
    if is_named_phone(asked):
        return by_named_phone(store, question)
    phone, trouble = as_phone(asked)
    phones = 1 if phone is not None else len(phones_in(asked)[0])
    ranked, is_cut = _named(store, question, phone)
    created = creations(store, question, phone)
    kinds = {match.kind for match in ranked} | {match.kind for match in created}
    whole = bool(kinds & {MatchKind.REFERENCE, MatchKind.RECEIPT, MatchKind.PHONE})
    looked_at = ""
    if not kinds and is_dated_amount(question):
        found = by_amount(store, question)
        ranked, created, looked_at = found.matches, found.creations, found.looked_at
        whole = bool(ranked or created)
    # Parts cost most to find; who knows the whole does not ask for a part.
    if len(asked) >= PART_LENGTH and not whole and len(ranked) < limit:
        found = _in_parts(store, question)
        ranked += found.matches
        created += found.creations
    tried = by_phone_end(store, question) if not whole else Candidates()
    ranked += tried.matches
    created += tried.creations
    result = LookupResult(
        text=asked,
        looked_at=looked_at,
        trouble=None if phones else trouble,
        phones=phones,
        phone_end_in=tried.phone_end_in,
    )
    if not ranked and not created:
        return _read_otherwise(store, question, result)
    return _with(result, Candidates(ranked, created, looked_at), limit, is_cut=is_cut)


def _read_otherwise(store: Store, question: LookupQuestion, result: LookupResult) -> LookupResult:
    """Return the first other reading of a text that finds anything; else what was tried in vain."""
    # A dated amount has been looked for already.
    amount = () if result.looked_at else (by_amount,)
    whole = (by_spelling, *amount, by_short_phone_end, by_description)
    return _first_of(whole + _OF_SENTENCES, store, question, result)


def _first_of(
    ways: Sequence[Callable[[Store, LookupQuestion], Candidates]],
    store: Store,
    question: LookupQuestion,
    result: LookupResult,
) -> LookupResult:
    for read in ways:
        found = read(store, question)
        if found.matches or found.creations:
            return _with(result, found, question.limit)
        result = msgspec.structs.replace(
            result,
            looked_at=result.looked_at or found.looked_at,
            phone_end_in=result.phone_end_in or found.phone_end_in,
            words=found.words or result.words,
        )
    return result


def _with(
    result: LookupResult, found: Candidates, limit: int, *, is_cut: bool = False
) -> LookupResult:
    unique = _once(found.matches, lambda match: match.row.id)
    return msgspec.structs.replace(
        result,
        creations=tuple(_once(found.creations, lambda match: match.intent.id)[:limit]),
        matches=tuple(unique[:limit]),
        more=is_cut or len(unique) > limit,
        looked_at=found.looked_at,
        phone_end_in=found.phone_end_in or result.phone_end_in,
    )


def _named(store: Store, question: LookupQuestion, phone: str | None) -> tuple[list[Match], bool]:
    """Return what the text names as a whole or begins to name; and whether there is more of it."""
    asked, mode, limit = question.text, question.mode, question.limit
    ranked = [
        Match(row, MatchKind.REFERENCE)
        for row in store.collections.by_reference(mode, asked, limit=limit)
    ]
    ranked += by_receipt(store, asked, mode)[:limit]
    ranked += [
        Match(row, MatchKind.METADATA)
        for row in store.collections.by_metadata(mode, asked, limit=limit)
    ]
    if phone is not None:
        by_phone = store.collections.by_phone(mode, phone, limit=limit)
        ranked += [Match(row, MatchKind.PHONE) for row in by_phone]
    page = store.collections.by_prefix(mode, asked, limit=limit)
    ranked += [Match(row, MatchKind.PREFIX) for row in page.rows]
    return ranked, page.more


def _in_parts(store: Store, question: LookupQuestion) -> Candidates:
    """Return what holds the text within a note or a reference."""
    asked, mode, limit = question.text, question.mode, question.limit
    ranked, created = by_note(store, asked, mode)
    rows = store.collections.containing(mode, asked, limit=limit)
    opened = store.intents.still_open(mode, reference_part=asked, limit=limit)
    return Candidates(
        [*ranked, *(Match(row, MatchKind.PART) for row in rows)],
        [*created, *(CreationMatch(intent, MatchKind.PART) for intent in opened)],
    )


def _once(matches: Sequence[_M], id_of: Callable[[_M], str]) -> list[_M]:
    """Return each record by its first match, the best way in which it was found."""
    first = {id_of(match): match for match in reversed(matches)}
    return [match for match in matches if first[id_of(match)] is match]
