"""Dates as people and programs write them, in English and in Swahili.

Day first or month first is one question for a whole column: a day above 12 answers it, and a row
that says otherwise is refused. Where nothing answers it, nothing is guessed.
"""

import re
from collections import Counter
from datetime import datetime, timedelta, timezone
from typing import Any, Final
from zoneinfo import ZoneInfo

import msgspec
import pandas as pd

from kusanya.domain.business_day import YEARS
from kusanya.domain.months import ENGLISH, MONTHS
from kusanya_books.columns import DType

_CLOCK: Final = r"""
    (?:[T,\s]+ (?P<hour>\d{1,2}):(?P<minute>\d{2})(?::(?P<second>\d{2})(?:[.,](?P<part>\d{1,9}))?)?
    \s*(?P<half>[AaPp]\.?[Mm]\.?)? \s*(?P<offset>Z|UTC|EAT|[+-]\d{2}:?\d{2})? )?
"""
_DAY: Final = r"(?:[A-Za-z]{3,9}[.,]?\s+)?"
_FORMS: Final = (
    re.compile(
        rf"{_DAY} (?P<year>\d{{4}})[-/.](?P<month>\d{{1,2}})[-/.](?P<day>\d{{1,2}}) {_CLOCK}",
        re.VERBOSE,
    ),
    re.compile(
        rf"{_DAY} (?P<day>\d{{1,2}})[-/.\s]+(?P<name>[A-Za-z]{{3,9}})\.?[-/.,\s]+"
        rf"(?P<year>\d{{4}}|\d{{2}}) {_CLOCK}",
        re.VERBOSE,
    ),
    re.compile(
        rf"(?P<name>[A-Za-z]{{3,9}})\.?\s+(?P<day>\d{{1,2}}),?\s+(?P<year>\d{{4}}) {_CLOCK}",
        re.VERBOSE,
    ),
    re.compile(
        rf"{_DAY} (?P<first>\d{{1,2}})[-/.](?P<second_>\d{{1,2}})[-/.]"
        rf"(?P<year>\d{{4}}|\d{{2}}) {_CLOCK}",
        re.VERBOSE,
    ),
    re.compile(rf"(?P<year>20\d{{2}})(?P<month>\d{{2}})(?P<day>\d{{2}}) {_CLOCK}", re.VERBOSE),
)
NO_DATE: Final = "is not a date as the mapping says they are written"
EITHER: Final = (
    "may have the day or the month first, and so may every date of the column: "
    'say date_order = "day" or "month" in the mapping'
)
SWAPPED: Final = (
    "was turned to a date by a spreadsheet, perhaps with day and month exchanged, "
    'as the texts beside it show: say excel_dates = "right" or "swapped" in the mapping'
)
_SERIALS: Final = (20_000, 80_000)
"""Days since 1899-12-30 that lie between 1954 and 2119."""
_EPOCH: Final = datetime(1899, 12, 30)  # noqa: DTZ001 - a spreadsheet knows no zone
_TWELVE: Final = 12


class Dates(msgspec.Struct, frozen=True):
    """A column of dates: the instants, why a cell is none, and whether all are whole days."""

    instants: Any
    reasons: Any
    days_only: bool
    day_first: bool | None = None
    """Which way dates of two small numbers were read; None where no cell needed that."""


class _DateCell(msgspec.Struct, frozen=True):
    """One cell: its parts, or the two numbers whose order the column decides."""

    year: int
    month: int
    day: int
    open: bool
    """Whether month and day may be exchanged; then `day` is the first number."""
    clock: timedelta | None
    offset: timedelta | None


def read(
    text: Any,
    *,
    zone: str,
    was_date: Any = None,
    was_number: Any = None,
    swapped: bool | None = None,
    day_first: bool | None = None,
) -> Dates:
    """Read a column of dates, one form for all that could be read two ways.

    `was_date` and `was_number` tell which cells were dates or numbers in a workbook; `swapped` says
    whether its dates have day and month exchanged, None where nobody said.
    """
    cells = [None if pd.isna(cell) else str(cell) for cell in text]
    dated = _flags(was_date, len(cells))
    numbered = _flags(was_number, len(cells))
    parts = _parts(cells, numbered)
    texts = [part for part, was in zip(parts, dated, strict=True) if part and part.open and not was]
    first, is_mixed = (day_first, False) if day_first is not None else _order(texts)
    suspect = swapped is None and _looks_swapped(texts, parts, dated)
    zone_of = ZoneInfo(zone)
    found = [
        _instant(part, first, zone_of, was=was, swapped=bool(swapped), suspect=suspect)
        for part, was in zip(parts, dated, strict=True)
    ]
    reasons = [
        None if cell is None else reason for cell, (_, reason) in zip(cells, found, strict=True)
    ]
    if is_mixed:
        named = _example(cells, parts, text.index, day_first=bool(first))
        reasons = [
            f"is written another way than row {named}" if _against(part, first) else reason
            for part, reason in zip(parts, reasons, strict=True)
        ]
    at = pd.Series([instant for instant, _ in found], index=text.index, dtype="object")
    real = [part for part in parts if part is not None]
    return Dates(
        instants=pd.to_datetime(at, utc=True).astype(DType.INSTANT.pandas),
        reasons=pd.Series(reasons, index=text.index, dtype="object").astype(DType.TEXT.pandas),
        days_only=all(part.clock is None or not part.clock for part in real)
        and all(part.offset is None for part in real),
        day_first=first if texts else None,
    )


def _flags(which: Any, rows: int) -> list[bool]:
    return [False] * rows if which is None else [bool(flag) for flag in which]


