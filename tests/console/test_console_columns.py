"""Columns of a list: chosen, moved and widened in a dialog, kept in a file, sorted by a click."""

import os
import re
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from tests.console.looking import AtRest, OpenConsole, lines, press, shown
from tests.console.picturing import on_two_sizes
from tests.console.seeding import NOW
from textual.pilot import Pilot

from kusanya.domain.failure_codes import FAILURE_CODES
from kusanya.errors import ConfigurationError
from kusanya.store.records import SortOrder
from kusanya_console.application.app import ConsoleApp
from kusanya_console.deliveries import list as deliveries_list
from kusanya_console.intents import list as intents_list
from kusanya_console.lists.list_screen import ListScreen
from kusanya_console.lists.table_screen import TableScreen
from kusanya_console.live.list import COLUMNS
from kusanya_console.lookup import matches
from kusanya_console.ui import vocabulary
from kusanya_console.ui.arrangement import Arrangement, Arrangements, ColumnChoice
from kusanya_console.ui.columns import Column, Heading, widths
from kusanya_console.widgets.record_table import RecordTable


def head(app: ConsoleApp) -> list[str]:
    """Return the words above the list."""
    screen = app.console_screen
    assert isinstance(screen, TableScreen)
    return lines(app)[screen.table.region.y][: screen.table.size.width].split()


def listing(app: ConsoleApp) -> ListScreen[Any]:
    assert isinstance(app.console_screen, ListScreen)
    return app.console_screen


async def click_heading(pilot: Pilot[Any], at_rest: AtRest, word: str) -> None:
    """Click on a heading of the list."""
    screen = pilot.app.console_screen  # type: ignore[attr-defined] # it is ours
    top = screen.table.region
    line = lines(pilot.app)[top.y]
    await pilot.click(RecordTable, offset=(line.index(word) - top.x, 0))
    await at_rest(pilot)


@pytest.mark.merge
@pytest.mark.anyio
async def test_columns_are_hidden_moved_and_widened_and_stay_for_the_next_session(
    console: Any, seed: Any, at_rest: AtRest, tmp_path: Path
) -> None:
    seed.busy(12)
    path = tmp_path / "data" / "lists.json"
    app: ConsoleApp = console()
    app.use_arrangements(path)
    async with app.run_test(size=(160, 50)) as pilot:
        await at_rest(pilot)
        assert head(app)[:4] == ["created", "▼", "reference", "channel"]
        # Channel goes, id comes, the reference is twice as wide and stands first.
        await press(pilot, at_rest, "C", "j", "j", "j", "space", "k", *["plus"] * 12)
        assert "Columns of Live" in shown(app)
        await press(pilot, at_rest, "K", "K", *["j"] * 20, "space", "escape")
        assert head(app)[:3] == ["reference", "created", "▼"]
        assert "channel" not in head(app)
        assert "id" in head(app)
        assert any(line.startswith("  INV-482") for line in lines(app))
        before = head(app)
    again: ConsoleApp = console()
    again.use_arrangements(path)
    async with again.run_test(size=(160, 50)) as pilot:
        await at_rest(pilot)
        assert head(again) == before
        await press(pilot, at_rest, "C", "0", "enter")
        assert head(again)[:4] == ["created", "▼", "reference", "channel"]


@pytest.mark.anyio
async def test_a_list_keeps_one_column_and_the_one_it_is_sorted_by(
    opened: OpenConsole, seed: Any, at_rest: AtRest
) -> None:
    seed.busy(6)
    async with opened("C", "space") as (app, pilot):
        assert "the list is sorted by it: it stays" in shown(app)
        await press(pilot, at_rest, "o", "j", "o")
        assert "latest final first" in shown(app), "the list follows the dialog"
        await press(pilot, at_rest, "k", "space", *["j", "space"] * 8)
        await press(pilot, at_rest, "escape")
        assert head(app) == ["final", "▼"]


@pytest.mark.anyio
async def test_a_click_on_a_heading_sorts_and_once_more_turns_round(
    opened: OpenConsole, seed: Any, at_rest: AtRest
) -> None:
    seed.busy(30)
    async with opened(size=(120, 36)) as (app, pilot):
        await press(pilot, at_rest, "j", "j")
        pointed = listing(app).table.cursor
        await click_heading(pilot, at_rest, "amount")
        amounts = [row.amount for row in listing(app).table.excerpt.rows]
        assert amounts == sorted(amounts, reverse=True)
        assert "TZS▼" in lines(app)[listing(app).table.region.y].replace(" ", "")
        assert listing(app).table.cursor == pointed, "the cursor stays on its record"
        await click_heading(pilot, at_rest, "amount")
        assert [row.amount for row in listing(app).table.excerpt.rows] == sorted(amounts)
        assert "smallest first" in shown(app)
        await press(pilot, at_rest, "O")
        assert "largest first" in shown(app), "the key turns it as the click does"
        await click_heading(pilot, at_rest, "channel")
        assert "only the loaded page could be sorted by it" in shown(app)
        assert "largest first" in shown(app)


