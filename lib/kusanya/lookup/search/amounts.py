"""An amount as people say it, with a time or a day beside it, in English and in Swahili.

Read are 85000, 85,000/=, TZS 85,000.00, Tsh 85 000, 85k, 5.5k, elfu 85, laki moja na nusu,
4900..5100, each alone or, in any order, with 07:18, 7.18am, saa 1:18 asubuhi, saa tatu na nusu
asubuhi, 18:00 ±30m, 22 Nov, 22/11/2026, 2026-11-22, yesterday, jana, Mon, Jumatatu, evening, jioni,
last night. A text that says anything else is no amount, and of a sentence only what can be nothing
else is read: nothing is guessed. Pure.
"""

import re
from collections.abc import Callable
from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import Final

import msgspec

from kusanya.domain.months import MONTHS
from kusanya.lookup.search.in_figures import UNITS, in_figures
from kusanya.say import Said, dated

AROUND: Final = timedelta(minutes=15)
"""A time stands for this much before and after it."""
_AROUND_HOUR: Final = timedelta(minutes=30)
"""An hour without minutes is said of more of it."""
_DAY: Final = timedelta(days=1)
_CURRENCY: Final = r"(?:tzs|tshs?|shs?|shilingi|/[=\-])"
_PUNCTUATION: Final = ".,;:!?()\"'\u201c\u201d"
_LONGEST: Final = 200
"""Characters above which a text asks for more than an amount and a time."""
_SENTENCE_LONGEST: Final = 1_000
_MONEY: Final = re.compile(
    rf"(?P<before>{_CURRENCY}\.?\s*)?(?:(?P<unit>{'|'.join(UNITS)})\s+)?"
    r"(?:(?P<thousands>[0-9]{1,3}(?:\.[0-9]{1,2})?)k"
    r"|(?P<grouped>[0-9]{1,3}(?:[,. ][0-9]{3})+)(?:\.00)?|(?P<bare>[0-9]{1,15})(?:\.00)?)"
    rf"(?P<after>\s*{_CURRENCY})?(?=[\s,;@]|\.\.|$)"
)
_BARE: Final = re.compile(r"(?!20[2-4][0-9]$)[1-9][0-9]{3,7}")
"""Such digits may be an amount in a sentence; fewer are a number of things, or a year."""
_OF_DAY: Final = "alfajiri|asubuhi|mchana|alasiri|jioni|usiku"
_TIME: Final = re.compile(
    r"(?:saa\s+)?([0-9]{1,2})(?:[:.h]([0-5][0-9])(?::[0-5][0-9])?\s*"
    rf"(am|pm|{_OF_DAY})?|\s*(am|pm)|(?<=saa .)\s*({_OF_DAY})|(?<=saa ..)\s*({_OF_DAY}))"
    r"(?=[\s,;]|$)"
)
_NUMBERED_DAY: Final = re.compile(r"([0-9]{1,2})[/.]([0-9]{1,2})(?:[/.]([0-9]{4}|[0-9]{2}))?")
_ISO_DAY: Final = re.compile(r"([0-9]{4})-([0-9]{2})-([0-9]{2})")
_MONTH: Final = "|".join(sorted(MONTHS, key=len, reverse=True))
_NAMED_DAY: Final = re.compile(rf"([0-9]{{1,2}})\s*({_MONTH})\b\.?(?:\s+(20[2-9][0-9])(?![0-9]))?")
_WEEKDAYS: Final = {
    name: number
    for number, names in enumerate(
        (
            ("mon", "monday", "jumatatu"),
            ("tue", "tues", "tuesday", "jumanne"),
            ("wed", "wednesday", "jumatano"),
            ("thu", "thurs", "thursday", "alhamisi"),
            ("fri", "friday", "ijumaa"),
            ("sat", "saturday", "jumamosi"),
            ("sun", "sunday", "jumapili"),
        )
    )
    for name in names
}
_AGO: Final = {"today": 0, "leo": 0, "yesterday": 1, "jana": 1, "juzi": 2}
_FILLER: Final = re.compile(
    r"(?:at|on|in|the|this|last(?=\s+night)|tarehe|[,;@])(?=[\s0-9]|$)|[,;@]"
)
_UP_TO: Final = re.compile(r"\s*\.\.\s*")
_AROUND: Final = re.compile(
    r"(?:±|\+/?-)\s*([0-9]{1,3})\s*(m|min|minutes|dakika|h|hours?)?(?=[\s,;]|$)"
)
_MOST_AROUND: Final = timedelta(hours=12)
_PARTS: Final = {
    "alfajiri": (4, 6),
    "morning": (5, 12),
    "asubuhi": (5, 12),
    "mchana": (11, 16),
    "afternoon": (12, 18),
    "alasiri": (15, 18),
    "evening": (16, 22),
    "jioni": (16, 20),
    "night": (19, 29),
    "usiku": (19, 29),
}
"""From which hour of a day to which one its parts go; a night ends on the next day."""


