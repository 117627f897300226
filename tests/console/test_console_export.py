"""Exports: every row of the filter, once; no formula, no whole phone, no half of a file."""

import csv
import json
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from tests.console.looking import AtRest, OpenConsole, shown

from kusanya.clock import ManualClock
from kusanya.filters import Filter
from kusanya.store import Store
from kusanya.store.records import CollectionRow, SortOrder
from kusanya.wire import Mode
from kusanya_console.actions.context import AppContext
from kusanya_console.lists.export import ExportFormat, write_list
from kusanya_console.lists.paging import ListPages
from kusanya_console.live.list import COLLECTION_LIST

pytestmark = pytest.mark.anyio


def written(folder: Path) -> Path:
    """Return the one file that an export left, which is for its owner alone."""
    [target] = folder.glob("kusanya-*")
    assert target.stat().st_mode & 0o777 == 0o600
    return target


def collection_pages(store: Store, clock: ManualClock) -> ListPages[CollectionRow]:
    """Return all collections, newest first."""
    context = AppContext(store=store, mode=Mode.LIVE, clock=clock)
    return COLLECTION_LIST.pages(context, Filter(), SortOrder.CREATED)


def read(path: Path) -> list[dict[str, str]]:
    """Return the rows of a file."""
    with path.open(encoding="utf-8-sig", newline="") as file:
        return list(csv.DictReader(file))


async def test_the_rows_of_the_filter_are_written_and_the_screen_says_where(
    opened: OpenConsole, seed: Any, tmp_path: Path, at_rest: AtRest
) -> None:
    seed.busy(30)
    async with opened(folder=tmp_path) as (app, pilot):
        await pilot.press("slash", *"failed", "enter")
        await at_rest(pilot)
        listed = [row.id for row in app.console_screen.table.excerpt.rows]  # type: ignore[union-attr] # a list
        await pilot.press("ctrl+s", "enter")
        await at_rest(pilot)
        said = " ".join(shown(app).split())
        assert f"{len(listed)} rows written to" in said
        assert "phones masked" in said
    target = written(tmp_path)
    assert target.name == "kusanya-live-collections-20260304-152407.csv"
    rows = read(target)
    assert [row["id"] for row in rows] == listed
    assert {row["status"] for row in rows} == {"failed"}
    assert {row["phone"][:10] for row in rows} == {"'+255•••••"}


async def test_what_looks_like_a_formula_is_written_as_text(
    opened: OpenConsole, seed: Any, clock: ManualClock, tmp_path: Path
) -> None:
    for n, text in enumerate(
        ("=1+1", "+1", "-1", "@SUM(A1)", "  =1", "＝1", "＠x", "ok", "\t=1", "\x1b]0;x\x07")
    ):
        seed.answered(seed.collection(n, at=clock.now() - timedelta(seconds=n), reference=text))
    async with opened("ctrl+s", "enter", folder=tmp_path):
        pass
    target = written(tmp_path)
    references = [row["reference"] for row in read(target)]
    assert references[:7] == ["'=1+1", "'+1", "'-1", "'@SUM(A1)", "'  =1", "'＝1", "'＠x"]
    assert references[7] == "ok"
    assert not any(character in "".join(references) for character in "\x1b\x07\t")


async def test_deliveries_have_columns_of_their_own(
    opened: OpenConsole, seed: Any, tmp_path: Path, at_rest: AtRest
) -> None:
    seed.busy(10)
    async with opened(folder=tmp_path) as (_app, pilot):
        await pilot.press("2", "exclamation_mark")
        await at_rest(pilot)
        await pilot.press("ctrl+s", "enter")
        await at_rest(pilot)
    target = written(tmp_path)
    assert {row["reason"] for row in read(target)} >= {"no_match"}


async def test_a_folder_that_is_gone_is_named_as_the_cause(
    opened: OpenConsole, seed: Any, tmp_path: Path
) -> None:
    seed.busy(3)
    gone = tmp_path / "gone"
    async with opened("ctrl+s", "enter", size=(160, 50), folder=gone) as (app, _pilot):
        assert "there is no folder" in shown(app)
        assert not gone.exists()


def test_a_search_that_runs_out_of_time_goes_on_until_every_row_was_tested(
    store: Store, seed: Any, clock: ManualClock, tmp_path: Path
) -> None:
    for n in range(1200):
        store.submit(seed.observation(seed.collection(n, at=clock.now() - timedelta(seconds=n))))
    seed.answered(seed.collection(5000, at=clock.now() - timedelta(days=1)))
    pages = collection_pages(store, clock)
    pages._test, pages._budget_s = (lambda row: row.reference.endswith("0")), 0.0
    target = tmp_path / "found.csv"
    ended = write_list(pages, COLLECTION_LIST.fields, target, stopped=lambda: False)
    assert ended.sentence.startswith("121 rows written")
    assert len({row["id"] for row in read(target)}) == 121


def test_an_export_that_is_stopped_leaves_no_file(
    store: Store, seed: Any, clock: ManualClock, tmp_path: Path
) -> None:
    seed.answered(seed.collection(1, at=clock.now()))
    ended = write_list(
        collection_pages(store, clock),
        COLLECTION_LIST.fields,
        tmp_path / "x.csv",
        stopped=lambda: True,
    )
    assert not ended.is_good
    assert list(tmp_path.glob("x*")) == []


