"""The first line of every screen: which mode, where, how fresh."""

from datetime import datetime, timedelta

import msgspec
from rich.cells import cell_len

from kusanya.alarms.alarm import Severity
from kusanya.alarms.inputs import AlarmInputs, format_unknown
from kusanya.alarms.rules import in_header, raised
from kusanya.say import plural
from kusanya.text import safe
from kusanya.wire import Mode
from kusanya_console.ui.format import Line, Look, format_clock, format_date, format_duration, spread
from kusanya_console.ui.language import translate
from kusanya_console.ui.vocabulary import FAILED, MUTED, PLAIN, STRONG, WARN, Run, mode_words
from kusanya_console.widgets.sheet import Sheet

_STORE = 36
_STALE: timedelta = timedelta(seconds=10)


class StatusBarState(msgspec.Struct, frozen=True, kw_only=True):
    """Everything the status line says, except the time it is."""

    mode: Mode
    crumb: str
    unknown: int = 0
    alarms: tuple[Run, ...] = ()
    """What somebody has to look after, the most urgent first."""
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
    profile: str = ""
    """Its name is never cut: it tells which money one looks at."""
    store: str = ""
    past: str = ""
    """What is being done with the past; empty where the store is looked at as it is now."""


def alarm_words(inputs: AlarmInputs) -> tuple[Run, ...]:
    """Return what is wrong now in the few words of the status line."""
    alarms = raised(inputs, format_time=str)  # no time stands in these words
    return tuple((one.words, alarm_role(one.severity)) for one in in_header(alarms))


def alarm_role(severity: Severity) -> str:
    """Return the role in which an alarm is shown."""
    return FAILED if severity is Severity.URGENT else WARN


class StatusLine(Sheet):
    """One line; words are dropped at its right before any that must stay."""

    def show_state(self, state: StatusBarState, look: Look) -> None:
        """Show `state` as of `look.now`."""
        self.show(lambda width: [line(state, look, width)])


def freshness(state: StatusBarState, look: Look) -> Run:
    """Return in words how old the picture is."""
    if state.lost_at is not None:
        at = state.lost_at.astimezone(look.zone)
        if state.updated_at is None:
            return translate("store unreadable since {at}", at=f"{at:%H:%M:%S}"), FAILED
        return translate("store lost {at}, last known shown", at=f"{at:%H:%M:%S}"), FAILED
    if state.updated_at is None or state.past:
        # How old the past is says the beginning of the line.
        return "" if state.past else translate("reading the store"), MUTED
    if state.paused_at is not None:
        held = format_duration(look.now - state.paused_at, parts=1)
        one, many = "paused {age}, 1 change waits", "paused {age}, {count} changes wait"
        return translate(plural(state.waiting, one, many, age=held)), WARN
    if state.behind >= timedelta(seconds=1):
        return translate("feed {age} behind", age=format_duration(state.behind, parts=1)), WARN
    age = look.now - state.updated_at
    said = translate("updated {age} ago", age=format_duration(age, parts=1))
    return said, WARN if age > _STALE else MUTED


def line(state: StatusBarState, look: Look, width: int) -> Line:
    """Return the status line for a width; mode, unknown count and freshness always stay."""
    left, clock = _beginning(state, look)
    access = (translate("read-only"), MUTED) if state.read_only else (translate("WRITES ON"), WARN)
    # The end of an address tells stores apart; its beginning rarely does.
    named, profile = safe(state.store, 400), safe(state.profile, 24)
    room = _STORE - len(profile)
    address = named if len(named) <= room else f"…{named[1 - room :]}"
    store = (" ".join(part for part in (profile, address) if part), MUTED)
    right: list[Run] = [freshness(state, look)]
    if state.unknown:
        unknown = format_unknown(state.unknown)
        right.insert(0, (translate("? {count} unknown", count=unknown), WARN))
    left, right, shown = _with_alarms(left, right, state, width)
    right[-1:-1] = shown
    for extra in (access, (clock, PLAIN), store):
        if extra[0] and _width([*left, *right, extra]) + 3 * (len(right) + 2) <= width:
            right.append(extra)
    if right[-1] == store:
        right.insert(-2, right.pop())
    apart: list[Run] = []
    for run in right:
        apart += [run, ("   ", PLAIN)]
    return spread(left, [*apart[:-1], (" ", PLAIN)], width)


def _with_alarms(
    left: list[Run], right: list[Run], state: StatusBarState, width: int
) -> tuple[list[Run], list[Run], list[Run]]:
    """Return both sides and the alarms between them, shortened until none goes unsaid."""
    alarms = [(translate(words), role) for words, role in state.alarms]
    fresh, role = right[-1]
    short = [*right[:-1], (fresh.partition(",")[0], role)]
    # The key bar names the screen too; an alarm stands nowhere else.
    shapes = ((left, right), (left, short), (left[:-1], short))
    # The most urgent one is named where any shape has room for its words, else all are counted.
    for named in (1, 0):
        for beginning, end in shapes:
            room = width - _width([*beginning, *end]) - 3 * len(end) - 2
            shown = _fitting(alarms, room, named=named)
            if shown or not alarms:
                return beginning, end, shown
    return left, right, []


def _fitting(alarms: list[Run], room: int, *, named: int) -> list[Run]:
    """Return the alarms for which there is room, `named` at least, the rest counted."""
    for kept in range(len(alarms), named - 1, -1):
        rest = len(alarms) - kept
        shown = alarms[:kept] + (
            [(f"✕ {translate('+{count} on 4', count=rest)}", FAILED)] if rest else []
        )
        if _width(shown) + 3 * len(shown) <= room:
            return shown
    return []


def _beginning(state: StatusBarState, look: Look) -> tuple[list[Run], str]:
    """Return what the line begins with, and the clock for where there is room."""
    word, role = mode_words(state.mode)
    mode: list[Run] = [
        ("▌", role), (word, role), ("▐", role), ("  ", PLAIN), (translate(state.crumb), STRONG),
    ]  # fmt: skip
    if not state.past:
        return [(" ", PLAIN), *mode], format_clock(look) + (
            f" {translate('virtual')}" if state.virtual else ""
        )
    # Before everything else, and with its date: nobody may take the past for now.
    date = format_date(look.now, look)
    banner = f"▌{state.past}▐ {date} {format_clock(look).partition(' ')[2]} "
    return [(" ", PLAIN), (banner, WARN), *mode], ""


def _width(runs: list[Run]) -> int:
    return sum(cell_len(piece) for piece, _ in runs)
