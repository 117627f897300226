"""The filter's one grammar, for the console, the command line, the library and the notebooks.

    failed channel:airtel,mixx amount:5000..20000 age<=15m -code:user_cancelled "ref:INV 7"

Terms stand side by side and all must hold; the values of one term are separated by commas and any
may hold; a leading - negates a term; quotes keep spaces together. `!` alone means whatever is not
plainly well. A bare word is a status, a channel or a failure code, else a part of a reference.
`parse` and `describe` are each other's inverse. Pure.
"""

import re
from collections.abc import Callable, Collection, Mapping
from datetime import date, datetime, time, timedelta
from difflib import get_close_matches
from typing import Final

import msgspec

from kusanya.business_day import EAT, day_start
from kusanya.collection_columns import KEY_TYPES, FieldType
from kusanya.failure_codes import CHANNEL_NAMES, CHANNELS, FAILURE_CODES
from kusanya.privacy import PhoneError, normalise_phone
from kusanya.state.observation import CONTRADICTION
from kusanya.wire import Status

_STATUSES: Final = frozenset({*(status.value for status in Status), CONTRADICTION})
_UNITS: Final = {"s": 1, "m": 60, "h": 3_600, "d": 86_400}


class FilterError(ValueError):
    """A filter cannot be read; the message names the word and what would be accepted.

    `position` is where in the text that word begins.
    """

    def __init__(self, message: str, *, position: int = 0) -> None:
        super().__init__(message)
        self.position = position


KEYS: Final[Mapping[str, FieldType]] = {
    **KEY_TYPES,
    "type": FieldType.WORD,
    "endpoint": FieldType.WORD,
    "verdict": FieldType.WORD,
    "reason": FieldType.WORD,
    "try": FieldType.NUMBER,
    "answer": FieldType.NUMBER,
    "intent": FieldType.WORD,
    "actor": FieldType.PART,
    "act": FieldType.PART,
    "outcome": FieldType.PART,
    "meta": FieldType.ENTRY,
}
"""Every key of the grammar and what its values are: those of collections, then all others."""


class Range(msgspec.Struct, frozen=True):
    """Whole numbers, or seconds of age, from `low` to `high`, both included; None is open."""

    low: int | None
    high: int | None

    def holds(self, number: float) -> bool:
        """Tell whether `number` lies in the range."""
        return (self.low is None or number >= self.low) and (
            self.high is None or number <= self.high
        )


class TimeRange(msgspec.Struct, frozen=True):
    """From one time to another, as written: hours and minutes of today, or EAT days."""

    begin: time | date | None
    end: time | date | None

    def between(self, now: datetime) -> tuple[datetime | None, datetime | None]:
        """Return the first instant of the span and the first one after it; None is open."""
        begin = None if self.begin is None else _first(self.begin, now)
        end = None if self.end is None else _first(self.end, now) + _length(self.end)
        return begin, end


Value = str | Range | TimeRange


class Term(msgspec.Struct, frozen=True):
    """One condition: a key, the values of which any may hold, and whether none may."""

    key: str
    values: tuple[Value, ...]
    negated: bool = False
    exact: bool = False
    """True for `ref=…`: the whole reference, not a part of it."""


class Filter(msgspec.Struct, frozen=True):
    """Conditions that must all hold; none of them keeps everything."""

    terms: tuple[Term, ...] = ()
    unwell: bool = False
    """Keep only what is not plainly well."""

    def __bool__(self) -> bool:
        return bool(self.terms) or self.unwell


_VIEW: Final = re.compile(r"(?<!\S)@(\S*)")


def parse(text: str, *, keys: Collection[str] = KEYS.keys(), whose: str = "rows") -> Filter:
    """Return the filter that `text` writes, for a list (`whose`) that has `keys`.

    Raises FilterError naming the word that is wrong and its position.
    """
    terms: list[Term] = []
    unwell = False
    for position, word in _words(text):
        if word == "!":
            unwell = True
            continue
        try:
            term = _term(word)
        except FilterError as error:
            raise FilterError(str(error), position=position) from None
        if term.key not in keys:
            said = f"{whose} have no {term.key}; they have {', '.join(keys)}"
            raise FilterError(said, position=position)
        terms.append(term)
    return Filter(tuple(terms), unwell)


def expand(text: str, views: Mapping[str, str]) -> str:
    """Return a filter with each @name replaced by what was saved under it.

    Raises FilterError for a name that nothing was saved under.
    """

    def saved(word: re.Match[str]) -> str:
        found = views.get(word[1])
        if found is None:
            names = ", ".join(f"@{name}" for name in sorted(views)) or "none yet"
            said = f"no view was saved as @{word[1]}; there are {names}"
            raise FilterError(said, position=word.start())
        return found

    return _VIEW.sub(saved, text)


