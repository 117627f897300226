"""The mouse does what the keys do: a screen is gone to and a key acts by a click on its name."""

from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from typing import Any

import pytest
from tests.console.looking import lines, shown
from textual.pilot import Pilot

from kusanya_console.app import ConsoleApp
from kusanya_console.screens.help import HelpScreen
from kusanya_console.widgets.key_bar import KeyBar

Opened = Callable[..., AbstractAsyncContextManager[tuple[ConsoleApp, Pilot[Any]]]]
Settled = Callable[[Pilot[Any]], Awaitable[None]]


async def click(pilot: Pilot[Any], settled: Settled, words: str) -> None:
    """Click on words of the last line."""
    line = lines(pilot.app)[-1]
    await pilot.click(KeyBar, offset=(line.index(words) + len(words) // 2, 0))
    await settled(pilot)


@pytest.mark.anyio
@pytest.mark.parametrize("size", [(80, 24), (120, 36)])
async def test_a_click_on_the_name_of_a_screen_goes_there(
    size: tuple[int, int], opened: Opened, seed: Any, settled: Settled
) -> None:
    seed.busy(6)
    async with opened(size=size) as (app, pilot):
        for words, name in (("2 Deliv", "deliveries"), ("4 Health", "health"), ("1 Live", "live")):
            await click(pilot, settled, words)
            assert app.console_screen is not None
            assert name == app.console_screen.NAME


@pytest.mark.anyio
async def test_a_click_on_a_key_of_the_last_line_acts(
    opened: Opened, seed: Any, settled: Settled
) -> None:
    seed.busy(6)
    async with opened(size=(120, 36)) as (app, pilot):
        await click(pilot, settled, "space mark")
        assert "1 marked, esc unmarks" in shown(app)
        await click(pilot, settled, "? help")
        assert isinstance(app.screen, HelpScreen)