def _parts(cells: list[str | None], numbered: list[bool]) -> list[_DateCell | None]:
    """Return what each cell says, a text that stands in several cells read once."""
    known = {cell: _written(cell) for cell in set(cells) if cell is not None}
    return [
        None if cell is None else _of_serial(cell) if serial else known[cell]
        for cell, serial in zip(cells, numbered, strict=True)
    ]


def _written(cell: str) -> _DateCell | None:
    cell = " ".join(cell.split())
    for form in _FORMS:
        found = form.fullmatch(cell)
        if found is None:
            continue
        parts = found.groupdict()
        year = int(parts["year"])
        year += 2000 if len(parts["year"]) == 2 else 0  # noqa: PLR2004 - digits
        if year not in YEARS:
            return None
        if parts.get("name") is not None:
            month = MONTHS.get(parts["name"].casefold())
            if month is None:
                return None
            day = int(parts["day"])
        elif parts.get("first") is not None:
            day, month = int(parts["first"]), int(parts["second_"])
        else:
            day, month = int(parts["day"]), int(parts["month"])
        clock = _clock(parts)
        if parts["hour"] is not None and clock is None:
            return None
        open_ = parts.get("first") is not None and day != month
        return _DateCell(year, month, day, open_, clock, _offset(parts["offset"]))
    return None


def _clock(parts: dict[str, Any]) -> timedelta | None:
    if parts["hour"] is None:
        return None
    hour, half = int(parts["hour"]), (parts["half"] or "").casefold()
    if half:
        if not 1 <= hour <= _TWELVE:
            return None
        hour = hour % _TWELVE + (_TWELVE if half.startswith("p") else 0)
    minute, second = int(parts["minute"]), int(parts["second"] or 0)
    if hour > 23 or minute > 59 or second > 59:  # noqa: PLR2004 - of a clock
        return None
    micros = int(f"{parts['part'] or '0':0<6.6}")
    return timedelta(hours=hour, minutes=minute, seconds=second, microseconds=micros)


def _offset(text: str | None) -> timedelta | None:
    if text is None or text == "EAT":
        return None if text is None else timedelta(hours=3)
    if text in {"Z", "UTC"}:
        return timedelta(0)
    span = timedelta(hours=int(text[1:3]), minutes=int(text[-2:]))
    return -span if text[0] == "-" else span


def _of_serial(cell: str) -> _DateCell | None:
    try:
        days = float(cell)
    except ValueError:
        return _written(cell)
    if not _SERIALS[0] <= days < _SERIALS[1]:
        return _written(cell)
    at = _EPOCH + timedelta(seconds=round(days * 86_400))
    clock = timedelta(hours=at.hour, minutes=at.minute, seconds=at.second)
    return _DateCell(at.year, at.month, at.day, open=False, clock=clock, offset=None)


def _order(texts: list[_DateCell]) -> tuple[bool | None, bool]:
    """Return whether the day stands first, and whether some row says otherwise."""
    proofs = Counter(
        part.day > _TWELVE for part in texts if (part.day > _TWELVE) != (part.month > _TWELVE)
    )
    if not proofs:
        return None, False
    return proofs[True] >= proofs[False], len(proofs) > 1


def _against(part: _DateCell | None, first: bool | None) -> bool:  # noqa: FBT001 - private
    """Return whether a cell proves the other order."""
    if part is None or not part.open:
        return False
    return (part.month if first else part.day) > _TWELVE


def _example(cells: list[str | None], parts: Any, index: Any, *, day_first: bool) -> Any:
    places = (
        place
        for place, part in enumerate(parts)
        if part is not None and part.open and (part.day if day_first else part.month) > _TWELVE
    )
    return index[next(places, 0)] if cells else 0


def _looks_swapped(texts: list[_DateCell], parts: Any, dated: list[bool]) -> bool:
    """Return whether a spreadsheet took every date it could read the wrong way.

    It leaves 13/05/2026 as text and makes 5 December of 12/05/2026: then no text has a day of 12 or
    less, and no date one above.
    """
    taken = [part for part, was in zip(parts, dated, strict=True) if was and part is not None]
    return (
        bool(taken)
        and bool(texts)
        and all(part.day > _TWELVE or part.month > _TWELVE for part in texts)
        and all(part.day <= _TWELVE for part in taken)
    )


def _instant(
    part: _DateCell | None,
    first: bool | None,  # noqa: FBT001 - private
    zone: ZoneInfo,
    *,
    was: bool,
    swapped: bool,
    suspect: bool,
) -> tuple[datetime | None, str | None]:
    if part is None:
        return None, NO_DATE
    if was and suspect:
        return None, SWAPPED
    if part.open and first is None:
        return None, EITHER
    month, day = part.month, part.day
    if (part.open and first is False) or (was and swapped):
        month, day = day, month
    try:
        bare = datetime(part.year, month, day) + (part.clock or timedelta(0))  # noqa: DTZ001
    except ValueError:
        return None, NO_DATE
    if part.offset is not None:
        return bare.replace(tzinfo=timezone(part.offset)), None
    return bare.replace(tzinfo=zone), None


def in_english(text: Any) -> Any:
    """Return a column with the Swahili names of months in English, for a form that spells them."""
    return text.str.replace(
        r"[A-Za-z]{3,}",
        lambda found: (
            ENGLISH[MONTHS[found[0].casefold()] - 1][: 3 if len(found[0]) == 3 else None].title()  # noqa: PLR2004
            if found[0].casefold() in MONTHS
            else found[0]
        ),
        regex=True,
    )