def describe(found: Filter) -> str:
    """Return a text that `parse` reads as the same filter."""
    said = ["!"] if found.unwell else []
    said.extend(_describe_term(term) for term in found.terms)
    return " ".join(said)


def _words(text: str) -> list[tuple[int, str]]:
    """Return the words, each with where it begins."""
    words: list[tuple[int, str]] = []
    word, quoted, begun = "", False, -1
    for place, character in enumerate(text):
        if character.isspace() and not quoted:
            words.append((begun, word))
            word, begun = "", -1
            continue
        begun = place if begun < 0 else begun
        if character == '"':
            quoted = not quoted
        else:
            word += character
    if quoted:
        raise FilterError('a quote is open: close it with another "', position=begun)
    words.append((begun, word))
    return [(place, word) for place, word in words if word]


_PRINTED: Final = re.compile(r"(?<![0-9,])[0-9]{1,3}(?:,[0-9]{3})+(?![0-9,])")
"""A number as it is printed, 40,500: nobody lists 40 and 500 where thousands are written so."""
_TERM: Final = re.compile(r"(?P<key>[A-Za-z]+)(?P<op>:|<=|>=|=|<|>)(?P<rest>.*)", re.DOTALL)


def _term(word: str) -> Term:
    negated = len(word) > 1 and word.startswith("-")
    bare = word[1:] if negated else word
    parts = _TERM.fullmatch(bare)
    if parts is None:
        return _bare(bare, negated=negated)
    key, op, rest = parts["key"].lower(), parts["op"], parts["rest"]
    if key not in KEYS:
        raise FilterError(f"{key!r} is no key; there are {', '.join(KEYS)}")
    if not rest:
        raise FilterError(f"{key}{op} needs a value")
    kind = KEYS[key]
    compares = op not in {":", "="}
    if compares and kind not in {FieldType.NUMBER, FieldType.AGE, FieldType.TIME}:
        raise FilterError(f"{key} takes : or =, not {op}")
    read = _READERS[kind]
    if kind is FieldType.NUMBER:
        rest = _PRINTED.sub(lambda printed: printed[0].replace(",", ""), rest)
    pieces = [rest] if compares else [piece for piece in rest.split(",") if piece]
    if not pieces:
        raise FilterError(f"{key}{op} needs a value")
    values = tuple(read(key, op, piece) for piece in pieces)
    return Term(key, values, negated, exact=kind is FieldType.PART and op == "=")


def _bare(word: str, *, negated: bool) -> Term:
    pieces = [piece for piece in word.split(",") if piece]
    if not pieces:
        raise FilterError(f"{word!r} names nothing to look for")
    low = [piece.lower() for piece in pieces]
    if _STATUSES.issuperset(low):
        return Term("status", tuple(low), negated)
    codes = [CHANNEL_NAMES.get(piece.lower(), piece) for piece in pieces]
    if CHANNELS.keys() >= set(codes):
        return Term("channel", tuple(codes), negated)
    if FAILURE_CODES.keys() >= set(low):
        return Term("code", tuple(low), negated)
    return Term("ref", tuple(pieces), negated)


def _read_word(key: str, op: str, piece: str) -> Value:
    word = CHANNEL_NAMES.get(piece.lower(), piece) if key == "channel" else piece
    wrong = "" if op == "=" else _slip(key, word)
    if wrong:
        raise FilterError(f"{wrong}; {key}={word} looks for it all the same")
    return word


def _read_entry(key: str, _op: str, piece: str) -> Value:
    name, sign, value = piece.partition("=")
    if not (name.strip() and sign and value.strip()):
        raise FilterError(f"{key} takes a name and its value, as in {key}:order_id=A-1")
    return f"{name.strip()}={value.strip()}"


def _slip(key: str, word: str) -> str:
    """Return what is wrong with a word that nobody can have meant, or nothing.

    Statuses and channels are open sets: what is not like a known one is looked for as it is.
    """
    if key == "status" and word not in _STATUSES:
        meant = get_close_matches(word.lower(), sorted(_STATUSES), n=1, cutoff=0.8)
        return f"status {word!r} is unknown, you may mean {meant[0]}" if meant else ""
    if key == "channel" and word not in CHANNELS and word.isascii() and word.islower():
        # The codes are written in capitals, also those that are not known yet.
        meant = get_close_matches(word, sorted(CHANNEL_NAMES), n=1) or sorted(CHANNEL_NAMES)
        return f"channel {word!r} is unknown: there are {', '.join(meant)}"
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
        raise FilterError(f"phone: {error}") from None


