"""What a person does with the record under the cursor: its order, its parts, its copies."""

import json
import os
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace
from tests.console.looking import AtRest, OpenConsole, shown

from kusanya.clock import ManualClock
from kusanya.filters import Filter
from kusanya.store.records import CollectionRow, SortOrder
from kusanya.wire import Mode
from kusanya_console.actions.context import AppContext
from kusanya_console.application.app import ConsoleApp
from kusanya_console.lists.list_screen import ListScreen
from kusanya_console.lists.paging import ListPages
from kusanya_console.live.list import COLLECTION_LIST
from kusanya_console.lookup.screen import LookupScreen
from kusanya_console.widgets.time_rail import TimeRail

pytestmark = pytest.mark.anyio
SIZE = (120, 36)


def listing(app: ConsoleApp) -> ListScreen[Any]:
    """Return the list's screen in view."""
    screen = app.console_screen
    assert isinstance(screen, ListScreen)
    return screen


async def test_the_keys_of_the_screens_lead_there_and_escape_leads_back(
    opened: OpenConsole, seed: Any, at_rest: AtRest
) -> None:
    seed.busy(3)
    async with opened(size=SIZE) as (app, pilot):
        for key, crumb in (("2", "Deliveries"), ("4", "Health"), ("5", "Intents"), ("1", "Live")):
            await pilot.press(key)
            await at_rest(pilot)
            assert f"LIVE MODE▐  {crumb}" in shown(app)
        await pilot.press("3")
        await at_rest(pilot)
        assert isinstance(app.console_screen, LookupScreen)
        await pilot.press("escape", "escape")
        await at_rest(pilot)
        assert "LIVE MODE▐  Live" in shown(app)


async def test_the_cursor_moves_by_records_and_by_pages(opened: OpenConsole, seed: Any) -> None:
    seed.busy(60)
    async with opened(size=SIZE) as (app, pilot):
        table = listing(app).table
        rows = [row.id for row in table.excerpt.rows]
        lines = table.lines
        for keys, place in (
            (["j"], 1), (["down"], 2), (["k"], 1), (["up"], 0), (["pagedown"], lines - 1),
            (["pageup"], 0),
        ):  # fmt: skip
            await pilot.press(*keys)
            assert table.cursor == rows[place], keys


async def test_the_next_order_keeps_the_cursor_on_its_record(
    opened: OpenConsole, seed: Any, at_rest: AtRest
) -> None:
    seed.busy(30)
    async with opened(size=SIZE) as (app, pilot):
        screen = listing(app)
        await pilot.press("j", "j")
        pointed, before = screen.table.cursor, len(screen.table.excerpt.rows)
        await pilot.press("o")
        await at_rest(pilot)
        rows = screen.table.excerpt.rows
        assert len(rows) == before, "no order hides a record"
        finals = [row.final_seen_at for row in rows if row.final_seen_at is not None]
        assert [row.final_seen_at for row in rows[-len(finals) :]] == sorted(finals, reverse=True)
        assert "latest final first" in shown(app)
        assert screen.table.cursor == pointed
        await pilot.press("o")
        await at_rest(pilot)
        amounts = [row.amount for row in screen.table.excerpt.rows]
        assert amounts == sorted(amounts, reverse=True)
        assert "largest first" in shown(app)
        assert screen.table.cursor == pointed
        await pilot.press("o")
        await at_rest(pilot)
        assert "newest first" in shown(app)
        assert screen.table.cursor == pointed


async def test_news_in_another_order_appear_in_their_place(
    opened: OpenConsole, seed: Any, clock: ManualClock, at_rest: AtRest
) -> None:
    seed.busy(30)
    async with opened(size=SIZE) as (app, pilot):
        screen = listing(app)
        await pilot.press("o", "o")
        await at_rest(pilot)
        seed.answered(seed.collection(5000, at=clock.now(), amount=900_000))
        seed.answered(seed.collection(5001, at=clock.now(), amount=1))
        app.tick()
        await at_rest(pilot)
        assert screen.table.excerpt.rows[0].amount == 900_000
        assert screen.table.excerpt.rows[-1].amount == 1


async def test_only_what_is_not_well_is_shown_until_the_key_is_pressed_again(
    opened: OpenConsole, seed: Any, at_rest: AtRest
) -> None:
    seed.busy(20)
    async with opened(size=SIZE) as (app, pilot):
        table = listing(app).table
        everything = len(table.excerpt.rows)
        await pilot.press("exclamation_mark")
        await at_rest(pilot)
        found = {row.status for row in table.excerpt.rows}
        assert found == {"failed", "expired", "on_hold", "contradiction"}
        assert "filter !" in shown(app)
        await pilot.press("exclamation_mark")
        await at_rest(pilot)
        assert len(table.excerpt.rows) == everything