@pytest.mark.anyio
async def test_the_oldest_stand_on_top_of_a_turned_list_on_every_screen(
    opened: OpenConsole, seed: Any, at_rest: AtRest
) -> None:
    seed.busy(30)
    async with opened("O") as (app, pilot):
        at = [row.created_at for row in listing(app).table.excerpt.rows]
        assert at == sorted(at)
        assert "oldest first" in shown(app)
        await press(pilot, at_rest, "2")
        await click_heading(pilot, at_rest, "arrived")
        arrived = [row.arrived_at for row in listing(app).table.excerpt.rows]
        assert arrived == sorted(arrived)
        assert len(arrived) > 10


@pytest.mark.anyio
async def test_a_record_that_comes_at_the_lower_end_is_reached_by_scrolling(
    opened: OpenConsole, seed: Any, clock: Any, at_rest: AtRest
) -> None:
    seed.busy(40)
    async with opened("O", "G") as (app, pilot):
        for n in range(2001, 2004):
            seed.answered(seed.collection(n, at=clock.now()))
        app.tick()
        await at_rest(pilot)
        await press(pilot, at_rest, "k", "j", "j", "G")
        row = listing(app).table.row
        assert row is not None
        assert row.reference == "INV-484003"


@pytest.mark.anyio
@pytest.mark.parametrize("screen", ["5", "3"])
async def test_a_list_with_an_order_of_its_own_says_so(
    screen: str, opened: OpenConsole, seed: Any, at_rest: AtRest
) -> None:
    seed.busy(30)
    seed.intents()
    keys = [screen, *"INV-4820", "enter"] if screen == "3" else [screen]
    async with opened(*keys) as (app, pilot):
        before = [row.id for row in app.console_screen.table.excerpt.rows]  # type: ignore[union-attr]
        await click_heading(pilot, at_rest, "amount")
        assert "this list keeps its order" in shown(app)
        assert [row.id for row in app.console_screen.table.excerpt.rows] == before  # type: ignore[union-attr]


@pytest.mark.merge
@pytest.mark.anyio
async def test_the_palette_arranges_the_matches_of_a_lookup(
    opened: OpenConsole, seed: Any, at_rest: AtRest
) -> None:
    seed.busy(30)
    async with opened("3", *"INV-4820", "enter") as (app, pilot):
        await app.run_action("screen.columns")
        await at_rest(pilot)
        await press(pilot, at_rest, "j", "j", "j", "space", "escape")
        assert "phone" in head(app)
        assert "+255•••••" in shown(app)


def test_the_file_says_what_is_wrong_with_it_and_is_written_anew(tmp_path: Path) -> None:
    path = tmp_path / "lists.json"
    path.write_text("{", encoding="utf-8")
    kept = Arrangements(path)
    with pytest.raises(ConfigurationError, match="the lists are as usual"):
        kept.read()
    assert kept.of("live") == Arrangement()
    wide = Arrangement((ColumnChoice("reference", width=30),), SortOrder.AMOUNT, ascending=True)
    kept.keep("live", wide)
    again = Arrangements(path)
    again.read()
    assert again.of("live") == wide


def test_two_consoles_keep_each_others_lists(tmp_path: Path) -> None:
    one, other = Arrangements(tmp_path / "lists.json"), Arrangements(tmp_path / "lists.json")
    mine, yours = Arrangement(ascending=True), Arrangement((ColumnChoice("event"),))
    one.keep("live", mine)
    other.keep("deliveries", yours)
    one.read()
    assert (one.of("live"), one.of("deliveries")) == (mine, yours)


