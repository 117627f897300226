"""The desk at night: what cannot be read is named, what is typed is meant, nothing is lost."""

import io
import sys
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from tests.console.looking import AtRest, OpenConsole, lines, press, shown, ticked
from textual.events import Paste

from kusanya.clock import ManualClock
from kusanya.errors import ConfigurationError
from kusanya.store import Store
from kusanya.store.records import Note, SortOrder
from kusanya.wire import Mode
from kusanya_console.actions.store_actions import StoreActions
from kusanya_console.application.app import ConsoleApp
from kusanya_console.cli.process.terminal import apply_settings, draws_in_ascii
from kusanya_console.lookup.screen import LookupScreen
from kusanya_console.output import Refused
from kusanya_console.widgets.box import Box

pytestmark = pytest.mark.anyio


def flat(app: ConsoleApp) -> str:
    return " ".join(shown(app).split())


def box(app: ConsoleApp) -> Box:
    """Return the look-up's box."""
    assert isinstance(app.console_screen, LookupScreen)
    return app.console_screen.query_one("#box", Box)


@pytest.fixture
def actions(store: Store, clock: ManualClock) -> StoreActions:
    return StoreActions(store, actor="asha", clock=clock, profile="main")


@pytest.mark.merge
async def test_a_reading_that_fails_is_named_with_its_cause_and_the_others_go_on(
    opened: OpenConsole, seed: Any, at_rest: AtRest, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    seed.busy(10)
    async with opened() as (app, pilot):
        with monkeypatch.context() as broken:
            broken.setattr(store.notes, "of", _broken)
            await press(pilot, at_rest, "j")
            said = flat(app)
            assert "could not read the timeline of this payment: ZeroDivisionError at " in said
            assert "255754000412" not in said
            assert "INV-482901" in said, "the list stands"
            await press(pilot, at_rest, "escape", "2")
            assert "evt_" in shown(app), "another screen works"
        await press(pilot, at_rest, "1", "escape", "k", "j")
        assert "intent saved" in shown(app) or "created" in shown(app)
        assert "could not read" not in shown(app)
        assert app.return_code is None


async def test_a_feed_that_fails_leaves_the_console_and_comes_back(
    opened: OpenConsole,
    seed: Any,
    at_rest: AtRest,
    clock: ManualClock,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    seed.busy(10)
    async with opened() as (app, pilot):
        with monkeypatch.context() as broken:
            broken.setattr(app._feed, "read", _broken)
            await ticked(pilot, at_rest)
            assert "could not read what is new in the store: ZeroDivisionError" in flat(app)
            assert "INV-482901" in shown(app)
        await clock.advance(60)
        await ticked(pilot, at_rest)
        assert "updated 0 s ago" in lines(app)[0]


@pytest.mark.merge
async def test_a_lookup_that_fails_shows_no_story_of_another_text(
    opened: OpenConsole, seed: Any, at_rest: AtRest, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    seed.busy(10)
    async with opened("3", *"INV-482901", "enter") as (app, pilot):
        assert "say to the customer" in shown(app)
        with monkeypatch.context() as broken:
            broken.setattr(store.collections, "by_reference", _broken)
            await press(pilot, at_rest, "3", *"INV-7")
            said = flat(app)
            assert "could not read what the text in the box may mean: ZeroDivisionError" in said
            assert "nothing was looked up for “INV-7”" in said
            assert "send no new request" in said
            assert "say to the customer" not in said


def _broken(*_given: Any, **_named: Any) -> Any:
    raise ZeroDivisionError("255754000412")


async def test_an_action_that_breaks_does_not_say_that_nothing_happened(
    opened: OpenConsole, seed: Any, at_rest: AtRest, actions: StoreActions,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    seed.busy(10)
    async with opened(actions=actions) as (app, pilot):
        monkeypatch.setattr(actions, "add_note", _broken)
        await press(pilot, at_rest, "A", *"receipt 9XK", "enter")
        said = flat(app)
        assert "keeping the note ended in ZeroDivisionError" in said
        assert "what became of it is not known" in said
        monkeypatch.undo()
        await press(pilot, at_rest, "A")
        assert "receipt 9XK" in shown(app), "the text that could not be kept is offered again"
        await press(pilot, at_rest, "enter")
        assert "noted on" in flat(app)
        await press(pilot, at_rest, "A")
        assert "receipt 9XK" not in "".join(lines(app)[15:22])


@pytest.mark.merge
async def test_a_note_is_read_whole_and_with_its_author(
    opened: OpenConsole, seed: Any, store: Store, clock: ManualClock
) -> None:
    made = seed.life(1, at=clock.now() - timedelta(minutes=5), reference="INV-7")
    said = "customer called twice, SMS receipt 9XK41PLM2, sent her to the shop in Arusha"
    store.notes.add(made.id, Note(said), author="asha", mode=Mode.LIVE)
    for size in ((80, 24), (120, 36)):
        async with opened("3", *"INV-7", "enter", "z", size=size) as (app, pilot):
            await pilot.press(*["j"] * 12)
            await pilot.pause()
            assert "asha" in flat(app)
            assert "receipt 9XK41PLM2" in flat(app)


@pytest.mark.merge
async def test_a_number_typed_beside_the_box_is_looked_up_and_runs_no_command(
    opened: OpenConsole, seed: Any, at_rest: AtRest
) -> None:
    seed.busy(10)
    now = [0.0]
    async with opened("3", *"INV-482901", "enter", monotonic=lambda: now[0]) as (app, pilot):
        for key in "0754":
            await pilot.press(key)
        await at_rest(pilot)
        assert box(app).value == "0754"
        await press(pilot, at_rest, "enter")
        for key in "0765":  # as from a terminal that sends a whole line in one go
            app.simulate_key(key)
        await at_rest(pilot)
        assert box(app).value == "0765"
        await press(pilot, at_rest, "enter")
        for key in "255754000412":  # the 2 is the key of Deliveries
            await pilot.press(key)
            now[0] += 0.2
        await at_rest(pilot)
        assert box(app).value == "255754000412"
        await press(pilot, at_rest, "enter", "3", *"12")
        assert box(app).value == "12", "the screen's own key is no digit of a number"
        await press(pilot, at_rest, "enter", *"2374")
        assert box(app).value == "2374", "nobody goes away and comes back in one go"
        await press(pilot, at_rest, "enter", *"25")
        assert app.console_screen is not None
        assert app.console_screen.NAME == "intents", "two digits are no number"
        now[0] += 2
        await press(pilot, at_rest, "3", "enter", "2")
        now[0] += 2
        await press(pilot, at_rest, "5")
        assert app.console_screen is not None
        assert app.console_screen.NAME == "intents", "who rests between two keys wants two screens"


@pytest.mark.merge
async def test_a_paste_anywhere_on_lookup_replaces_and_its_own_key_begins_anew(
    opened: OpenConsole, seed: Any, at_rest: AtRest
) -> None:
    seed.busy(10)
    async with opened("3", *"INV-482901", "enter") as (app, pilot):
        app.screen.post_message(Paste("INV-482900\n"))
        await at_rest(pilot)
        assert box(app).value == "INV-482900"
        assert "INV-482900 col_" in flat(app)
        await press(pilot, at_rest, "3")
        assert box(app).has_focus
        box(app).post_message(Paste("  INV-482901 "))
        await at_rest(pilot)
        assert box(app).value == "INV-482901"
        await press(pilot, at_rest, "enter", "3", "slash", *"INV-482900")
        assert box(app).value == "/INV-482900"
        assert "INV-482900 col_" in flat(app), "a / in front is none of the reference"


@pytest.mark.parametrize("reference", ["INV-2026-000123", "SHOP/2026/03/04/000777"])
async def test_references_keep_the_end_that_distinguishes_them(
    opened: OpenConsole, seed: Any, clock: ManualClock, reference: str
) -> None:
    at = clock.now() - timedelta(minutes=1)
    for n in range(3):
        seed.life(n, at=at, reference=f"{reference[:-1]}{n}")
    for size in ((60, 20), (80, 24), (120, 36), (160, 50)):
        async with opened(size=size) as (app, _pilot):
            left = [line[: size[0] - 45 if size[0] > 100 else None] for line in lines(app)]
            for n in range(3):
                assert any(f"{reference[-4:-1]}{n} " in line for line in left), (size, left)
            if len(reference) < 16 and size[0] > 60:
                assert any(f"{reference[:-1]}1 " in line for line in left), size


async def test_older_rows_keep_their_time_of_day(
    opened: OpenConsole, seed: Any, clock: ManualClock
) -> None:
    seed.life(1, at=clock.now() - timedelta(days=30))
    async with opened() as (app, _pilot):
        assert "02 Feb 15:24" in shown(app)
        assert "02 Feb 15:24:07" in shown(app), "the card tells the second"


@pytest.mark.merge
async def test_who_acknowledges_after_another_reads_it_and_is_named_so(  # noqa: PLR0917 - fixtures
    opened: OpenConsole, seed: Any, at_rest: AtRest, store: Store, clock: ManualClock,
    actions: StoreActions,
) -> None:  # fmt: skip
    seed.busy(10)
    async with opened("4", size=(120, 50), actions=actions) as (app, pilot):
        await press(pilot, at_rest, "A", *"calling ops", "enter")
        await clock.advance(6)
        await ticked(pilot, at_rest)
        await press(pilot, at_rest, "A")
        for words in (
            f"{store.audit.actor} looks after it since 15:24:07: calling ops",
            "takes it over",
        ):
            assert words in shown(app)
        await press(pilot, at_rest, *"mine now", "enter")
        assert f"acknowledged in place of {store.audit.actor}" in flat(app)
        (row, *_rest) = store.audit.page().rows
        assert row.detail.startswith(f"mine now (taken over from {store.audit.actor})")


async def test_q_and_ctrl_c_leave_when_they_are_pressed_twice(
    opened: OpenConsole, seed: Any
) -> None:
    now = [0.0]
    for key in ("q", "ctrl+c"):
        async with opened(monotonic=lambda: now[0], notifications=True) as (app, pilot):
            await pilot.press(key)
            await pilot.pause()
            assert app.is_running
            assert [one.message for one in app._notifications] == ["once more leaves the console"]
            now[0] += 60
            await pilot.press(key)
            await pilot.pause()
            assert app.is_running, "a minute later it is the first time again"
            await pilot.press(key)
            await pilot.pause()
            assert app._exit


async def test_the_theme_of_the_configuration_is_shown_and_a_wrong_one_refused(
    opened: OpenConsole,
) -> None:
    async with opened() as (app, _pilot):
        app.use_theme("light")
        assert app.theme == "kusanya-light"
        with pytest.raises(ConfigurationError, match="'red' is none of kusanya, light, terminal"):
            app.use_theme("red")
        assert app.theme == "kusanya-light"
        app.use_theme("kusanya")
        assert app.theme == "kusanya"


def test_the_settings_of_the_file_reach_every_console(
    console: Callable[..., ConsoleApp], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "config.toml").write_text('theme = "terminal"\n[keys]\n"list.pause" = "p"\n')
    monkeypatch.setenv("KUSANYA_CONFIG", str(tmp_path / "config.toml"))
    monkeypatch.setenv("KUSANYA_DATA", str(tmp_path))
    (tmp_path / "console-lists.json").write_text('{"lists": {"live": {"order": "amount"}}}')
    app = console()
    apply_settings(app)
    assert app.theme == "kusanya-terminal"
    assert app.context.keys == {"list.pause": "p"}
    assert app.context.lists.of("live").order is SortOrder.AMOUNT


def test_a_file_of_columns_that_cannot_be_read_is_reported_and_stops_nobody(
    console: Callable[..., ConsoleApp], tmp_path: Path
) -> None:
    (tmp_path / "lists.json").write_text('{"lists": 7}')
    app = console()
    app.use_arrangements(tmp_path / "lists.json")
    assert app.context.result is not None
    assert "the lists are as usual" in app.context.result.sentence


def test_a_terminal_that_shows_no_console_is_refused_and_one_without_utf8_gets_ascii(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("TERM", "xterm")
    with io.TextIOWrapper(io.BytesIO(), encoding="utf-8") as whole:
        monkeypatch.setattr(sys, "__stderr__", whole)
        assert not draws_in_ascii(asked=False)
        assert draws_in_ascii(asked=True)
    with io.TextIOWrapper(io.BytesIO(), encoding="latin-1") as narrow:
        monkeypatch.setattr(sys, "__stderr__", narrow)
        assert draws_in_ascii(asked=False)
    monkeypatch.setenv("TERM", "dumb")
    with pytest.raises(Refused, match=r"TERM is dumb\): kusanya talk says the same in lines"):
        draws_in_ascii(asked=True)


async def test_a_page_down_in_the_help_goes_on_by_what_is_visible(
    opened: OpenConsole, seed: Any, at_rest: AtRest
) -> None:
    async with opened("question_mark", size=(80, 24)) as (app, pilot):
        last = [line.strip() for line in lines(app) if line.strip()][-1]
        await press(pilot, at_rest, "pagedown")
        first = next(line.strip() for line in lines(app) if line.strip())
        assert last == first, "the last line read is the first one now"
