"""The mouse does what the keys do: a screen is gone to and a key acts by a click on its name."""

from typing import Any

import pytest
from tests.console.looking import AtRest, OpenConsole, lines, press, shown
from textual.pilot import Pilot

from kusanya_console.screens.help import HelpScreen
from kusanya_console.widgets.key_bar import KeyBar
from kusanya_console.widgets.sheet import PartSheet


async def click(pilot: Pilot[Any], at_rest: AtRest, words: str) -> None:
    """Click on words of the last line."""
    line = lines(pilot.app)[-1]
    await pilot.click(KeyBar, offset=(line.index(words) + len(words) // 2, 0))
    await at_rest(pilot)


@pytest.mark.anyio
@pytest.mark.parametrize("size", [(80, 24), (120, 36)])
async def test_a_click_on_the_name_of_a_screen_goes_there(
    size: tuple[int, int], opened: OpenConsole, seed: Any, at_rest: AtRest
) -> None:
    seed.busy(6)
    async with opened(size=size) as (app, pilot):
        for words, name in (("2 Deliv", "deliveries"), ("4 Health", "health"), ("1 Live", "live")):
            await click(pilot, at_rest, words)
            assert app.console_screen is not None
            assert name == app.console_screen.NAME


@pytest.mark.anyio
async def test_a_click_on_a_key_of_the_last_line_acts(
    opened: OpenConsole, seed: Any, at_rest: AtRest
) -> None:
    seed.busy(6)
    async with opened(size=(120, 36)) as (app, pilot):
        await click(pilot, at_rest, "space mark")
        assert "1 marked, esc unmarks" in shown(app)
        await click(pilot, at_rest, "? help")
        assert isinstance(app.screen, HelpScreen)


async def click_part(pilot: Pilot[Any], at_rest: AtRest, line: str, words: str) -> None:
    """Click on words of the line of the detail that holds `line`."""
    drawn = lines(pilot.app)
    y = next(place for place, text in enumerate(drawn) if line in text)
    card = pilot.app.screen.query_one(PartSheet).content_region
    x = drawn[y].index(words, card.x)
    await pilot.click(PartSheet, offset=(x - card.x, y - card.y))
    await at_rest(pilot)


@pytest.mark.anyio
async def test_a_click_on_the_name_of_a_part_of_the_detail_shows_it(
    opened: OpenConsole, seed: Any, at_rest: AtRest
) -> None:
    seed.busy(6)
    seed.intents()
    async with opened("j", "j", "j", size=(120, 36)) as (app, pilot):
        await click_part(pilot, at_rest, "▸card", "JSON")
        assert "▸JSON" in shown(app)
        assert "newest words" in shown(app)
        await click_part(pilot, at_rest, "▸JSON", "[ ]")
        assert "▸JSON" in shown(app), "what names no part shows none"
        await click_part(pilot, at_rest, "▸JSON", "say")
        assert "▸say" in shown(app)
        await press(pilot, at_rest, "2")
        await click_part(pilot, at_rest, "▸attempts", "headers")
        assert "▸headers" in shown(app)
        await press(pilot, at_rest, "5")
        await click_part(pilot, at_rest, "▸card", "body")
        assert "▸body" in shown(app)