AWKWARD = (
    "plain", "", '"quoted", twice""', "line\nbreak", "carriage\rreturn", "both\r\n", "=1+1", "'=1",
    "\x1b]0;x\x07", "\u202egnp", "漢字", "Z\u0301", "  spaces  ", "a,b;c\td", "\ufeffmark", "7",
)  # fmt: skip


@pytest.fixture
def awkward(store: Store, seed: Any, clock: ManualClock) -> ListPages[CollectionRow]:
    """Return a list whose references are everything that a file's format trips over."""
    for n, text in enumerate(AWKWARD):
        at = clock.now() - timedelta(seconds=n)
        code = None if n % 2 else text
        seed.answered(seed.collection(n, at=at, reference=text, failure_code=code))
    return collection_pages(store, clock)


def kept(source: ListPages[CollectionRow]) -> list[dict[str, Any]]:
    """Return what an exact export has to give back."""
    page = source.page(limit=1000)
    return [
        {name: field(row) for name, field in COLLECTION_LIST.fields.items()} for row in page.rows
    ]


def test_raw_csv_gives_every_value_back_exactly(
    awkward: ListPages[CollectionRow], tmp_path: Path
) -> None:
    target = tmp_path / "x.raw.csv"
    write_list(
        awkward, COLLECTION_LIST.fields, target, form=ExportFormat.RAW, stopped=lambda: False
    )
    with target.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file, strict=True))
    assert [row["reference"] for row in rows] == list(AWKWARD)
    assert rows == [
        {name: "" if value is None else str(value) for name, value in row.items()}
        for row in kept(awkward)
    ]
    assert {row["phone"][:9] for row in rows} == {"+255•••••"}


def test_raw_csv_distinguishes_an_empty_text_from_nothing_and_digits_from_a_number(
    awkward: ListPages[CollectionRow], tmp_path: Path
) -> None:
    target = tmp_path / "x.raw.csv"
    write_list(
        awkward, COLLECTION_LIST.fields, target, form=ExportFormat.RAW, stopped=lambda: False
    )
    lines = target.read_bytes().decode().split("\r\n")
    [seven] = [line for line in lines if line.count(',"7",')]
    assert seven.split(",")[6].isdigit(), "an amount is bare"
    assert seven.endswith(",,"), "no code and no event are nothing"
    [empty] = [line for line in lines if '"live","",' in line]
    assert empty.endswith(",,"), "an empty code says nothing and is kept as none"


def test_json_lines_give_every_value_back_exactly_and_hold_nothing_a_terminal_acts_on(
    awkward: ListPages[CollectionRow], tmp_path: Path
) -> None:
    target = tmp_path / "x.jsonl"
    write_list(
        awkward, COLLECTION_LIST.fields, target, form=ExportFormat.LINES, stopped=lambda: False
    )
    raw = target.read_bytes()
    assert [json.loads(line) for line in raw.splitlines()] == kept(awkward)
    assert set(raw) <= {*range(32, 127), 10}


@pytest.mark.parametrize("form", [ExportFormat.RAW, ExportFormat.LINES])
async def test_the_palette_offers_the_forms_for_programs(
    opened: OpenConsole, seed: Any, tmp_path: Path, at_rest: AtRest, form: ExportFormat
) -> None:
    asked = {ExportFormat.RAW: "export raw csv", ExportFormat.LINES: "export json lines"}[form]
    seed.busy(5)
    async with opened(folder=tmp_path) as (_app, pilot):
        await pilot.press("ctrl+p", *("space" if c == " " else c for c in asked))
        await at_rest(pilot)
        await pilot.press("enter", "enter")
        await at_rest(pilot)
    target = written(tmp_path)
    assert target.name.endswith(form.value)


def test_an_export_of_the_same_second_takes_another_name(
    store: Store, seed: Any, clock: ManualClock, tmp_path: Path
) -> None:
    seed.busy(3)
    target = tmp_path / "kusanya-list.raw.csv"
    target.write_text("an earlier export")
    ended = write_list(
        collection_pages(store, clock),
        COLLECTION_LIST.fields,
        target,
        form=ExportFormat.RAW,
        stopped=lambda: False,
    )
    assert target.read_text() == "an earlier export"
    assert ended.file == tmp_path / "kusanya-list-2.raw.csv"
    assert ended.file.stat().st_nlink == 1
    assert sorted(one.name for one in tmp_path.glob("kusanya-list*")) == [
        "kusanya-list-2.raw.csv",
        "kusanya-list.raw.csv",
    ]


def test_an_export_is_for_its_owner_alone_whatever_stood_where_it_grows(
    store: Store, seed: Any, clock: ManualClock, tmp_path: Path
) -> None:
    seed.busy(3)
    (folder := tmp_path / "shared").mkdir()
    target = folder / "kusanya-list.csv"
    leftover = folder / "kusanya-list.csv.growing"
    leftover.write_text("left by somebody")
    leftover.chmod(0o666)
    with leftover.open() as opened_before:
        source = collection_pages(store, clock)
        write_list(source, COLLECTION_LIST.fields, target, stopped=lambda: False)
        assert opened_before.read() == "left by somebody"
    assert written(folder) == target
