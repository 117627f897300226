"""From a value to its text: money, instants, spans, and the one door for text from outside.

Pure: `now` is an argument and nothing here draws or reads. A `Line` is a row of runs; `text()`
makes Rich's Text of lines without ever parsing markup.
"""

from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta, timezone
from enum import Enum
from typing import TYPE_CHECKING, Final

import msgspec
from rich.cells import cell_len, chop_cells, set_cell_size

from kusanya.domain.business_day import EAT
from kusanya.privacy import mask_text
from kusanya.say import dated
from kusanya.text import safe
from kusanya.webhooks.schedule import Fuse
from kusanya_console.ui.language import translate
from kusanya_console.ui.vocabulary import MUTED, PLAIN, RULE, Run

if TYPE_CHECKING:
    from rich.text import Text

UTC: Final = timezone(timedelta(), "UTC")

Line = tuple[Run, ...]

_WEEK: Final = timedelta(days=6)
_HALF_YEAR: Final = timedelta(days=182)
_STAMP: Final = 9
_DATED_STAMP: Final = len("04 Mar 2026 15:24:07")
_SECOND: Final = timedelta(seconds=1)
_LABEL: Final = 12
_PREFIX: Final = len("evt_")


class TimeFormat(Enum):
    """How instants stand in lists."""

    EAT = "EAT"
    UTC = "UTC"
    AGE = "age"

    @property
    def after(self) -> "TimeFormat":
        """Return the format that the key shows next."""
        formats = list(TimeFormat)
        return formats[(formats.index(self) + 1) % len(formats)]


class Look(msgspec.Struct, frozen=True):
    """What a cell needs beside its record: the time it is, and how to write times."""

    now: datetime
    times: TimeFormat = TimeFormat.EAT
    is_dated: bool = False
    """True for what is kept or sent on: a later reader knows no "today"."""

    @property
    def zone(self) -> timezone:
        """Return the zone in which instants are written."""
        return UTC if self.times is TimeFormat.UTC else EAT


def cell(value: str | None, role: str = PLAIN, *, limit: int = 256) -> Run:
    """Return text from outside as a run: every such text enters a screen here."""
    return ("—", MUTED) if value is None else (format_text(value, limit), role)


def format_text(value: str, limit: int = 256) -> str:
    """Return text from outside for showing, every phone number in it masked."""
    return safe(mask_text(value), limit)


def format_money(amount: int, currency: str, *, expected: str | None = None) -> str:
    """Return an amount with its currency; without it where the column's heading says it."""
    figure = f"{amount:,}"
    if expected is None:
        return f"{safe(currency, 8)} {figure}"
    # In a column the figure must survive whatever stands for a currency.
    return figure if currency == expected else f"{fit(safe(currency, 8), 3)} {figure}"


def format_clock(look: Look) -> str:
    """Return the clock of the header, with its zone."""
    return f"{_written(look.now, look, '%a %H:%M:%S')} {look.zone.tzname(None)}"


def format_instant(at: datetime | None, look: Look) -> str:
    """Return an instant in nine cells at most: a time today, a named day before that."""
    if at is None:
        return "—"
    if look.is_dated:
        return _written(at, look, "%d %b %Y %H:%M:%S")
    if look.times is TimeFormat.AGE:
        return format_duration(look.now - at, parts=1)
    local, today = at.astimezone(look.zone), look.now.astimezone(look.zone)
    if local.date() == today.date():
        return f"{local:%H:%M:%S}"
    if abs(local.date() - today.date()) <= _WEEK:
        return _written(at, look, "%a %H:%M")
    return _written(at, look, "%d %b %y")


def format_date(at: datetime, look: Look) -> str:
    """Return the day of an instant, with its year."""
    return _written(at, look, "%d %b %Y")


def _written(at: datetime, look: Look, form: str) -> str:
    return translate(dated(at.astimezone(look.zone), form))


def format_listed_instant(at: datetime | None, look: Look) -> str:
    """Return an instant for a column of a list: with its time of day within half a year."""
    if at is None or look.times is TimeFormat.AGE:
        return format_instant(at, look)
    local, today = at.astimezone(look.zone), look.now.astimezone(look.zone)
    if _WEEK < abs(local.date() - today.date()) <= _HALF_YEAR:
        return _written(at, look, "%d %b %H:%M")
    return format_instant(at, look)


def format_moment(at: datetime | None, look: Look) -> str:
    """Return an instant for a card: its time of day always, its date unless it is today."""
    if at is None or look.is_dated or look.times is TimeFormat.AGE:
        return format_instant(at, look)
    local, today = at.astimezone(look.zone), look.now.astimezone(look.zone)
    if local.date() == today.date():
        return f"{local:%H:%M:%S}"
    is_of_this_year = local.year == today.year
    return _written(at, look, "%d %b %H:%M:%S" if is_of_this_year else "%d %b %y %H:%M")


def stamp(at: datetime | None, look: Look) -> str:
    """Return an instant in as many cells as any other instant of the same look."""
    return fit(format_instant(at, look), _DATED_STAMP if look.is_dated else _STAMP)


def format_exact_instant(at: datetime, look: Look) -> str:
    """Return an instant with its milliseconds, its day in front unless it is today."""
    local, today = at.astimezone(look.zone), look.now.astimezone(look.zone)
    time = f"{local:%H:%M:%S}.{local.microsecond // 1000:03}"
    if look.is_dated:
        return f"{format_date(at, look)} {time}"
    return time if local.date() == today.date() else f"{_written(at, look, '%d %b')} {time}"