def hurried(context: AppContext, query: Filter, order: SortOrder) -> ListPages[CollectionRow]:
    """Return the list with a search that has no time left after its first step."""
    pages = COLLECTION_LIST.pages(context, query, order)
    pages._budget_s = -1
    return pages


async def test_a_search_that_ran_out_of_time_goes_on_when_asked(
    opened: OpenConsole, seed: Any, clock: ManualClock, at_rest: AtRest
) -> None:
    for n in range(700):
        seed.store.submit(
            seed.observation(seed.collection(n, at=clock.now() - timedelta(seconds=n), fee=n % 600))
        )
    seed.answered(seed.collection(700, at=clock.now() - timedelta(seconds=700), fee=1))
    async with opened(size=SIZE) as (app, pilot):
        screen = listing(app)
        screen.definition = replace(screen.definition, pages=hurried)
        await pilot.press("slash", *"fee:1", "enter")
        await at_rest(pilot)
        assert [row.reference for row in screen.table.excerpt.rows] == ["INV-482001"]
        assert "searched back to 15:15:48, > goes on" in shown(app)
        await pilot.press("greater_than_sign")
        await at_rest(pilot)
        found = [row.reference for row in screen.table.excerpt.rows]
        assert found == ["INV-482001", "INV-482601", "INV-482700"]
        assert "> goes on" not in shown(app)


async def test_the_detail_is_hidden_shown_and_given_the_whole_screen(
    opened: OpenConsole, seed: Any
) -> None:
    seed.busy(10)
    async with opened(size=SIZE) as (app, pilot):
        pane, table = app.screen.query_one("#pane"), listing(app).table
        assert (pane.display, table.display) == (True, True)
        await pilot.press("d")
        assert (pane.display, table.display) == (False, True)
        await pilot.press("d", "z")
        await pilot.pause()
        assert (pane.display, table.display) == (True, False)
        assert pane.size.width > 100
        await pilot.press("z")
        await pilot.pause()
        assert (pane.display, table.display) == (True, True)


async def test_the_parts_of_the_detail_follow_one_another(
    opened: OpenConsole, seed: Any, at_rest: AtRest
) -> None:
    seed.busy(10)
    async with opened(size=SIZE) as (app, pilot):
        await pilot.press("j", "j", "j")
        await at_rest(pilot)
        assert "▸card" in shown(app)
        seen = []
        for _ in range(4):
            await pilot.press("right_square_bracket")
            await at_rest(pilot)
            seen.append(
                next(word for word in ("card", "say", "odd", "JSON") if f"▸{word}" in shown(app))
            )
            if seen[-1] == "say":
                assert "SW  Tuna majibu mawili" in shown(app)
            if seen[-1] == "odd":
                assert "≠ Two final states were reported" in shown(app)
            if seen[-1] == "JSON":
                assert '"id":"col_' in shown(app)
        assert seen == ["say", "odd", "JSON", "card"]
        await pilot.press("left_square_bracket")
        await at_rest(pilot)
        assert "▸JSON" in shown(app)
        await pilot.press("5")
        await at_rest(pilot)
        assert "▸card" not in shown(app), "without intents there is no card and no part"


@pytest.mark.merge
async def test_the_customers_sentence_is_copied_on_every_screen_with_a_payment(
    opened: OpenConsole, seed: Any, at_rest: AtRest
) -> None:
    seed.busy(10)
    seed.intents()
    async with opened(size=SIZE) as (app, pilot):
        for keys, english, swahili in (
            (("j", "j", "j"), "We have two different answers", "Tuna majibu mawili"),
            (("2",), "We have no answer from your network yet", "Bado hatujapata jibu"),
            (("5",), "We are checking whether your request", "Tunahakiki kama ombi lako"),
        ):
            await pilot.press(*keys)
            await at_rest(pilot)
            await pilot.press("s")
            await at_rest(pilot)
            assert app.clipboard.startswith(english)
            assert app.clipboard.splitlines()[1].startswith(swahili)
            assert f"sent to the terminal's clipboard, say: {english}" in shown(app)
            await pilot.press("escape")


