"""What goes by a name that people use: a reference in any spelling, a receipt, a note."""

import re
from typing import Final

from kusanya.lookup.search.by_id import became
from kusanya.lookup.search.matches import (
    Candidates,
    CreationMatch,
    LookupQuestion,
    Match,
    MatchKind,
)
from kusanya.store import Store
from kusanya.wire import Mode, is_collection_id

PART_LENGTH: Final = 4
"""Shorter parts of a reference or a note match too much to help anybody."""
_BOUND: Final = 50
_JOINTS: Final = re.compile(r"[\s\-_/.#]+")
_JOINED_BY: Final = ("-", "", "/", "_", ".", " ")
_MOST_PIECES: Final = 6
_UNJOINED: Final = re.compile(r"([A-Za-z]++)([0-9][0-9OoIl]*)")
_SCANNED: Final = re.compile(r"[OoIl]*[0-9][0-9OoIl]*")
_LOOKALIKES: Final = str.maketrans("OoIl", "0011")


def creations(store: Store, question: LookupQuestion, phone: str | None) -> list[CreationMatch]:
    """Return creations without a known collection: by their whole reference, then by phone."""
    under = store.intents.by_reference(question.mode, question.text)
    found = [
        CreationMatch(intent, MatchKind.REFERENCE)
        for intent in under[: question.limit]
        if became(store, intent) is None
    ]
    if phone is not None:
        on_phone = store.intents.still_open(question.mode, phone=phone, limit=question.limit)
        found += [CreationMatch(intent, MatchKind.PHONE) for intent in on_phone]
    return found


def by_receipt(store: Store, asked: str, mode: Mode) -> list[Match]:
    """Return the collections with this receipt of an operator; in one of digits O is read as 0."""
    spelled = dict.fromkeys((asked, _as_digits(asked)))
    ids = [fact.collection_id for one in spelled for fact in store.receipts.find(one, mode)]
    rows = store.collections.by_id(ids, mode) if ids else {}
    return [Match(row, MatchKind.RECEIPT) for row in rows.values()]


def by_note(store: Store, asked: str, mode: Mode) -> tuple[list[Match], list[CreationMatch]]:
    """Return what has a note that contains the text: an SMS receipt number, say.

    A note on an intent leads to the collection that it became, or to the intent itself.
    """
    ids: list[str] = []
    created: list[CreationMatch] = []
    for note in store.notes.search(mode, asked, limit=_BOUND):
        intent = None if is_collection_id(note.subject) else store.intents.get(note.subject)
        if intent is None:
            ids.append(note.subject)
        elif (row := became(store, intent)) is not None:
            ids.append(row.id)
        else:
            created.append(CreationMatch(intent, MatchKind.NOTE))
    rows = store.collections.by_id(ids, mode)
    return [Match(row, MatchKind.NOTE) for row in rows.values()], created


def by_spelling(store: Store, question: LookupQuestion) -> Candidates:
    """Return what has the reference in another spelling: INV 000100 where INV-000100 stands.

    The same letters and digits in the same order, whole: nothing is guessed.
    """
    mode, limit = question.mode, question.limit
    spelled = spellings(question.text)
    if not spelled:
        return Candidates()
    rows = store.collections.by_reference(mode, *spelled, limit=limit)
    intents = store.intents.by_reference(mode, *spelled)[:limit]
    return Candidates(
        [Match(row, MatchKind.SPELLING) for row in rows],
        [CreationMatch(row, MatchKind.SPELLING) for row in intents if became(store, row) is None],
    )


def spellings(text: str) -> list[str]:
    """Return in which ways a reference may be written: INV000100 and INV-OOO100 as INV-000100 too.

    Between letters and digits may stand a joint, and among digits O is read as 0, I and l as 1.
    """
    pieces = [piece for piece in _JOINTS.split(text) if piece]
    unjoined = _UNJOINED.fullmatch(pieces[0]) if len(pieces) == 1 else None
    if unjoined is not None:
        pieces = list(unjoined.groups())
    if not 1 < len(pieces) <= _MOST_PIECES or sum(map(len, pieces)) < PART_LENGTH:
        return []
    read = [pieces[0], *map(_as_digits, pieces[1:])]
    joined = [joint.join(one) for one in (pieces, read) for joint in _JOINED_BY]
    return list(dict.fromkeys([*joined, *(spelled.upper() for spelled in joined)]))


def _as_digits(piece: str) -> str:
    """Return digits among which letters stand that look like digits, or the piece as it is."""
    return piece.translate(_LOOKALIKES) if _SCANNED.fullmatch(piece) else piece
