"""What a filter is made of: keys, values, terms. Pure."""

from collections.abc import Mapping
from datetime import date, datetime, time, timedelta
from typing import Final

import msgspec

from kusanya.domain.business_day import EAT, day_start
from kusanya.domain.collection_columns import KEY_TYPES, FieldType

UNITS: Final = {"s": 1, "m": 60, "h": 3_600, "d": 86_400}
"""The units of an age, each in seconds."""


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

    def contains(self, number: float) -> bool:
        """Return whether `number` lies in the range."""
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


def _first(when: time | date, now: datetime) -> datetime:
    if isinstance(when, time):
        return day_start(now) + timedelta(hours=when.hour, minutes=when.minute)
    return datetime.combine(when, time(), tzinfo=EAT)


def _length(when: time | date) -> timedelta:
    return timedelta(minutes=1) if isinstance(when, time) else timedelta(days=1)
