"""What the words of a text name where the text as a whole names nothing: "ref INV-000001 please".

Each word is looked for whole, by indexes: nothing is guessed, and all that is known is listed.
"""

import re
from collections.abc import Collection
from itertools import pairwise
from typing import Final

from kusanya.lookup.search.amounts import AmountAndTime, read_amount
from kusanya.lookup.search.by_id import became, by_id
from kusanya.lookup.search.by_name import by_receipt, spellings
from kusanya.lookup.search.by_phone import of_phone, phones_in
from kusanya.lookup.search.matches import (
    Candidates,
    CreationMatch,
    LookupQuestion,
    Match,
    MatchKind,
)
from kusanya.privacy import mask_text
from kusanya.privacy.secret_url import mask_url
from kusanya.say import Said, joined
from kusanya.store import Store
from kusanya.store.records import CollectionFilter, CollectionRow
from kusanya.text import safe

_MOST: Final = 8
"""So many words of a text are looked for; those with a digit first."""
_LEAST: Final = 3
_RECEIPT_LEAST: Final = 6
_BETWEEN: Final = re.compile(r"[\s;]+|(?<![0-9]),|,(?![0-9]{3}(?![0-9]))")
"""A comma among the digits of an amount ends no word."""
_WITHIN: Final = re.compile(r"[:=()]+")
_EDGES: Final = re.compile(r"^[^\w]+|[^\w]+$")
_LABEL: Final = re.compile(r"(?<![^\W\d])[^\W\d]++[:=](?=[\s,;]|$)")
"""What stood before the phone."""
_DIGIT: Final = re.compile(r"[0-9]")
_SHOWN: Final = 40


def by_words(store: Store, question: LookupQuestion) -> Candidates:
    """Return what single words of the text name: ids, references, receipts, and one phone.

    With an amount beside the phone those of that amount come first. Of several phones none is
    looked up.
    """
    phones, rest = phones_in(question.text)
    words = _words(rest)
    if not rest or words == [question.text]:
        return Candidates()
    found = _named(store, question, words)
    if not found.matches and not found.creations:
        found = _spelled(store, question, words)
    if len(phones) == 1:
        on_phone = _on_phone(store, question, phones[0], rest)
        found = Candidates(
            [*found.matches, *on_phone.matches],
            [*found.creations, *on_phone.creations],
            found.looked_at or on_phone.looked_at,
        )
    shown = tuple(safe(mask_text(_without_password(word)), _SHOWN) for word in words)
    return Candidates(found.matches, found.creations, found.looked_at, words=shown)


def _without_password(word: str) -> str:
    return mask_url(word) if "://" in word else word


def _words(text: str) -> list[str]:
    pieces = [piece for piece in _BETWEEN.split(text) if piece]
    # An address is masked as a whole: its parts would show the password in it.
    divided = [piece for piece in pieces if "://" not in piece]
    pieces += [part for piece in divided for part in _WITHIN.split(piece) if part != piece]
    bare = dict.fromkeys(_EDGES.sub("", piece) for piece in pieces)
    words = [word for word in bare if len(word) >= _LEAST]
    return sorted(words, key=lambda word: _DIGIT.search(word) is None)[:_MOST]


def _named(store: Store, question: LookupQuestion, words: list[str]) -> Candidates:
    mode = question.mode
    matches: list[Match] = []
    created: list[CreationMatch] = []
    led: list[str] = []
    for word in words:
        known = by_id(store, word, mode)
        rows = [] if known is None else list(known.matches)
        opened = [] if known is None else list(known.creations)
        if not rows and not opened and len(word) >= _RECEIPT_LEAST and _DIGIT.search(word):
            rows = by_receipt(store, word, mode)
        if rows or opened:
            led.append(word)
        matches += rows
        created += opened
    under = _under(store, question, words, MatchKind.REFERENCE)
    led += [name for name in _references(under) if name not in led]
    return Candidates([*matches, *under.matches], [*created, *under.creations], _in_text(led))


def _spelled(store: Store, question: LookupQuestion, words: list[str]) -> Candidates:
    """Return what has words as its reference in another spelling: inv-000001, INV 000001."""
    beside = [piece for piece in _BETWEEN.split(question.text) if piece]
    several = [*words, *(" ".join(pair) for pair in pairwise(beside[: _MOST + 1]))]
    spelled = [one for text in several if _DIGIT.search(text) for one in spellings(text)]
    under = _under(store, question, dict.fromkeys(spelled), MatchKind.SPELLING)
    return Candidates(under.matches, under.creations, _in_text(_references(under)))


def _under(
    store: Store, question: LookupQuestion, names: Collection[str], kind: MatchKind
) -> Candidates:
    if not names:
        return Candidates()
    rows = store.collections.by_reference(question.mode, *names, limit=question.limit)
    intents = store.intents.by_reference(question.mode, *names)[: question.limit]
    return Candidates(
        [Match(row, kind) for row in rows],
        [CreationMatch(intent, kind) for intent in intents if became(store, intent) is None],
    )


def _references(found: Candidates) -> list[str]:
    named = [match.row.reference for match in found.matches]
    return list(dict.fromkeys([*named, *(one.intent.reference for one in found.creations)]))


def _in_text(words: list[str]) -> str:
    shown = ", ".join(safe(mask_text(word), _SHOWN) for word in words)
    return Said("{words} in the text").of(words=shown) if shown else ""


def _on_phone(store: Store, question: LookupQuestion, phone: str, rest: str) -> Candidates:
    """Return what was asked of the phone; what has the amount that stands beside it first."""
    found = of_phone(store, question, phone)
    beside = _LABEL.sub(" ", rest)
    asked = read_amount(beside, now=question.now, day=question.day)
    if asked is None:
        return found
    where = CollectionFilter(phone=phone, amount_min=asked.amount, amount_max=asked.up_to)
    rows = store.collections.page(question.mode, where=where, limit=question.limit).rows
    near = sorted(rows, key=lambda row: not _is_within(row, asked))
    opened = [one for one in found.creations if asked.amount <= one.intent.amount <= asked.up_to]
    if near or opened:
        looked_at = Said("{amount} with the phone").of(amount=asked.amounts)
    else:
        none = Said("though none is of {amount}").of(amount=asked.amounts)
        looked_at = joined(", ", ("the phone", none))
    return Candidates(
        [*(Match(row, MatchKind.PHONE_AND_AMOUNT) for row in near), *found.matches],
        [
            *(CreationMatch(one.intent, MatchKind.PHONE_AND_AMOUNT) for one in opened),
            *found.creations,
        ],
        looked_at if found.matches or found.creations or near else "",
    )


def _is_within(row: CollectionRow, asked: AmountAndTime) -> bool:
    return asked.is_dated and asked.begin <= row.created_at < asked.end
