"""What a line of the health report leads to, and which of them the cursor may stand on."""

from collections.abc import Iterable

import msgspec

from kusanya.filters import Filter
from kusanya_console.ui.format import Line


class HealthTarget(msgspec.Struct, frozen=True, kw_only=True):
    """What stands behind a line: its name for people, where enter leads, what A acknowledges."""

    key: str
    """The same for the same thing in every report: the cursor stays on it."""
    name: str
    screen: str = ""
    narrowed: Filter = Filter()
    story: str = ""
    """The collection whose story enter opens, where it is one payment."""
    alarm: str = ""


class HealthEntry(msgspec.Struct, frozen=True):
    """One line of the report; lines of one sentence share a target, the first bears the cursor."""

    line: Line
    target: HealthTarget | None = None
    first: bool = True


class HealthSection(msgspec.Struct, frozen=True):
    """One part of the report, which zoom can show alone."""

    title: str
    entries: tuple[HealthEntry, ...]


def plainly(lines: Iterable[Line]) -> list[HealthEntry]:
    """Return lines that lead nowhere."""
    return [HealthEntry(line) for line in lines]


def leading(lines: Iterable[Line], target: HealthTarget) -> list[HealthEntry]:
    """Return lines that lead to one thing."""
    return [HealthEntry(line, target, first=n == 0) for n, line in enumerate(lines)]


def targets(sections: Iterable[HealthSection]) -> list[HealthTarget]:
    """Return what the cursor may stand on, from above."""
    return [
        entry.target
        for section in sections
        for entry in section.entries
        if entry.target is not None and entry.first
    ]
