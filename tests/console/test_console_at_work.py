"""The console followed through a working day: cursor, following, pausing, losing the store."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from tests.console.looking import AtRest, OpenConsole, lines, table, ticked
from textual.filter import Monochrome
from textual.widgets import Input

from kusanya.clock import ManualClock
from kusanya.wire import Mode
from kusanya_console.application.app import ConsoleApp
from kusanya_console.collections.evidence import Evidence
from kusanya_console.lookup.screen import LookupScreen
from kusanya_console.widgets.sheet import Sheet

pytestmark = pytest.mark.anyio
Build = Callable[..., ConsoleApp]


def reference(app: ConsoleApp) -> str:
    """Return the reference of the record under the cursor."""
    row = table(app).row
    assert row is not None
    found: str = row.reference
    return found


def card(app: ConsoleApp) -> str:
    """Return the text of the pane beside the list."""
    return str(app.screen.query_one("#card", Sheet).render())


async def test_the_cursor_stays_on_its_record_while_the_list_moves(
    opened: OpenConsole, seed: Any, clock: ManualClock, at_rest: AtRest
) -> None:
    seed.busy(30)
    async with opened() as (app, pilot):
        await pilot.press("j", "j", "j")
        pointed = table(app).cursor
        assert pointed is not None
        for n in range(2000, 2040):
            seed.answered(seed.collection(n, at=clock.now()))
        await ticked(pilot, at_rest)
        assert table(app).cursor == pointed
        assert not table(app).follow
        assert "+40 new above, f follows" in lines(app)[-2]
        await pilot.press("f")
        await at_rest(pilot)
        assert table(app).follow
        assert table(app).excerpt.rows[0].reference == "INV-484039"


async def test_an_untouched_list_shows_the_card_of_the_newest(
    opened: OpenConsole, seed: Any, clock: ManualClock, at_rest: AtRest
) -> None:
    seed.life(1, at=clock.now())
    async with opened(size=(120, 36)) as (app, pilot):
        for number in (2001, 2002):
            await clock.advance(1)
            seed.life(number, at=clock.now())
            await ticked(pilot, at_rest)
            assert reference(app) == f"INV-48{number + 2000}"
            assert f"INV-48{number + 2000}" in card(app)
        assert "following the newest" in lines(app)[-2]


@pytest.mark.parametrize(
    "hand", [("j",), ("]",), ("z",), ("s",), ("Y", "escape"), ("space", "escape")], ids="+".join
)
async def test_a_list_that_a_hand_has_touched_stays_on_its_record(
    opened: OpenConsole, seed: Any, clock: ManualClock, at_rest: AtRest, hand: tuple[str, ...]
) -> None:
    seed.busy(5)
    async with opened(*hand, size=(120, 36)) as (app, pilot):
        held = reference(app)
        seed.life(2001, at=clock.now())
        await ticked(pilot, at_rest)
        assert reference(app) == held
        assert held in card(app)
        await pilot.press("f")
        await at_rest(pilot)
        assert reference(app) == "INV-484001"


async def test_a_followed_list_shows_the_newest_with_a_mark_for_one_tick(
    opened: OpenConsole, seed: Any, clock: ManualClock, at_rest: AtRest
) -> None:
    seed.busy(5)
    async with opened() as (app, pilot):
        seed.life(2001, at=clock.now() - timedelta(seconds=1))
        seed.life(2002, at=clock.now())
        await ticked(pilot, at_rest)
        assert any(line.startswith(">") and "INV-484002" in line for line in lines(app))
        assert any(line.startswith("▎") and "INV-484001" in line for line in lines(app))
        await ticked(pilot, at_rest)
        assert not any(line.startswith("▎") for line in lines(app))


async def test_a_paused_list_stands_still_while_counts_go_on(
    opened: OpenConsole, seed: Any, clock: ManualClock, at_rest: AtRest
) -> None:
    seed.busy(5)
    async with opened() as (app, pilot):
        await pilot.press("P")
        seed.life(2001, at=clock.now(), status="succeeded")
        await clock.advance(40)
        await ticked(pilot, at_rest)
        assert "paused 40 s, 1 changes wait" in lines(app)[0]
        assert not any("INV-484001" in line for line in lines(app))
        await pilot.press("P")
        await at_rest(pilot)
        assert any("INV-484001" in line for line in lines(app))


async def test_a_changed_record_is_drawn_anew_in_its_place(
    opened: OpenConsole, seed: Any, clock: ManualClock, at_rest: AtRest
) -> None:
    born = seed.collection(7, at=clock.now() - timedelta(seconds=30))
    seed.answered(born)
    seed.life(8, at=clock.now() - timedelta(seconds=60))
    async with opened() as (app, pilot):
        await pilot.press("j")
        assert any("INV-482007" in line and "created" in line for line in lines(app))
        done = seed.collection(
            7,
            at=born.created_at,
            status="failed",
            completed_at=clock.now(),
            failure_code="declined",
        )
        seed.polled(done, at=clock.now())
        await ticked(pilot, at_rest)
        assert any("INV-482007" in line and "✕ failed" in line for line in lines(app))
        assert table(app).cursor == f"col_{8:016}"


async def test_the_keys_reach_both_ends_of_a_long_list_and_come_back(
    opened: OpenConsole, seed: Any, clock: ManualClock, at_rest: AtRest
) -> None:
    for n in range(450):
        seed.store.submit(
            seed.observation(seed.collection(n, at=clock.now() - timedelta(seconds=n)))
        )
    seed.answered(seed.collection(450, at=clock.now() - timedelta(seconds=450)))
    async with opened("G", size=(80, 50)) as (app, pilot):
        assert reference(app) == "INV-482450"
        for _ in range(12):
            await pilot.press("pageup")
            await at_rest(pilot)
        assert reference(app) == "INV-482000"
        await pilot.press("down")
        assert reference(app) == "INV-482001"
        await pilot.press("g")
        await at_rest(pilot)
        assert table(app).follow


async def test_paging_down_shows_every_record_once_and_in_order(
    console: Build, seed: Any, clock: ManualClock, at_rest: AtRest
) -> None:
    for n in range(1300):
        seed.store.submit(
            seed.observation(seed.collection(n, at=clock.now() - timedelta(seconds=n)))
        )
    seed.answered(seed.collection(5000, at=clock.now() - timedelta(days=1)))
    app = console()
    seen: list[str] = []
    async with app.run_test(size=(80, 50)) as pilot:
        await at_rest(pilot)
        for step in range(1300):
            seen.append(reference(app))
            table(app).move(1)
            if step % 40 == 0:
                await at_rest(pilot)
        assert len(table(app).excerpt.rows) <= 1000
    assert seen == [f"INV-{482_000 + n}" for n in range(1300)]


async def test_a_record_that_belongs_between_two_others_appears_there(
    opened: OpenConsole, seed: Any, clock: ManualClock, at_rest: AtRest
) -> None:
    for n in (1, 3):
        seed.answered(seed.collection(n, at=clock.now() - timedelta(seconds=n)))
    async with opened(size=(80, 24)) as (app, pilot):
        await pilot.press("j")
        seed.answered(seed.collection(2, at=clock.now() - timedelta(seconds=2)))
        await ticked(pilot, at_rest)
        listed = [row.reference for row in table(app).excerpt.rows]
        assert listed == ["INV-482001", "INV-482002", "INV-482003"]
        assert reference(app) == "INV-482003"


async def test_what_is_not_well_is_found_however_far_away(
    opened: OpenConsole, seed: Any, clock: ManualClock, at_rest: AtRest
) -> None:
    for n in range(0, 900, 3):  # fates 0, 3, 6, 9 repeat; the expired and the failed are left out
        if n % 10 not in {2, 4, 6, 8}:
            seed.life(n, at=clock.now() - timedelta(seconds=n))
    seed.life(8, at=clock.now() - timedelta(hours=3), reference="INV-FAR")
    async with opened("n") as (app, pilot):
        assert reference(app) == "INV-FAR"
        await pilot.press("exclamation_mark")
        await at_rest(pilot)
        assert [row.reference for row in table(app).excerpt.rows] == ["INV-FAR"]
        assert reference(app) == "INV-FAR"


async def test_the_two_modes_never_mix(
    opened: OpenConsole, seed: Any, clock: ManualClock, at_rest: AtRest
) -> None:
    seed.life(1, at=clock.now(), mode=Mode.LIVE)
    seed.life(2, at=clock.now(), mode=Mode.TEST)
    async with opened(mode=Mode.TEST) as (app, pilot):
        assert "TEST MODE" in lines(app)[0]
        assert [row.mode for row in table(app).excerpt.rows] == [Mode.TEST]
        await pilot.press("3", *"INV-482001")
        await at_rest(pilot)
        assert "nothing in TEST MODE, 1 match in LIVE MODE" in "\n".join(lines(app))


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
