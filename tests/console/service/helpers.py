"""What tests of the Service screen do and read more than once."""

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

from tests.console.looking import AtRest, press
from textual.pilot import Pilot
from textual.widgets import Input

from kusanya.store import Store
from kusanya_console.application.app import ConsoleApp

Build = Callable[..., ConsoleApp]
SIZE = (120, 36)
NOON = datetime(2026, 3, 4, 12, tzinfo=UTC)


def audited(store: Store) -> list[tuple[str, str, str]]:
    """Return what was done to what and how it ended, newest first."""
    return [(row.act, row.subject or "", row.outcome) for row in store.audit.page().rows]


async def registering(pilot: Pilot[Any], at_rest: AtRest, url: str) -> None:
    """Ask for an endpoint at an address, and say yes."""
    await at_rest(pilot)
    await press(pilot, at_rest, "6", "A")
    pilot.app.screen.query_one("#note", Input).value = url
    await press(pilot, at_rest, "enter", "tab", "enter")


def everything_kept(store: Store) -> str:
    """Return all that the audit says, for looking for what it must not say."""
    return repr(store.audit.page().rows)