def format_due(at: datetime, look: Look) -> str:
    """Return a coming instant and how far away it is."""
    local, today = at.astimezone(look.zone), look.now.astimezone(look.zone)
    clock = _written(at, look, "%H:%M:%S" if local.date() == today.date() else "%a %H:%M")
    left = at - look.now
    due = translate("due now")
    if left > timedelta():
        due = translate("in {time}", time=format_duration(left))
    return f"{clock}   {due}"


def format_duration(length: timedelta, *, parts: int = 2) -> str:
    """Return a length of time in words of at most `parts` units: 3 min 10 s."""
    seconds = max(0, length // _SECOND)
    units = (("d", 86_400), ("h", 3_600), ("min", 60), ("s", 1))
    said: list[str] = []
    for name, size in units:
        count, seconds = divmod(seconds, size)
        if count or said:
            said.append(f"{count} {name}")
    return " ".join(said[:parts]) or "0 s"


def format_fuse(found: Fuse, look: Look) -> str:
    """Return how an endpoint's disable fuse stands."""
    if found.blown_at is not None:
        return translate("blown {at}", at=format_instant(found.blown_at, look))
    if found.blows_at is None:
        return translate("not lit")
    if found.blows_at <= look.now:
        return translate("blows at the next failure")
    left = format_duration(found.blows_at - look.now)
    return translate("{at}, {time} left", at=format_instant(found.blows_at, look), time=left)


def format_gap(length: timedelta) -> str:
    """Return the gap between two moments as it stands between them: +182 ms, +20 s."""
    if length < _SECOND:
        return f"+{max(0, length // timedelta(milliseconds=1))} ms"
    return f"+{format_duration(length)}"


def format_elapsed(microseconds: int) -> str:
    """Return how long something took."""
    milliseconds = microseconds // 1000
    return f"{milliseconds:,} ms" if milliseconds else f"{microseconds} µs"


def format_percent(part: int, whole: int) -> str:
    """Return a share with one decimal, rounded down, or a dash where there is no whole."""
    if whole == 0:
        return "—"
    tenths = part * 1000 // whole
    return f"{tenths // 10}.{tenths % 10} %"


def fit(value: str, width: int, *, right: bool = False) -> str:
    """Return `value` in exactly `width` cells; a cut is marked."""
    length = cell_len(value)
    if length > width:
        return set_cell_size(value, max(width - 1, 0)) + "…"[:width]
    pad = " " * (width - length)
    return pad + value if right else value + pad


def labelled(label: str, *runs: Run) -> Line:
    """Return a line of a card: a muted label, then what it says."""
    return ((f"{translate(label):<{_LABEL - 1}} ", MUTED), *runs)


def fit_id(value: str, width: int) -> str:
    """Return an identifier in exactly `width` cells; a cut keeps its prefix and its end.

    Many services begin their ids with the time, so the end is what tells two of them apart.
    """
    if cell_len(value) <= width or width <= _PREFIX + 1:
        return fit(value, width)
    return (
        f"{fit(value[:_PREFIX], _PREFIX)}…{fit(value[_PREFIX + 1 - width :], width - _PREFIX - 1)}"
    )


def wrapped(
    words: str, width: int, *, indent: int = 0, label: str = "", role: str = PLAIN
) -> list[Line]:
    """Return a sentence over as many lines as it needs, hanging under its label."""
    indent = indent or (_LABEL if label else 0)
    pieces = _wrap(words, max(width - indent, 12))
    head = (f"{translate(label):<{indent}}", MUTED)
    return [
        (head if n == 0 else (" " * indent, PLAIN), (piece, role)) for n, piece in enumerate(pieces)
    ]


def _wrap(words: str, width: int) -> list[str]:
    # textwrap counts letters, and some letters are two cells wide.
    lines = [""]
    for word in words.split(" "):
        for part in chop_cells(word, width) or [""]:
            joined = f"{lines[-1]} {part}" if lines[-1] else part
            if cell_len(joined) <= width:
                lines[-1] = joined
            else:
                lines.append(part)
    return lines


def rule(title: str, width: int) -> Line:
    """Return a hairline that names what stands under it."""
    said = translate(title)
    return ((f"{said} ", MUTED), ("─" * max(width - cell_len(said) - 1, 0), RULE))


def spread(left: Sequence[Run], right: Sequence[Run], width: int) -> Line:
    """Return one line with `right` at its right edge, as long as both fit."""
    used = sum(cell_len(piece) for piece, _ in (*left, *right))
    return (*left, (" " * max(width - used, 1), PLAIN), *right)


def columns(cells: Iterable[tuple[Run, int]], *, gap: int = 2) -> Line:
    """Return runs in columns; a negative width aligns to the right."""
    line: list[Run] = []
    for (piece, role), width in cells:
        line.append((fit(piece, abs(width), right=width < 0), role))
        line.append((" " * gap, PLAIN))
    return tuple(line[:-1])


def plain(lines: Iterable[Line]) -> str:
    """Return lines as plain text, as they are copied or saved."""
    return "\n".join("".join(piece for piece, _ in line).rstrip() for line in lines)


def text(lines: Iterable[Line]) -> "Text":
    """Return lines as Rich's Text; runs are appended, never parsed."""
    from rich.text import Text  # commands that print lines do without it

    shown = Text(no_wrap=True, overflow="ellipsis", end="")
    for number, line in enumerate(lines):
        if number:
            shown.append("\n")
        for piece, role in line:
            shown.append(piece, role or None)
    return shown
