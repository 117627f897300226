"""The lines a person types into: exact where they ask, harmless where they are drawn."""

from typing import Any

import pytest
from tests.console.looking import AtRest, OpenConsole, lines, press, shown
from textual.events import Key, Paste
from textual.keys import _character_to_key

from kusanya.clock import ManualClock
from kusanya.filters import describe
from kusanya_console.collections.evidence import Evidence
from kusanya_console.deliveries.filtering import DELIVERY_KEYS
from kusanya_console.live.screen import LiveScreen
from kusanya_console.lookup.screen import LookupScreen
from kusanya_console.widgets.box import Box
from kusanya_console.widgets.filter_box import FilterBox

pytestmark = pytest.mark.anyio


async def test_what_is_pasted_is_found_exactly_and_drawn_visibly(
    opened: OpenConsole, seed: Any, clock: ManualClock, at_rest: AtRest
) -> None:
    hostile = "INV\x7f-\u200b7\u202e"
    seed.polled(seed.collection(7, at=clock.now(), reference=hostile), at=clock.now())
    async with opened("3") as (app, pilot):
        screen = app.console_screen
        assert isinstance(screen, LookupScreen)
        box = screen.query_one("#box", Box)
        box.post_message(Paste(hostile))
        await at_rest(pilot)
        assert box.value == "INV␡-⟨200B⟩7⟨202E⟩"
        assert isinstance(screen._details, Evidence)
        assert screen._details.story.row.reference == hostile
        await pilot.press("end", "backspace")
        assert box.meant == box.value == "INV␡-⟨200B⟩7⟨202E"


async def test_a_story_opened_from_a_list_shows_no_raw_reference_in_the_box(
    opened: OpenConsole, seed: Any
) -> None:
    async with opened("3") as (app, _pilot):
        screen = app.console_screen
        assert isinstance(screen, LookupScreen)
        screen.look_for("\x1b[31mINV\x9b")
        box = screen.query_one("#box", Box)
        assert box.value.isprintable()
        assert box.meant == "\x1b[31mINV\x9b"


async def test_keys_that_follow_the_slash_at_once_are_typed_and_do_nothing_else(
    opened: OpenConsole, seed: Any, at_rest: AtRest
) -> None:
    seed.busy(10)
    async with opened() as (app, pilot):
        screen = app.console_screen
        assert isinstance(screen, LiveScreen)
        # As from a terminal that sends a whole line in one go.
        for key in ("slash", "v", "G", "f"):
            app.simulate_key(key)
        await at_rest(pilot)
        assert screen.query_one(FilterBox).value == "vGf"


async def test_a_key_that_edits_the_box_and_the_word_behind_it_work_in_their_order(
    opened: OpenConsole, seed: Any, at_rest: AtRest
) -> None:
    seed.busy(10)
    async with opened("slash", *"created", "enter") as (app, pilot):
        screen = app.console_screen
        assert isinstance(screen, LiveScreen)
        for key in ("slash", "ctrl+u", *"failed", "enter"):
            app.simulate_key(key)
        await at_rest(pilot)
        assert describe(screen.filter) == "status:failed"


@pytest.mark.parametrize("size", [(80, 24), (120, 36)])
async def test_what_is_wrong_with_a_filter_is_read_to_its_end(
    opened: OpenConsole, seed: Any, at_rest: AtRest, size: tuple[int, int]
) -> None:
    seed.busy(10)
    async with opened("2", "slash", *"status:failed", "enter", size=size) as (app, pilot):
        said = " ".join(shown(app).split())
        keys = ", ".join(DELIVERY_KEYS)
        assert f"deliveries have no status; they have {keys}" in said
        await press(pilot, at_rest, "ctrl+u", *"late", "enter")
        assert "have no status" not in shown(app)


@pytest.mark.parametrize("size", [(60, 24), (80, 24), (120, 36), (160, 50)])
async def test_while_a_box_is_typed_into_the_last_line_names_the_keys_that_work(
    opened: OpenConsole, seed: Any, at_rest: AtRest, size: tuple[int, int]
) -> None:
    seed.busy(3)
    async with opened("3", size=size) as (app, pilot):
        assert (
            lines(app)[-1]
            .rstrip()
            .endswith(
                "enter leave the box  esc empty it" + ("  ^p commands" if size[0] > 80 else "")
            )
        )
        assert "? help" not in lines(app)[-1]
        assert "1 Live" not in lines(app)[-1], "a digit is typed"
        await press(pilot, at_rest, *"INV", "enter")
        assert "1 Live" in lines(app)[-1]
        await press(pilot, at_rest, "1", "slash")
        assert "enter filter by it  esc clear it" in lines(app)[-1]
        await press(pilot, at_rest, "escape")
        assert "1 Live" in lines(app)[-1]


async def test_the_names_of_the_screens_lead_there_by_the_mouse_while_a_box_is_typed_into(
    opened: OpenConsole, seed: Any, at_rest: AtRest
) -> None:
    seed.busy(3)
    async with opened("3", size=(120, 36)) as (app, pilot):
        at = lines(app)[-1].index("Health")
        await pilot.click(offset=(at + 1, 35))
        await at_rest(pilot)
        assert app.console_screen is not None
        assert app.console_screen.NAME == "health"


@pytest.mark.parametrize("before", [(), ("3", "escape", "escape")], ids=["first time", "again"])
@pytest.mark.parametrize("typed", ["INV-482003", "jvdR?/G 25 pm", "255754000001", "3"])
async def test_what_is_typed_right_behind_the_key_of_lookup_stands_in_its_box_in_order(
    opened: OpenConsole, seed: Any, at_rest: AtRest, before: tuple[str, ...], typed: str
) -> None:
    seed.busy(5)
    async with opened(*before) as (app, pilot):
        # As from a slow line, which brings what was typed meanwhile in one go.
        for character in f"3{typed}":
            app.post_message(Key(_character_to_key(character), character))
        await at_rest(pilot)
        screen = app.console_screen
        assert isinstance(screen, LookupScreen)
        assert screen.query_one("#box", Box).value == typed
