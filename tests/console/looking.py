"""What stands on the terminal of a console that a test has opened, and how a test types into it."""

from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from typing import Any

from textual.app import App
from textual.pilot import Pilot

from kusanya.store import Store
from kusanya_console.actions.context import AppContext
from kusanya_console.application.app import ConsoleApp
from kusanya_console.lists.table_screen import TableScreen
from kusanya_console.widgets.record_table import RecordTable

OpenConsole = Callable[..., AbstractAsyncContextManager[tuple[ConsoleApp, Pilot[Any]]]]
"""The conftest's opening of a console, which presses keys on the way."""
AtRest = Callable[[Pilot[Any]], Awaitable[None]]
"""The conftest's waiting for everything a key has set going."""


def lines(app: App[Any]) -> list[str]:
    """Return the lines on the terminal as plain text."""
    return [
        "".join(piece.text for piece in line) for line in app.screen._compositor.render_strips()
    ]


def console_on(store: Store, **options: Any) -> ConsoleApp:
    """Return a console on a store: options are those of its context, and its own."""
    own = {name: options.pop(name) for name in [*options] if name not in _OF_CONTEXT}
    return ConsoleApp(AppContext(store=store, **options), jitter=lambda: 0.5, **own)


_OF_CONTEXT = frozenset(AppContext.__struct_fields__)


def table(app: ConsoleApp) -> RecordTable[Any]:
    """Return the list of the screen in view."""
    screen = app.console_screen
    assert isinstance(screen, TableScreen)
    found: RecordTable[Any] = screen.table
    return found


def shown(app: App[Any]) -> str:
    """Return the terminal as plain text."""
    return "\n".join(lines(app))


def reference(app: ConsoleApp) -> str:
    """Return the reference of the record under the cursor."""
    row = table(app).row
    assert row is not None
    found: str = row.reference
    return found


async def press(pilot: Pilot[Any], at_rest: AtRest, *keys: str) -> None:
    """Press keys one by one, each after everything before it has come to rest."""
    for key in keys:
        await pilot.press(key)
        await at_rest(pilot)


async def ticked(pilot: Pilot[Any], at_rest: AtRest) -> None:
    """Let the feed read once."""
    assert isinstance(pilot.app, ConsoleApp)
    pilot.app.tick()
    await at_rest(pilot)