def _read_number(key: str, op: str, piece: str) -> Value:
    return _range(key, op, piece, _whole, step=1)


def _read_age(key: str, op: str, piece: str) -> Value:
    return _range(key, op, piece, _seconds, step=0)


def _range(key: str, op: str, piece: str, read: Callable[[str, str], int], *, step: int) -> Range:
    begin, dots, end = piece.partition("..")
    if dots:
        if op not in {":", "="}:
            raise FilterError(f"{key}{op} takes one value, not a range")
        low, high = (read(key, begin) if begin else None), (read(key, end) if end else None)
        if low is not None and high is not None and low > high:
            raise FilterError(f"{key}: {begin} is above {end}")
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
        raise FilterError(f"{key} takes whole numbers such as 5000 or 5000..20000, not {text!r}")
    return int(text)


def _seconds(key: str, text: str) -> int:
    if not re.fullmatch(r"[0-9]{1,9}[smhd]", text):
        raise FilterError(f"{key} takes a span such as 15m, 2h or 3d, not {text!r}")
    return int(text[:-1]) * _UNITS[text[-1]]


def _read_time(key: str, op: str, piece: str) -> Value:
    begin, dots, end = piece.partition("..")
    if dots and op not in {":", "="}:
        raise FilterError(f"{key}{op} takes one value, not a range")
    first = _when(key, begin) if begin else None
    if dots:
        return TimeRange(first, _when(key, end) if end else None)
    # A day or a minute is a span itself: before it means up to its beginning.
    if op in {"<", ">"}:
        raise FilterError(f"{key} takes <= or >=, a time or a range such as 15:00..15:30")
    return {"<=": TimeRange(None, first), ">=": TimeRange(first, None)}.get(
        op, TimeRange(first, first)
    )


def _when(key: str, text: str) -> time | date:
    for read in (_time, date.fromisoformat):
        try:
            return read(text)
        except ValueError:
            continue
    raise FilterError(f"{key} takes a time such as 15:00 or a day such as 2025-11-19, not {text!r}")


def _time(text: str) -> time:
    if not re.fullmatch(r"[0-9]{1,2}:[0-9]{2}", text):
        raise ValueError(text)
    hours, minutes = text.split(":")
    return time(int(hours), int(minutes))


def _first(when: time | date, now: datetime) -> datetime:
    if isinstance(when, time):
        return day_start(now) + timedelta(hours=when.hour, minutes=when.minute)
    return datetime.combine(when, time(), tzinfo=EAT)


def _length(when: time | date) -> timedelta:
    return timedelta(minutes=1) if isinstance(when, time) else timedelta(days=1)


_READERS: Final[Mapping[FieldType, Callable[[str, str, str], Value]]] = {
    FieldType.WORD: _read_word,
    FieldType.PART: _read_word,
    FieldType.PHONE: _read_phone,
    FieldType.NUMBER: _read_number,
    FieldType.AGE: _read_age,
    FieldType.TIME: _read_time,
    FieldType.ENTRY: _read_entry,
}


def _describe_term(term: Term) -> str:
    slips = any(isinstance(value, str) and _slip(term.key, value) for value in term.values)
    op = "=" if term.exact or slips else ":"
    first = term.values[0]
    if len(term.values) == 1 and isinstance(first, (Range, TimeRange)):
        said = term.key + _ends(term.key, first)
    else:
        said = term.key + op + ",".join(_say(term.key, value) for value in term.values)
    said = f"-{said}" if term.negated else said
    return f'"{said}"' if any(character.isspace() for character in said) else said


def _say(key: str, value: Value) -> str:
    return value if isinstance(value, str) else _ends(key, value).removeprefix(":")


def _ends(key: str, value: Range | TimeRange) -> str:
    if isinstance(value, Range):
        low, high = _number(key, value.low), _number(key, value.high)
    else:
        low, high = _clock(value.begin), _clock(value.end)
    if low == high and low is not None:
        return f":{low}"
    if high is None:
        return f">={low}"
    return f"<={high}" if low is None else f":{low}..{high}"


def _number(key: str, number: int | None) -> str | None:
    if number is None or KEYS[key] is not FieldType.AGE:
        return None if number is None else f"{number}"
    unit = next(unit for unit in ("d", "h", "m", "s") if number % _UNITS[unit] == 0)
    return f"{number // _UNITS[unit]}{unit}"


def _clock(when: time | date | None) -> str | None:
    if when is None:
        return None
    return f"{when:%H:%M}" if isinstance(when, time) else when.isoformat()