_ASIDE: Final = frozenset(
    {"salio", "balance", "bal", "ada", "makato", "fee", "fees", "charge", "charges", "vat", "levy"}
)
"""The amount behind such a word is not what was paid."""
_GREETING: Final = re.compile(rf"\b(?:good|habari|za)\s+(?:day|leo|{'|'.join(_PARTS)})\b")
"""Says nothing of when somebody paid."""


class AmountAndTime(msgspec.Struct, frozen=True, kw_only=True):
    """How much, and from when up to, not including, when."""

    amount: int
    up_to: int
    """The highest amount; the same where one is meant."""
    begin: datetime
    end: datetime
    at: datetime | None
    """The time of day that was named; None where a day or nothing was."""
    is_dated: bool
    """True where a time or a day was named: then the text can be nothing else."""
    sentence: str
    """The time that was looked at, in words: "15:05 to 15:35 on 22 Nov"."""

    @property
    def amounts(self) -> str:
        """Return the amount, or the two ends of a range, in words."""
        one = f"{self.amount:,}"
        if self.amount == self.up_to:
            return one
        return Said("{low} to {high}").of(low=one, high=self.up_to)


class _AmountParts(msgspec.Struct):
    """What of a text has been read so far."""

    amounts: tuple[int, ...] = ()
    is_sure: bool = False
    """Whether the amount can be nothing else, whatever stands beside it."""
    clock: timedelta | None = None
    around: timedelta = AROUND
    part: tuple[int, int] | None = None
    day: date | None = None


def read_amount(
    text: str, *, now: datetime, day: Callable[[datetime], datetime]
) -> AmountAndTime | None:
    """Return what a text asks for, or None where it is no amount.

    `day` gives the first instant of the business day of an instant. A time without a day is the
    last one that has passed; an amount alone is looked for on the present day.
    """
    if len(text) > _LONGEST:
        return None
    today = day(now)
    read = _read(in_figures(text.casefold()), today.date())
    if read is None or not read.amounts or (read.clock is not None and read.part is not None):
        return None
    return _asked(read, today, now)


def read_amount_in(
    sentence: str, *, now: datetime, day: Callable[[datetime], datetime]
) -> AmountAndTime | None:
    """Return the one amount that a sentence names, and the time or the day beside it, else None.

    Of amounts that may be other numbers and one that has its currency or its thousands apart, that
    one is meant; of several alike none. Of longer ones the first 1,000 characters are read.
    """
    words = sentence[:_SENTENCE_LONGEST].casefold().split()
    plain = " ".join(word.strip(_PUNCTUATION) for word in words)
    rest = in_figures(_GREETING.sub(" ", plain))
    today, read, found = day(now), _AmountParts(), {True: set[int](), False: set[int]()}
    is_aside = False
    while rest := rest.strip():
        taken = _taken(rest, read, today.date())
        word, _, after = rest.partition(" ")
        is_aside = is_aside or word in _ASIDE
        if read.amounts:
            if not is_aside and (read.is_sure or _BARE.fullmatch(word)):
                found[read.is_sure].update(read.amounts)
            read.amounts, is_aside = (), False
        rest = rest[taken:] if taken else after
    amounts = found[True] or found[False]
    if len(amounts) != 1:
        return None
    read.amounts = tuple(amounts)
    if read.clock is not None:
        read.part = None
    return _asked(read, today, now)


def _asked(read: _AmountParts, today: datetime, now: datetime) -> AmountAndTime:
    begin, end = _within(read, today, now)
    return AmountAndTime(
        amount=min(read.amounts),
        up_to=max(read.amounts),
        begin=begin,
        end=end,
        at=None if read.clock is None else begin + read.around,
        is_dated=any(one is not None for one in (read.clock, read.part, read.day)),
        sentence=_sentence(begin, end, today),
    )


def _within(read: _AmountParts, today: datetime, now: datetime) -> tuple[datetime, datetime]:
    """Return the first instant that is meant, and the first one after it."""
    if read.day is None:
        begin = today
    else:
        begin = today.replace(year=read.day.year, month=read.day.month, day=read.day.day)
    if read.part is not None:
        first, last = (begin + timedelta(hours=hour) for hour in read.part)
        passed = _DAY if read.day is None and first > now else timedelta()
        return first - passed, last - passed
    if read.clock is None:
        return begin, begin + _DAY
    at = begin + read.clock
    if read.day is None and at - read.around > now:
        at -= _DAY
    return at - read.around, at + read.around


def _sentence(begin: datetime, end: datetime, today: datetime) -> str:
    on = (
        "today" if begin.date() == today.date() else Said("on {at}").of(at=dated(begin, "%d %b %Y"))
    )
    if end - begin == _DAY:
        return on
    return Said("{begin} to {end} {our_on}").of(
        begin=f"{begin:%H:%M}", end=f"{end:%H:%M}", our_on=on
    )


def _take_part(rest: str, read: _AmountParts) -> int:
    word = re.match(r"[a-z]+", rest)
    if word is None or word[0] not in _PARTS or read.part is not None:
        return 0
    read.part = _PARTS[word[0]]
    return word.end()


