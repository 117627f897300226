"""A phone in any spelling, and the end of one."""

import re
from typing import Final

from kusanya.lookup.matches import Candidates, CreationMatch, Match, MatchKind, Question
from kusanya.privacy import PhoneError, is_phone_like, is_wire_phone, normalise_phone
from kusanya.store import Store

_PHONE_LIKE: Final = re.compile(r"[+(]{0,2}[0-9][0-9\s().\-\u00a0\u2010-\u2015]{6,24}")
_SEPARATORS: Final = re.compile(r"[\s().\-\u00a0\u2010-\u2015]")
_PHONE_END: Final = re.compile(r"[0-9]{6,8}")
"""Fewer digits are those of too many phones."""
_PHONE_DIGITS: Final = 13
"""A longer number without a + was never meant as a phone: receipts have 13 digits and more."""
_OPEN_LOOKED_AT: Final = 1_000


def as_phone(asked: str) -> tuple[str | None, str | None]:
    """Return a text as a phone number, or why it looks like one and is none."""
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


def by_phone_end(store: Store, question: Question) -> Candidates:
    """Return what was asked lately of phones that end so: customers say their last digits."""
    digits = _SEPARATORS.sub("", question.text)
    if not _PHONE_END.fullmatch(digits):
        return Candidates()
    mode, limit = question.mode, question.limit
    rows = store.collections.by_phone_end(mode, digits, limit=limit)
    opened = store.intents.still_open(mode, limit=_OPEN_LOOKED_AT)
    return Candidates(
        [Match(row, MatchKind.PHONE_END) for row in rows],
        [CreationMatch(row, MatchKind.PHONE_END) for row in opened if row.phone.endswith(digits)][
            :limit
        ],
    )
