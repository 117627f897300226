"""The day as the books have it: East Africa Time, which has no summer time.

The service itself speaks UTC alone.
"""

import re
from datetime import date, datetime, time, timedelta, timezone
from typing import Final

from kusanya.say import Said

EAT: Final = timezone(timedelta(hours=3), "EAT")
"""East Africa Time: the day turns at 21:00Z."""
YEARS: Final = range(1900, 9999)
"""Of days that people and files name: others, as 0001-01-01 and 9999-12-31, are written for none,
and no arithmetic could go beyond them."""
_SPOKEN: Final = re.compile(
    r"(?:(?P<day>today|yesterday|[0-9]{4}-[0-9]{2}-[0-9]{2}) )?"
    r"(?P<hour>[0-9]{1,2}):(?P<minute>[0-9]{2})(?::(?P<second>[0-9]{2}))?"
)


def day_start(instant: datetime) -> datetime:
    """Return the first instant, in EAT, of the day on which an aware `instant` lies."""
    return instant.astimezone(EAT).replace(hour=0, minute=0, second=0, microsecond=0)


def format_instant(instant: datetime, *, now: datetime) -> str:
    """Return an instant in EAT: the time of today, else the day and the time."""
    local = instant.astimezone(EAT)
    if local.date() == now.astimezone(EAT).date():
        return f"{local:%H:%M:%S}"
    return f"{local:%Y-%m-%d %H:%M:%S}"


def read_instant(text: str, *, now: datetime) -> datetime:
    """Return the instant that a person names: "today 02:13" in EAT, or ISO 8601 with its zone.

    The day is today, yesterday or a date such as 2026-03-31, and today where it is left out.
    Raises ValueError, with what to write instead.
    """
    spoken = _SPOKEN.fullmatch(text.strip())
    try:
        if spoken is None:
            instant = datetime.fromisoformat(text)
            if instant.tzinfo is not None and instant.year in YEARS:
                return instant
        else:
            hour, minute, second = spoken["hour"], spoken["minute"], spoken["second"] or 0
            at = time(int(hour), int(minute), int(second))
            return datetime.combine(_day_named(spoken["day"] or "today", now), at, EAT)
    except ValueError:
        pass
    raise ValueError(
        Said(
            "a time is 'today 02:13' or '2026-03-31 02:13' in East Africa, or "
            "2026-03-30T23:13:00Z, not {text}"
        ).of(text=f"{text!r}")
    )


def read_day(text: str) -> date:
    """Return the day that a person names as 2026-03-31; raises ValueError for anything else."""
    day = date.fromisoformat(text)
    if day.year not in YEARS:
        raise ValueError(text)
    return day


def _day_named(word: str, now: datetime) -> date:
    if word in {"today", "yesterday"}:
        return (day_start(now) - timedelta(days=word == "yesterday")).date()
    return read_day(word)
