"""How one value of a term is read: a word, a phone, a number, an age, a time. Pure."""

import re
from collections.abc import Callable, Mapping
from datetime import date, time
from difflib import get_close_matches
from typing import Final

from kusanya.domain.business_day import read_day
from kusanya.domain.channels import CHANNEL_NAMES, CHANNELS
from kusanya.domain.collection_columns import FieldType
from kusanya.domain.status import CONTRADICTION, Status
from kusanya.filters.terms import UNITS, FilterError, Range, TimeRange, Value
from kusanya.privacy import PhoneError, normalise_phone
from kusanya.say import Said

STATUSES: Final = frozenset({*(status.value for status in Status), CONTRADICTION})


def _read_word(key: str, op: str, piece: str) -> Value:
    word = CHANNEL_NAMES.get(piece.lower(), piece) if key == "channel" else piece
    wrong = "" if op == "=" else unknown_word(key, word)
    if wrong:
        raise FilterError(
            Said("{our_wrong}; {key}={typed} looks for it all the same").of(
                our_wrong=wrong, key=key, typed=word
            )
        )
    return word


def _read_entry(key: str, _op: str, piece: str) -> Value:
    name, sign, value = piece.partition("=")
    if not (name.strip() and sign and value.strip()):
        raise FilterError(
            Said("{key} takes a name and its value, as in {example}:order_id=A-1").of(
                key=key, example=key
            )
        )
    return f"{name.strip()}={value.strip()}"


def unknown_word(key: str, word: str) -> str:
    """Return what is wrong with a word that nobody can have meant, or nothing.

    Statuses and channels are open sets: what is not like a known one is looked for as it is.
    """
    if key == "status" and word not in STATUSES:
        meant = get_close_matches(word.lower(), sorted(STATUSES), n=1, cutoff=0.8)
        return (
            Said("status {word} is unknown, you may mean {meant}").of(
                word=f"{word!r}", meant=meant[0]
            )
            if meant
            else ""
        )
    if key == "channel" and word not in CHANNELS and word.isascii() and word.islower():
        # The codes are written in capitals, also those that are not known yet.
        meant = get_close_matches(word, sorted(CHANNEL_NAMES), n=1) or sorted(CHANNEL_NAMES)
        return Said("channel {word} is unknown: there are {known}").of(
            word=f"{word!r}", known=", ".join(meant)
        )
    return ""


_PHONE_END: Final = re.compile(r"[0-9]{3,8}")
"""The digits of a phone that screens show, or some more of its end."""


def _read_phone(_key: str, op: str, piece: str) -> Value:
    shown = piece.rpartition("•")[2]
    if op == ":" and _PHONE_END.fullmatch(shown):
        return shown
    try:
        return normalise_phone(piece)
    except PhoneError as error:
        raise FilterError(Said("phone: {our_why}").of(our_why=str(error))) from None


def _read_number(key: str, op: str, piece: str) -> Value:
    return _range(key, op, piece, _whole, step=1)


def _read_age(key: str, op: str, piece: str) -> Value:
    return _range(key, op, piece, _seconds, step=0)


def _range(key: str, op: str, piece: str, read: Callable[[str, str], int], *, step: int) -> Range:
    begin, dots, end = piece.partition("..")
    if dots:
        if op not in {":", "="}:
            raise FilterError(Said("{key} takes one value, not a range").of(key=f"{key}{op}"))
        low, high = (read(key, begin) if begin else None), (read(key, end) if end else None)
        if low is not None and high is not None and low > high:
            raise FilterError(
                Said("{key}: {begin} is above {end}").of(key=key, begin=begin, end=end)
            )
        return Range(low, high)
    number = read(key, piece)
    return {
        "<": Range(None, number - step),
        "<=": Range(None, number),
        ">": Range(number + step, None),
        ">=": Range(number, None),
    }.get(op, Range(number, number))


def _whole(key: str, text: str) -> int:
    if not re.fullmatch(r"[0-9]{1,18}", text):
        raise FilterError(
            Said("{key} takes whole numbers such as 5000 or 5000..20000, not {text}").of(
                key=key, text=f"{text!r}"
            )
        )
    return int(text)


def _seconds(key: str, text: str) -> int:
    if not re.fullmatch(r"[0-9]{1,9}[smhd]", text):
        raise FilterError(
            Said("{key} takes a span such as 15m, 2h or 3d, not {text}").of(
                key=key, text=f"{text!r}"
            )
        )
    return int(text[:-1]) * UNITS[text[-1]]


def _read_time(key: str, op: str, piece: str) -> Value:
    begin, dots, end = piece.partition("..")
    if dots and op not in {":", "="}:
        raise FilterError(Said("{key} takes one value, not a range").of(key=f"{key}{op}"))
    first = _when(key, begin) if begin else None
    if dots:
        return TimeRange(first, _when(key, end) if end else None)
    # A day or a minute is a span itself: before it means up to its beginning.
    if op in {"<", ">"}:
        raise FilterError(
            Said("{key} takes <= or >=, a time or a range such as 15:00..15:30").of(key=key)
        )
    return {"<=": TimeRange(None, first), ">=": TimeRange(first, None)}.get(
        op, TimeRange(first, first)
    )


def _when(key: str, text: str) -> time | date:
    for read in (_time, read_day):
        try:
            return read(text)
        except ValueError:
            continue
    raise FilterError(
        Said("{key} takes a time such as 15:00 or a day such as 2025-11-19, not {text}").of(
            key=key, text=f"{text!r}"
        )
    )


def _time(text: str) -> time:
    if not re.fullmatch(r"[0-9]{1,2}:[0-9]{2}", text):
        raise ValueError(text)
    hours, minutes = text.split(":")
    return time(int(hours), int(minutes))


READERS: Final[Mapping[FieldType, Callable[[str, str, str], Value]]] = {
    FieldType.WORD: _read_word,
    FieldType.PART: _read_word,
    FieldType.PHONE: _read_phone,
    FieldType.NUMBER: _read_number,
    FieldType.AGE: _read_age,
    FieldType.TIME: _read_time,
    FieldType.ENTRY: _read_entry,
}
"""For each type of field what reads a value of it, from its key, its operator and its text."""
