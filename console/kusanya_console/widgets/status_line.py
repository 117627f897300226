"""The first line of every screen: which mode, where, how fresh."""

from datetime import datetime, timedelta

import msgspec
from rich.cells import cell_len

from kusanya.text import safe
from kusanya.wire import Mode
from kusanya_console.held_up import many
from kusanya_console.present import Line, Look, span, spread, wall
from kusanya_console.widgets.sheet import Sheet
from kusanya_console.words import FAILED, MUTED, PLAIN, STRONG, WARN, Run, mode_words

_STORE = 36
_STALE: timedelta = timedelta(seconds=10)


class Standing(msgspec.Struct, frozen=True, kw_only=True):
    """Everything the status line says, except the time it is."""

    mode: Mode
    crumb: str
    unknown: int = 0
    failing: int = 0
    silent: bool = False
    held_up: int = 0
    """Creations that nobody works on any more."""
    updated_at: datetime | None = None
    """When the store was last read; None before the first time."""
    paused_at: datetime | None = None
    waiting: int = 0
    """Changes that a paused view has not shown."""
    behind: timedelta = timedelta()
    lost_at: datetime | None = None
    """Since when the store cannot be read."""
    read_only: bool = True
    virtual: bool = False
    """True when the clock is not the machine's own."""
    store: str = ""
    replay: str = ""
    """What a recording is doing; empty where the store is looked at as it is now."""


class StatusLine(Sheet):
    """One line; words are dropped at its right before any that must stay."""

    def tell(self, standing: Standing, look: Look) -> None:
        """Show `standing` as of `look.now`."""
        self.show(lambda width: [line(standing, look, width)])


def freshness(standing: Standing, look: Look) -> Run:
    """Return in words how old the picture is."""
    if standing.lost_at is not None:
        at = standing.lost_at.astimezone(look.zone)
        if standing.updated_at is None:
            return f"store unreadable since {at:%H:%M:%S}", FAILED
        return f"store lost {at:%H:%M:%S}, last known shown", FAILED
    if standing.updated_at is None or standing.replay:
        # How old a recording is says the beginning of the line.
        return "" if standing.replay else "reading the store", MUTED
    if standing.paused_at is not None:
        held = span(look.now - standing.paused_at, parts=1)
        return f"paused {held}, {standing.waiting:,} changes wait", WARN
    if standing.behind >= timedelta(seconds=1):
        return f"feed {span(standing.behind, parts=1)} behind", WARN
    age = look.now - standing.updated_at
    return f"updated {span(age, parts=1)} ago", WARN if age > _STALE else MUTED


def line(standing: Standing, look: Look, width: int) -> Line:
    """Return the status line for a width; mode, unknown count and freshness always stay."""
    left, clock = _beginning(standing, look)
    access = ("read-only", MUTED) if standing.read_only else ("WRITES ON", WARN)
    # The end of an address tells stores apart; its beginning rarely does.
    named = safe(standing.store, 400)
    store = (named if len(named) <= _STORE else f"…{named[1 - _STORE :]}", MUTED)
    right: list[Run] = [freshness(standing, look)]
    if standing.unknown:
        unknown = "99+" if standing.unknown > 99 else f"{standing.unknown}"  # noqa: PLR2004
        right.insert(0, (f"? {unknown} unknown", WARN))
    for alarm in _alarms(standing):
        if _width([*left, *right, alarm]) + 3 * (len(right) + 2) <= width:
            right.insert(-1, alarm)
    for extra in (access, (clock, PLAIN), store):
        if extra[0] and _width([*left, *right, extra]) + 3 * (len(right) + 2) <= width:
            right.append(extra)
    if right[-1] == store:
        right.insert(-2, right.pop())
    apart: list[Run] = []
    for run in right:
        apart += [run, ("   ", PLAIN)]
    return spread(left, [*apart[:-1], (" ", PLAIN)], width)


def _alarms(standing: Standing) -> list[Run]:
    alarms: list[Run] = []
    if standing.failing:
        alarms.append((f"✕ {standing.failing} failing", FAILED))
    if standing.silent:
        alarms.append(("◐ silent", WARN))
    if standing.held_up:
        alarms.append((f"◌ {many(standing.held_up)} held up", WARN))
    return alarms


def _beginning(standing: Standing, look: Look) -> tuple[list[Run], str]:
    """Return what the line begins with, and the clock for where there is room."""
    word, role = mode_words(standing.mode)
    mode: list[Run] = [
        ("▌", role), (word, role), ("▐", role), ("  ", PLAIN), (standing.crumb, STRONG),
    ]  # fmt: skip
    if not standing.replay:
        return [(" ", PLAIN), *mode], wall(look) + (" virtual" if standing.virtual else "")
    # Before everything else, and with its date: nobody may take a recording for now.
    date = f"{look.now.astimezone(look.zone):%d %b %Y}"
    told = f"▌{standing.replay}▐ {date} {wall(look).partition(' ')[2]} "
    return [(" ", PLAIN), (told, WARN), *mode], ""


def _width(runs: list[Run]) -> int:
    return sum(cell_len(piece) for piece, _ in runs)
