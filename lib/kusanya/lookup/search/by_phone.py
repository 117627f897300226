"""A phone in any spelling, alone or among other words, and the end of one."""

import re
from datetime import datetime
from typing import Final

from kusanya.filters import FilterError, parse
from kusanya.lookup.search.matches import (
    Candidates,
    CreationMatch,
    LookupQuestion,
    LookupResult,
    Match,
    MatchKind,
)
from kusanya.privacy import PhoneError, is_phone_like, is_wire_phone, normalise_phone
from kusanya.say import Said
from kusanya.store import Store

_PHONE_LIKE: Final = re.compile(r"[+(]{0,2}[0-9][0-9\s().\-\u00a0\u2010-\u2015]{6,24}")
_SEPARATORS: Final = re.compile(r"[\s().\-\u00a0\u2010-\u2015]")
_PHONE_END: Final = re.compile(r"[0-9]{6,8}")
"""Fewer digits are those of too many phones of all days."""
_SHORT_END: Final = re.compile(r"[0-9]{3,5}")
_BY_NAME: Final = re.compile(r'"?phone[:=]\S+', re.IGNORECASE)
_WITHIN: Final = re.compile(
    r"(?<![\w/#.+\-])"
    r"(?:(?:\+|00)?255[ \-]?[67](?:[ \-]?[0-9]){8}"
    r"|0[67][0-9](?:[ \-]?[0-9]){7}"
    r"|[67][0-9]{8}|[67][0-9]{2}[ \-][0-9]{3}[ \-][0-9]{3})"
    r"(?![\w]|[\-/.][\w])"
)
"""A Tanzanian phone among other words; never an amount beside a date, nor a part of a reference."""
_MASKED: Final = re.compile(
    r"(?<![\w.*\u2022\u2026#])(?P<begin>\+?[0-9]{0,6})[*xX\u2022\u2026#]{2,10}(?P<end>[0-9]{3,8})(?!\w)"
    r"|\b(?:end(?:s|ing)?(?: (?:in|with))?|inaishia(?: (?:na|kwa))?|mwisho)[ :]{1,3}"
    r"(?P<said>[0-9]{3,8})(?!\w)",
    re.IGNORECASE,
)
"""A phone of which only the end is shown, as on our screens and in messages of operators."""
_PHONE_DIGITS: Final = 13
"""A longer number without a + was never meant as a phone: receipts have 13 digits and more."""
_LOOKED_AT: Final = 20_000
"""No index holds the ends of phones: so many collections, the newest, are looked through."""
_END_MOST: Final = 8
"""So many digits are the end of a phone, more of them a whole one."""
_ONE_PHONE: Final = "one phone or its end is looked for, as in phone:412"


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


def phones_in(text: str) -> tuple[tuple[str, ...], str]:
    """Return the phones that stand in a text, each once as on the wire, and what else it says."""
    found = dict.fromkeys(normalise_phone(phone) for phone in _WITHIN.findall(text))
    return tuple(found), _WITHIN.sub(" ", text).strip()


def by_phone_end(store: Store, question: LookupQuestion) -> Candidates:
    """Return what was asked lately of phones that end so: customers say their last digits."""
    digits = _SEPARATORS.sub("", question.text)
    return _ending(store, question, digits) if _PHONE_END.fullmatch(digits) else Candidates()


def by_short_phone_end(store: Store, question: LookupQuestion) -> Candidates:
    """Return what was asked today of phones that end in so few digits."""
    if not _SHORT_END.fullmatch(question.text):
        return Candidates()
    return _ending(store, question, question.text, since=question.day(question.now))


def by_masked_phone(store: Store, question: LookupQuestion) -> Candidates:
    """Return what was asked of the one phone of which a text shows, or says, only the end."""
    masked = {
        (found["begin"] or "", found["end"] or found["said"])
        for found in _MASKED.finditer(question.text)
    }
    if len(masked) != 1:
        return Candidates()
    ((begin, end),) = masked
    since = None if _PHONE_END.fullmatch(end) else question.day(question.now)
    found = _ending(store, question, end, since=since)
    national = begin.startswith("0")
    on_wire = "255" + begin[1:] if national else begin.removeprefix("+")
    return Candidates(
        [one for one in found.matches if one.row.phone.startswith(on_wire)],
        [one for one in found.creations if one.intent.phone.startswith(on_wire)],
        phone_end_in=found.phone_end_in,
    )


def is_named_phone(asked: str) -> bool:
    """Return whether a phone or its end is asked for by name, as in a filter: phone:412."""
    return _BY_NAME.fullmatch(asked) is not None


def by_named_phone(store: Store, question: LookupQuestion) -> LookupResult:
    """Return what was asked of a phone, or of phones that end so, named as in a filter."""
    try:
        asked = parse(question.text, keys=("phone",), whose="look-ups")
    except FilterError as error:
        return LookupResult(text=question.text, trouble=str(error), is_message=True)
    if len(asked.terms) != 1 or len(asked.terms[0].values) != 1 or asked.terms[0].negated:
        return LookupResult(text=question.text, trouble=_ONE_PHONE, is_message=True)
    digits = str(asked.terms[0].values[0])
    if len(digits) > _END_MOST:
        found, phones = of_phone(store, question, digits), 1
    else:
        found, phones = _ending(store, question, digits), 0
    return LookupResult(
        text=question.text,
        matches=tuple(found.matches),
        creations=tuple(found.creations),
        phone_end_in=found.phone_end_in,
        phones=phones,
    )


def of_phone(store: Store, question: LookupQuestion, phone: str) -> Candidates:
    """Return the collections of a phone, and the open creations for it."""
    mode, limit = question.mode, question.limit
    rows = store.collections.by_phone(mode, phone, limit=limit)
    opened = store.intents.still_open(mode, phone=phone, limit=limit)
    return Candidates(
        [Match(row, MatchKind.PHONE) for row in rows],
        [CreationMatch(intent, MatchKind.PHONE) for intent in opened],
    )


def _ending(
    store: Store, question: LookupQuestion, digits: str, since: datetime | None = None
) -> Candidates:
    mode, limit = question.mode, question.limit
    rows = store.collections.by_phone_end(mode, digits, since=since, among=_LOOKED_AT, limit=limit)
    opened = store.intents.still_open(mode, phone_end=digits, prepared_from=since, limit=limit)
    count = _LOOKED_AT
    return Candidates(
        [Match(row, MatchKind.PHONE_END) for row in rows],
        [CreationMatch(intent, MatchKind.PHONE_END) for intent in opened],
        phone_end_in=Said("among the newest {count}").of(count=count)
        if since is None
        else Said("today, among the newest {count}").of(count=count),
    )
