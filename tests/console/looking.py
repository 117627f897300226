"""What stands on the terminal of a console that a test has opened, and how a test types into it."""

from collections.abc import Awaitable, Callable
from typing import Any

from textual.app import App
from textual.pilot import Pilot

from kusanya_console.application.app import ConsoleApp

Settled = Callable[[Pilot[Any]], Awaitable[None]]
"""The conftest's waiting for everything a key has set going."""


def lines(app: App[Any]) -> list[str]:
    """Return the lines on the terminal as plain text."""
    return [
        "".join(piece.text for piece in line) for line in app.screen._compositor.render_strips()
    ]


def shown(app: App[Any]) -> str:
    """Return the terminal as plain text."""
    return "\n".join(lines(app))


async def press(pilot: Pilot[Any], settled: Settled, *keys: str) -> None:
    """Press keys one by one, each after everything before it has settled."""
    for key in keys:
        await pilot.press(key)
        await settled(pilot)


async def ticked(pilot: Pilot[Any], settled: Settled) -> None:
    """Let the feed read once."""
    assert isinstance(pilot.app, ConsoleApp)
    pilot.app.tick()
    await settled(pilot)