def test_a_folder_that_cannot_be_written_is_named_and_the_columns_count_on(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    kept = Arrangements(tmp_path / "file" / "lists.json")
    with pytest.raises(ConfigurationError, match="cannot"):
        kept.keep("live", Arrangement(ascending=True))
    assert kept.of("live").ascending


def test_what_a_file_of_another_version_names_is_left_out_and_new_columns_stand_last() -> None:
    strange = Arrangement(
        (ColumnChoice("weather"), ColumnChoice("status"), ColumnChoice("fee", False))
    )
    titles = [column.title for column in strange.arrange(COLUMNS, Heading(SortOrder.CREATED))]
    assert titles[0] == "status"
    assert "fee" not in titles
    assert "created" in titles
    assert Arrangement(order=SortOrder.FINAL).sorting((SortOrder.CREATED,)) == Heading(
        SortOrder.CREATED
    )


def test_a_chosen_width_is_kept_within_bounds_and_the_arrow_is_never_cut_off() -> None:
    column: Column[Any] = Column(
        "amount TZS", 10, lambda _row, _look: ("", ""), order=SortOrder.AMOUNT
    )
    tiny = Arrangement((ColumnChoice("amount TZS", width=1),)).arrange((column,), Heading())
    assert tiny[0].width == 3
    assert widths(tiny, {}, 60) == [3]
    sorted_by = Heading(SortOrder.AMOUNT)
    assert sorted_by.of(column, 12) == "amount TZS ▼"
    assert sorted_by.of(column, 11) == "amount TZS ▼"[:10] + " ▼"
    assert sorted_by.of(column, 10) == "amount TZS▼", "in the gap behind the column"
    assert sorted_by.of(column, 6) == "amoun…▼"
    assert Heading(SortOrder.AMOUNT, ascending=True).of(column, 13) == "amount TZS ▲ "


@pytest.mark.skipif(os.name == "nt", reason="the mode of a file")
def test_nothing_is_left_behind_beside_the_file(tmp_path: Path) -> None:
    Arrangements(tmp_path / "lists.json").keep("live", Arrangement())
    assert [path.name for path in tmp_path.iterdir()] == ["lists.json"]


@on_two_sizes
def test_the_columns_of_live(size: tuple[int, int], seed: Any, picture: Any) -> None:
    seed.busy(30)
    assert picture(size, "C", "j", "space", "j", "j", "space", "plus")


@pytest.mark.anyio
@pytest.mark.parametrize("size", [(60, 24), (80, 24), (120, 36), (160, 50), (175, 50)])
async def test_live_tells_the_failure_codes_apart_at_every_width(
    opened: OpenConsole, seed: Any, at_rest: AtRest, size: tuple[int, int]
) -> None:
    for n, code in enumerate(FAILURE_CODES):
        seed.life(n, at=NOW - timedelta(minutes=n + 1), status="failed", failure_code=code)
    async with opened(size=size) as (app, _pilot):
        drawn = [line[: listing(app).table.size.width] for line in lines(app)]
        seen = [found[1] for line in drawn if (found := re.search(r"✕ (?:failed )?(\S+)", line))]
        assert len(set(seen)) == len(FAILURE_CODES)
        for code, shown_code in zip(FAILURE_CODES, seen, strict=True):
            assert code.startswith(shown_code.rstrip("…"))


LARGEST = {"amount": 999_999_999, "fee": 9_999_999, "currency": "TZS"}


@pytest.mark.anyio
@pytest.mark.parametrize("width", [80, 100, 120, 160])
async def test_the_largest_figures_are_whole_at_each_size(
    opened: OpenConsole, seed: Any, width: int
) -> None:
    at = NOW - timedelta(minutes=1)
    seed.answered(seed.collection(1, at=at, status="succeeded", completed_at=at, **LARGEST))
    async with opened("1", size=(width, 36)) as (app, _):
        [row] = [line for line in lines(app) if "INV-" in line[:40]]
        assert "999,999,999" in row
        assert "…" not in row[: listing(app).table.size.width]


@pytest.mark.anyio
@pytest.mark.parametrize("code", sorted(FAILURE_CODES))
async def test_live_shows_the_whole_of_each_failure_code_at_120_columns(
    opened: OpenConsole, seed: Any, code: str
) -> None:
    at = NOW - timedelta(minutes=1)
    seed.answered(seed.collection(1, at=at, status="failed", completed_at=at, failure_code=code))
    async with opened("1", size=(120, 36)) as (app, _):
        table = listing(app).table
        [row] = [line[: table.size.width] for line in lines(app) if "INV-" in line[:40]]
        assert f" {code} " in f"{row} "


@pytest.mark.parametrize(
    ("said", "short"),
    [
        ("✕ failed insufficient_funds", "✕ insufficient_funds"),
        ("≠ contradiction payer_unreachable", "≠ contradiction"),
        ("● succeeded", "● succeeded"),
        ("? a_status_nobody_knows", "? a_status_nobody_knows"),
    ],
)
def test_where_there_is_no_room_the_code_stays_but_of_a_contradiction_the_word(
    said: str, short: str
) -> None:
    assert vocabulary.code_alone(said) == short


def test_every_figure_of_every_list_takes_the_cells_that_it_needs() -> None:
    lists = (COLUMNS, deliveries_list.COLUMNS, intents_list.COLUMNS, matches.COLUMNS)
    figures: list[Column[Any]] = [one for of in lists for one in of if one.right]
    assert len(figures) >= 8
    assert [one.title for one in figures if not one.whole] == []
