"""The console followed through a working day: stories, the box, what is copied, the palette."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from tests.console.looking import AtRest, OpenConsole, lines, reference, table, ticked
from textual.filter import Monochrome
from textual.widgets import Input

from kusanya.clock import ManualClock
from kusanya_console.application.app import ConsoleApp
from kusanya_console.collections.evidence import Evidence
from kusanya_console.lookup.screen import LookupScreen

pytestmark = pytest.mark.anyio
Build = Callable[..., ConsoleApp]


@pytest.mark.merge
async def test_the_keys_of_a_story_work_at_once_and_3_goes_to_the_box(
    opened: OpenConsole, seed: Any, at_rest: AtRest, slow_fingers: Callable[[], float]
) -> None:
    seed.busy(5)
    async with opened("enter", monotonic=slow_fingers) as (app, pilot):
        await pilot.press("s")
        await at_rest(pilot)
        assert any("clipboard, say:" in line for line in lines(app)), "not typed into the box"
        await pilot.press("4")
        await at_rest(pilot)
        assert app.console_screen is not None
        assert app.console_screen.NAME == "health"
        await pilot.press("3", *"INV-482001")
        await at_rest(pilot)
        assert any("found by reference" in line for line in lines(app)), "the old text gave way"


@pytest.mark.merge
async def test_a_hidden_screen_reads_nothing(
    opened: OpenConsole, seed: Any, clock: ManualClock, at_rest: AtRest
) -> None:
    seed.busy(5)
    async with opened("2") as (app, pilot):
        live = app.get_screen_stack("live@live")[0]
        asked = dict(live._asked)  # type: ignore[attr-defined] # a ConsoleScreen
        seed.life(2001, at=clock.now())
        await ticked(pilot, at_rest)
        assert live._asked == asked  # type: ignore[attr-defined] # a ConsoleScreen
        await pilot.press("1")
        await at_rest(pilot)
        assert any("INV-484001" in line for line in lines(app))


async def test_enter_opens_the_story_of_the_record_under_the_cursor(
    opened: OpenConsole, seed: Any, at_rest: AtRest
) -> None:
    seed.busy(10)
    async with opened() as (app, pilot):
        await pilot.press("j", "j")
        pointed = reference(app)
        await pilot.press("enter")
        await at_rest(pilot)
        screen = app.console_screen
        assert isinstance(screen, LookupScreen)
        assert any(pointed in line for line in lines(app))
        assert isinstance(screen._details, Evidence)
        assert screen._details.story.row.reference == pointed


@pytest.mark.merge
@pytest.mark.parametrize(
    "typed", ["0754000555", "+255 754-000-555", "INV-482902", f"col_{902:016}", f"evt_{902:016}"]
)
async def test_the_box_takes_whatever_the_customer_reads_out(
    typed: str, opened: OpenConsole, seed: Any, at_rest: AtRest
) -> None:
    seed.busy(10)
    async with opened("3") as (app, pilot):
        app.screen.query_one("#box", Input).value = typed
        await at_rest(pilot)
        assert any("INV-482902" in line and "○ created" in line for line in lines(app))


@pytest.mark.merge
async def test_escape_leaves_the_box_step_by_step(
    opened: OpenConsole, seed: Any, at_rest: AtRest
) -> None:
    async with opened(size=(80, 24)) as (app, pilot):
        await pilot.press("3", *"12")
        box = app.screen.query_one("#box", Input)
        assert box.value == "12", "digits belong to the box while it has the focus"
        await pilot.press("escape")
        assert box.value == ""
        await pilot.press("escape", "2")
        await at_rest(pilot)
        assert app.console_screen is not None
        assert app.console_screen.NAME == "deliveries"


async def test_copying_says_that_the_text_was_sent_and_not_that_it_arrived(
    opened: OpenConsole, seed: Any
) -> None:
    seed.busy(5)
    async with opened("y", notifications=True) as (app, _pilot):
        assert app.clipboard == "INV-482900"
        assert any("reference sent to the terminal's clipboard" in line for line in lines(app))


@pytest.mark.merge
async def test_the_palette_goes_through_the_colours_and_a_foreign_theme_is_taken(
    opened: OpenConsole, seed: Any, at_rest: AtRest
) -> None:
    seed.busy(5)
    async with opened() as (app, pilot):
        text, seen = lines(app), []
        for _ in range(3):
            await pilot.press("ctrl+p", *"colours")
            await at_rest(pilot)
            await pilot.press("enter")
            await at_rest(pilot)
            seen.append(app.theme)
            assert lines(app) == text, "no word depends on a colour"
        assert seen == ["kusanya-light", "kusanya-terminal", "kusanya"]
        app.theme = "nord"
        await at_rest(pilot)
        assert lines(app) == text


async def test_times_are_written_in_eat_utc_or_as_ages(
    opened: OpenConsole, seed: Any, at_rest: AtRest
) -> None:
    seed.busy(5)
    async with opened() as (app, pilot):
        assert "15:24:07 EAT" in lines(app)[0]
        await pilot.press("t")
        await at_rest(pilot)
        assert "12:24:07 UTC" in lines(app)[0]
        assert any("12:23:58" in line for line in lines(app))
        await pilot.press("t")
        await at_rest(pilot)
        assert any("9 s " in line and "INV-482900" in line for line in lines(app))


@pytest.mark.merge
async def test_the_palette_runs_a_command_by_its_name(
    opened: OpenConsole, seed: Any, at_rest: AtRest
) -> None:
    async with opened() as (app, pilot):
        await pilot.press("ctrl+p", *"deliveries")
        await at_rest(pilot)
        await pilot.press("enter")
        await at_rest(pilot)
        assert app.console_screen is not None
        assert app.console_screen.NAME == "deliveries"


@pytest.mark.merge
async def test_clicking_every_cell_of_hostile_text_fires_no_action(
    opened: OpenConsole, hostile: Any, at_rest: AtRest
) -> None:
    async with opened() as (app, pilot):
        drawn = [piece for line in app.screen._compositor.render_strips() for piece in line]
        assert not any(piece.style and "@click" in piece.style.meta for piece in drawn)
        for x in (4, 16, 30, 60, 85, 100):
            for y in (7, 8, 9):
                await pilot.click(offset=(x, y))
        await at_rest(pilot)
        assert app.is_running
        assert app.return_code is None


@pytest.mark.merge
async def test_the_customers_sentence_and_the_card_are_copied_without_the_phone(
    opened: OpenConsole, seed: Any, clock: ManualClock, at_rest: AtRest
) -> None:
    at = clock.now() - timedelta(minutes=5)
    seed.life(2, at=at, reference="INV-7", phone="255754000412")
    async with opened() as (app, pilot):
        await pilot.press("3", *"INV-7", "enter")
        await at_rest(pilot)
        await pilot.press("s")
        await at_rest(pilot)
        english, swahili = app.clipboard.split("\n")
        assert (
            english
            == "There is not enough money in your account. Top up, charges included, then tell us."
        )
        assert swahili == "Salio lako halitoshi. Ongeza salio, kisha tujulishe."
        await pilot.press("Y", "enter")
        await at_rest(pilot)
        assert "INV-7" in app.clipboard
        assert "+255•••••412" in app.clipboard
        assert "0754000412" not in app.clipboard
        assert "54000" not in app.clipboard


@pytest.mark.merge
async def test_without_colour_every_word_is_the_same(
    console: Build, seed: Any, at_rest: AtRest
) -> None:
    seed.busy(20)
    seed.intents()
    seen: list[list[str]] = []
    for colour in (True, False):
        app = console()
        if not colour:
            app._filters.append(Monochrome())
        async with app.run_test(size=(120, 36)) as pilot:
            every: list[str] = []
            for key in ("1", "2", "4", "5", "3"):
                await pilot.press(key)
                await at_rest(pilot)
                every += lines(app)
            seen.append(every)
    assert seen[0] == seen[1]
    lines_shown = "\n".join(seen[0])
    for word in ("● succeeded", "✕ failed", "⊘ expired", "? unknown", "LIVE MODE", "✕ rejected"):
        assert word in lines_shown


async def test_a_held_key_fetches_one_story_when_the_cursor_rests(
    console: Build, seed: Any, at_rest: AtRest
) -> None:
    seed.busy(30)
    resting = ManualClock()
    app = console(sleep=resting.asleep)
    async with app.run_test(size=(120, 36)) as pilot:
        await pilot.pause()
        screen = app.console_screen
        assert screen is not None
        while not table(app).excerpt.rows:
            await pilot.pause()
        while "story" not in screen._asked:
            # The cursor may come to rest after the clock was moved: move it until it has.
            await pilot.pause()
            await resting.advance(1)
        await at_rest(pilot)
        before = screen._asked["story"]
        for _ in range(9):
            await pilot.press("j")
            await resting.advance(0.03)
        assert screen._asked["story"] == before, "nothing is read while the key is held"
        while screen._asked["story"] == before:
            await pilot.pause()
            await resting.advance(0.08)
        await at_rest(pilot)
        assert screen._asked["story"] == before + 1
        assert sum(reference(app) in line for line in lines(app)) > 1, "list and card name it"
        assert any("story ──" in line for line in lines(app))


@pytest.mark.merge
async def test_a_reference_pasted_into_the_palette_opens_its_story(
    opened: OpenConsole, seed: Any, at_rest: AtRest
) -> None:
    seed.busy(10)
    async with opened() as (app, pilot):
        await pilot.press("ctrl+p", *"INV-482902")
        await at_rest(pilot)
        assert any("Look up “INV-482902”" in line for line in lines(app))
        await pilot.press("enter")
        await at_rest(pilot)
        screen = app.console_screen
        assert isinstance(screen, LookupScreen)
        assert isinstance(screen._details, Evidence)
        assert screen._details.story.row.reference == "INV-482902"