async def test_the_card_is_copied_and_kept_in_a_file_of_its_owner(
    opened: OpenConsole, seed: Any, at_rest: AtRest, tmp_path: Path
) -> None:
    seed.busy(10)
    async with opened(size=SIZE, folder=tmp_path) as (app, pilot):
        await pilot.press("j", "j", "j")
        await at_rest(pilot)
        await pilot.press("Y", "enter")
        await at_rest(pilot)
        path = tmp_path / "kusanya-card-live-INV-482901.txt"
        assert path.stat().st_mode & 0o777 == 0o600
        text = path.read_text()
        assert text == app.clipboard
        assert "INV-482901" in text
        assert "≠ Two final states were reported" in text
        assert '"status":"failed"' in text
        assert "+255•••••901" in text
        assert "255754000901" not in text
        assert "754000901" not in text
        assert "kusanya-card-live-INV-482901.txt" in shown(app).replace("\n", "").replace(" ", "")
        await pilot.press("Y", "enter")
        await at_rest(pilot)
        assert (tmp_path / "kusanya-card-live-INV-482901-2.txt").exists(), "nothing is overwritten"


@pytest.mark.merge
async def test_a_card_that_cannot_be_kept_says_why(
    opened: OpenConsole, seed: Any, at_rest: AtRest, tmp_path: Path
) -> None:
    seed.busy(10)
    async with opened("Y", "enter", size=SIZE, folder=tmp_path / "gone") as (app, pilot):
        assert "there is no folder" in shown(app)
        assert app.clipboard == ""
        folder = str(tmp_path)
        await pilot.press(*["ctrl+u"], *folder, "enter")
        await at_rest(pilot)
        assert "name a file, not a folder" in shown(app)
        await pilot.press(*"/card.txt", "enter")
        await at_rest(pilot)
        assert (tmp_path / "card.txt").read_text() == app.clipboard


async def test_the_card_is_only_copied_where_no_file_is_wanted(
    opened: OpenConsole, seed: Any, tmp_path: Path
) -> None:
    seed.busy(10)
    async with opened("Y", "escape", size=SIZE, folder=tmp_path) as (app, _pilot):
        assert app.clipboard.startswith(
            "evidence card, LIVE MODE\nmade 04 Mar 2026 15:24:07 EAT by "
        )
        assert "04 Mar 2026 15:23:" in app.clipboard, "every instant bears its date"
    assert "card" not in " ".join(os.listdir(tmp_path))  # noqa: PTH208 - names


async def test_the_json_is_copied_exactly_but_for_the_phone(
    opened: OpenConsole, seed: Any, at_rest: AtRest
) -> None:
    seed.busy(10)
    async with opened(size=SIZE) as (app, pilot):
        await pilot.press("j", "j", "j", "J")
        await at_rest(pilot)
        said = json.loads(app.clipboard)
        assert said["reference"] == "INV-482901"
        assert said["failure_code"] == "payer_unreachable", "the newest words are those of the poll"
        assert said["phone"] == "+255•••••901"
        exact = seed.store.collections.observations(said["id"], Mode.LIVE)[
            -1
        ].collection.raw.decode()
        assert app.clipboard == exact.replace("255754000901", "+255•••••901")


async def test_the_rail_shows_the_place_in_time_and_a_click_goes_there(
    opened: OpenConsole, seed: Any, at_rest: AtRest
) -> None:
    seed.busy(60)
    async with opened(size=SIZE) as (app, pilot):
        app.tick()
        await at_rest(pilot)
        rail, screen = app.screen.query_one(TimeRail), listing(app)
        assert rail.thumb == 0
        await pilot.press("pagedown", "pagedown")
        await at_rest(pilot)
        assert rail.thumb is not None
        assert rail.thumb > 3
        newest = screen.table.excerpt.rows[0].created_at
        await pilot.click(TimeRail, offset=(0, rail.size.height // 2))
        await at_rest(pilot)
        row = screen.table.row
        assert row is not None
        assert row.created_at < newest
        assert not screen.table.follow
        await pilot.click(TimeRail, offset=(0, 0))
        await at_rest(pilot)
        assert screen.table.follow


@pytest.mark.merge
async def test_the_box_is_reached_again_from_the_story(
    opened: OpenConsole, seed: Any, at_rest: AtRest
) -> None:
    seed.busy(10)
    async with opened(size=SIZE) as (app, pilot):
        await pilot.press("3", *"INV-482901", "enter")
        await at_rest(pilot)
        box = app.screen.query_one("#box")
        assert not box.has_focus
        await pilot.press("slash")
        assert box.has_focus
        await pilot.press(*"INV-482902")
        await at_rest(pilot)
        assert "INV-482902   col_" in shown(app), "what stood there was selected and typed over"
