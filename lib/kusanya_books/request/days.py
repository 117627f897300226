"""The business day: computed here, once, in Python, and carried as a column ever after.

Books are kept in East Africa Time, UTC+3 without summer time, so the day turns at 21:00Z. Day D is
[D 00:00 + cutoff, D+1 00:00 + cutoff); a negative cutoff turns the day early.
"""

import re
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from typing import Any, Final

import msgspec
import pandas as pd

from kusanya.domain.business_day import EAT, read_day

_CUTOFF: Final = re.compile(r"(?P<sign>[+-]?)(?P<hours>\d{1,2}):(?P<minutes>[0-5]\d)")
_MONTH: Final = re.compile(r"(?P<year>\d{4})-(?P<month>\d{2})")
_HALF_DAY: Final = timedelta(hours=12)
DAY: Final = timedelta(days=1)


def each_day(first: date, last: date) -> Iterator[date]:
    """Return the days from one to another, both included."""
    return (first + timedelta(days=number) for number in range((last - first).days + 1))


def cutoff(text: str) -> timedelta:
    """Return a cutoff written as 00:00, 02:30 or -03:00; at most twelve hours either way.

    Raises ValueError for anything else.
    """
    found = _CUTOFF.fullmatch(text.strip())
    if found is None:
        raise ValueError(f"a cutoff is written as 00:00, 02:30 or -03:00, not {text!r}")
    span = timedelta(hours=int(found["hours"]), minutes=int(found["minutes"]))
    if span > _HALF_DAY:
        raise ValueError(f"a cutoff is at most 12:00 either way, not {text!r}")
    return -span if found["sign"] == "-" else span


def format_cutoff(span: timedelta) -> str:
    """Return a cutoff in the form that `cutoff` reads."""
    minutes = abs(span) // timedelta(minutes=1)
    return f"{'-' if span < timedelta(0) else ''}{minutes // 60:02d}:{minutes % 60:02d}"


def business_day(at: datetime, *, cutoff: timedelta = timedelta(0)) -> date:
    """Return the business day of an aware instant."""
    return (at.astimezone(EAT) - cutoff).date()


def business_days(instants: "pd.Series[Any]", *, cutoff: timedelta = timedelta(0)) -> Any:
    """Return the business day of every instant as a naive midnight; missing stays missing."""
    shifted = instants.dt.tz_convert("UTC").dt.tz_localize(None) + EAT.utcoffset(None) - cutoff
    return shifted.dt.normalize().astype("datetime64[us]")


class Period(msgspec.Struct, frozen=True, kw_only=True):
    """Business days from `first` to `last`, both included, with the cutoff they turn at."""

    first: date
    last: date
    cutoff: timedelta = timedelta(0)

    def __post_init__(self) -> None:
        if self.last < self.first:
            raise ValueError(f"the period ends on {self.last}, before it begins on {self.first}")

    @property
    def begins(self) -> datetime:
        """Return its first instant, UTC."""
        return _midnight(self.first) + self.cutoff

    @property
    def ends(self) -> datetime:
        """Return the first instant after it, UTC."""
        return _midnight(self.last + DAY) + self.cutoff

    def widened(self, days: int) -> "Period":
        """Return the period with `days` more on either side."""
        return Period(
            first=self.first - days * DAY, last=self.last + days * DAY, cutoff=self.cutoff
        )

    def __str__(self) -> str:
        span = f"{self.first} to {self.last}" if self.first != self.last else f"{self.first}"
        return f"{span}, EAT, cutoff {format_cutoff(self.cutoff)}"


def period(text: str, *, cutoff: timedelta = timedelta(0)) -> Period:
    """Return a month (2026-03), a day (2026-03-05) or a span (2026-03-01..2026-03-15).

    Raises ValueError for anything else.
    """
    first, dots, last = text.strip().partition("..")
    if dots:
        return Period(first=_day(first), last=_day(last), cutoff=cutoff)
    found = _MONTH.fullmatch(first)
    if found is None:
        return Period(first=_day(first), last=_day(first), cutoff=cutoff)
    begin = _day(f"{first}-01")
    after = date(begin.year + begin.month // 12, begin.month % 12 + 1, 1)
    return Period(first=begin, last=after - DAY, cutoff=cutoff)


NAMED: Final = ("yesterday", "last-week", "last-month")


def named_period(text: str, *, now: datetime, cutoff: timedelta = timedelta(0)) -> Period | None:
    """Return the period called yesterday, last-week (Monday to Sunday) or last-month, else None.

    Counted from the business day of `now`.
    """
    today = business_day(now, cutoff=cutoff)
    word = text.strip().lower()
    if word == "yesterday":
        return Period(first=today - DAY, last=today - DAY, cutoff=cutoff)
    if word == "last-week":
        monday = today - today.weekday() * DAY
        return Period(first=monday - 7 * DAY, last=monday - DAY, cutoff=cutoff)
    if word == "last-month":
        return month_of(today.replace(day=1) - DAY, cutoff=cutoff)
    return None


def month_of(day: date, *, cutoff: timedelta = timedelta(0)) -> Period:
    """Return the calendar month that holds `day`."""
    return period(f"{day:%Y-%m}", cutoff=cutoff)


def _day(text: str) -> date:
    try:
        return read_day(text.strip())
    except ValueError:
        raise ValueError(
            "a period is written as 2026-03, 2026-03-05 or 2026-03-01..2026-03-15"
        ) from None


def _midnight(day: date) -> datetime:
    return datetime(day.year, day.month, day.day, tzinfo=EAT).astimezone(UTC)