def _take_around(rest: str, read: _AmountParts) -> int:
    found = _AROUND.match(rest)
    if found is None or read.clock is None:
        return 0
    hours = (found[2] or "m").startswith("h")
    around = timedelta(hours=int(found[1])) if hours else timedelta(minutes=int(found[1]))
    if not timedelta() < around < _MOST_AROUND:
        return 0
    read.around = around
    return found.end()


def _read(rest: str, today: date) -> _AmountParts | None:
    """Return the amount, the time and the day of a text; None where it says anything else."""
    read = _AmountParts()
    rest = rest.strip()
    while rest:
        taken = _taken(rest, read, today)
        if not taken:
            return None
        rest = rest[taken:].strip()
    return read


def _taken(rest: str, read: _AmountParts, today: date) -> int:
    """Take what a text begins with, and return how many characters that is; 0 for anything else."""
    return (
        _filler(rest)
        or _take_day(rest, read, today)
        or _take_time(rest, read)
        or _take_part(rest, read)
        or _take_around(rest, read)
        or _take_amounts(rest, read)
    )


def _take_amounts(rest: str, read: _AmountParts) -> int:
    """Take an amount, or the two of a range."""
    low = _MONEY.match(rest)
    if low is None or read.amounts:
        return 0
    dots = _UP_TO.match(rest, low.end())
    high = None if dots is None else _MONEY.match(rest, dots.end())
    if dots is not None and high is None:
        return 0
    read.amounts = tuple(_amount(found) for found in (low, high) if found is not None)
    read.is_sure = any(low[name] for name in ("before", "after", "unit", "thousands", "grouped"))
    return (high or low).end()


def _amount(found: re.Match[str]) -> int:
    if found["thousands"]:
        return int(Decimal(found["thousands"]) * 1_000)
    whole = int(re.sub(r"[,. ]", "", found["grouped"] or found["bare"]))
    return whole * UNITS.get(found["unit"] or "", 1)


def _filler(rest: str) -> int:
    found = _FILLER.match(rest)
    return 0 if found is None else found.end()


def _take_time(rest: str, read: _AmountParts) -> int:
    found = _TIME.match(rest)
    if found is None or read.clock is not None:
        return 0
    hour, minute = int(found[1]), int(found[2] or 0)
    named = next(filter(None, found.groups()[2:]), "")
    if hour >= 24 or (named and hour == 0):  # noqa: PLR2004 - hours of a day
        return 0
    read.clock = timedelta(hours=_hour(hour, named), minutes=minute)
    read.around = AROUND if found[2] else _AROUND_HOUR
    return found.end()


def _hour(hour: int, named: str) -> int:
    """Return the hour of the day; in Swahili hours are counted from six in the morning."""
    if not named or hour > 12:  # noqa: PLR2004 - counted from midnight whatever stands beside it
        return hour
    match named:
        case "am" | "pm":
            return hour % 12 + (12 if named == "pm" else 0)
        case "alfajiri" | "asubuhi":
            return (hour + 6) % 12
        case "mchana" | "alasiri":
            return hour + 6
        case "jioni":
            return hour + (6 if hour >= 9 else 18)  # noqa: PLR2004 - from three in the afternoon on
        case _:
            return (hour + 18) % 24


def _take_day(rest: str, read: _AmountParts, today: date) -> int:
    if read.day is not None:
        return 0
    read.day, taken = _spoken_day(rest, today)
    if read.day is None:
        read.day, taken = _dated_day(rest, today)
    return taken if read.day is not None else 0


def _spoken_day(rest: str, today: date) -> tuple[date | None, int]:
    word = re.match(r"[a-z]+", rest)
    if word is not None and word[0] in _AGO:
        return today - timedelta(days=_AGO[word[0]]), word.end()
    if word is None or word[0] not in _WEEKDAYS:
        return None, 0
    ago = (today.weekday() - _WEEKDAYS[word[0]]) % 7
    return today - timedelta(days=ago), word.end()


def _dated_day(rest: str, today: date) -> tuple[date | None, int]:
    iso, named, numbered = (one.match(rest) for one in (_ISO_DAY, _NAMED_DAY, _NUMBERED_DAY))
    if iso is not None:
        return _date(iso[1], int(iso[2]), iso[3], today), iso.end()
    if named is not None:
        return _date(named[3], MONTHS[named[2]], named[1], today), named.end()
    if numbered is not None and ("/" in numbered[0] or numbered[3]):
        return _date(numbered[3], int(numbered[2]), numbered[1], today), numbered.end()
    return None, 0


def _date(year: str | None, month: int, day: str, today: date) -> date | None:
    """Return a day; without a year the last one that is not yet to come."""
    try:
        if year is None:
            found = date(today.year, month, int(day))
            return found if found <= today else date(today.year - 1, month, int(day))
        return date(int(year) + (2000 if len(year) == 2 else 0), month, int(day))  # noqa: PLR2004
    except ValueError:
        return None
