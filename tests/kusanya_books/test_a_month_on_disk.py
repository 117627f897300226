"""A month that stays on the disk gives the pack that a month in memory gives, byte by byte."""

import gc
import hashlib
import shutil
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from importlib import import_module
from itertools import pairwise
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pytest
from tests.kit.payments import by_event

from kusanya.store import Store
from kusanya.store.queries.bulk import fee_sources, pieces
from kusanya_books import columns
from kusanya_books.columns import KEYS, LEDGER
from kusanya_books.engine import on_disk
from kusanya_books.engine.engine import Dataset
from kusanya_books.judge import report, report_pages
from kusanya_books.pack import close, tables
from kusanya_books.read import load
from kusanya_books.request.close_request import CloseRequest
from kusanya_books.request.report_inputs import Inputs

pytestmark = pytest.mark.usefixtures("no_settings")
NOON = datetime(2026, 3, 5, 9, tzinfo=UTC)
PAYMENTS = 230


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a store, and books of which some lines are wrong or missing."""
    folder = tmp_path_factory.mktemp("month")
    lines = ["reference,amount,fee,currency,booked_at"]
    with Store.open(folder / "store.db") as opened:
        for number in range(1, PAYMENTS + 1):
            at = NOON + timedelta(hours=number)
            opened.record(by_event(number, at, amount=1_000 + number, fee=18))
            wrong = 5 if number % 50 == 0 else 0
            if number % 60:
                lines.append(f"R-{number},{1_000 + number + wrong},18,TZS,{at.isoformat()}")
    (folder / "ledger.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return folder


def month(home: Path, *, is_on_disk: bool) -> Inputs:
    return load.inputs(
        CloseRequest(
            store=str(home / "store.db"),
            mode="live",
            period="2026-03",
            ledger=str(home / "ledger.csv"),
        ),
        evidence=True,
        on_disk=is_on_disk,
    )


@pytest.fixture
def _small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let pieces be so small that a month of the test has many."""
    monkeypatch.setattr(pieces, "_FETCHED", 20)
    monkeypatch.setattr(pieces, "_FETCHES", 2)
    monkeypatch.setattr(fee_sources, "_SCAN", 30)
    monkeypatch.setattr(fee_sources, "_TOGETHER", 100)
    monkeypatch.setattr(on_disk, "_ROWS", 70)
    monkeypatch.setattr(report_pages, "_PAIRS_SHOWN", 205)


@pytest.mark.merge
@pytest.mark.usefixtures("_small")
@pytest.mark.parametrize("long", [100, 5_000], ids=["a column at a time", "row by row"])
def test_the_pack_is_that_of_a_month_in_memory(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, long: int
) -> None:
    monkeypatch.setattr(tables, "_LONG", long)
    packs = {}
    for is_on_disk in (False, True):
        made = report.report(month(home, is_on_disk=is_on_disk))
        assert isinstance(made.inputs.collections, Dataset) is is_on_disk
        assert (made.page("matched").every is not None) is is_on_disk
        folder = close.pack(made, out=tmp_path / str(is_on_disk)).folder
        assert folder is not None
        packs[is_on_disk] = {
            str(path.relative_to(folder)): path.read_bytes()
            for path in folder.rglob("*")
            if path.is_file()
        }
    assert packs[True].keys() == packs[False].keys()
    for name, data in packs[False].items():
        assert packs[True][name] == data, name
    # 3 payments are not in the books, 4 lines have another amount.
    assert packs[True]["csv/matched.raw.csv"].count(b"\r\n") == 1 + PAYMENTS - 3 - 4


@pytest.mark.usefixtures("_small")
def test_a_month_on_disk_is_read_as_frames_where_somebody_asks(home: Path) -> None:
    kept, plain = month(home, is_on_disk=True), month(home, is_on_disk=False)
    pd.testing.assert_frame_equal(kept.frame, plain.frame)
    assert kept.books is not None
    assert plain.books is not None
    pd.testing.assert_frame_equal(kept.books, plain.books)
    pd.testing.assert_frame_equal(kept.control, plain.control)
    assert kept.control["agrees"].all()
    assert kept.frame["fee_event"].eq(18).all()
    assert kept.quality == plain.quality


@pytest.mark.merge
def test_the_first_page_has_hashes_whole_beside_the_ends_of_long_names(
    home: Path, tmp_path: Path
) -> None:
    books = tmp_path / "the-shop-of-kariakoo-ledger-of-march-2026.csv"
    shutil.copy(home / "ledger.csv", books)
    loaded = load.inputs(
        CloseRequest(
            store=str(home / "store.db"), mode="live", period="2026-03", ledger=str(books)
        ),
        on_disk=True,
    )
    folder = close.pack(report.report(loaded), out=tmp_path / "out").folder
    assert folder is not None
    book = import_module("openpyxl").load_workbook(folder / "pack.xlsx")
    rows = [[cell.value for cell in row[:2]] for row in book["reconciliation"].iter_rows()]
    book.close()
    digest = hashlib.sha256(books.read_bytes()).hexdigest()
    assert ["ledger the-…h-2026.csv", digest] in rows


def test_the_files_of_a_month_go_with_it(home: Path) -> None:
    kept = month(home, is_on_disk=True)
    assert isinstance(kept.collections, Dataset)
    [folder] = kept.collections.folders
    assert folder.stat().st_mode & 0o777 == 0o700
    assert [path.name for path in folder.iterdir()] == ["collections.parquet"]
    del kept
    gc.collect()
    assert not folder.exists()


def test_tables_are_cut_to_one_size_however_they_came(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(on_disk, "_ROWS", 10)
    whole = pa.table({"n": list(range(35))})

    def cut(*places: int) -> Iterator[pa.Table]:
        ends = [0, *places, 35]
        yield from (whole.slice(a, b - a) for a, b in pairwise(ends))

    for places in ((), (1, 2, 3), (10, 20, 30), (34,), (5, 5, 31)):
        found = list(on_disk.even(cut(*places)))
        assert [len(table) for table in found] == [10, 10, 10, 5]
        assert pa.concat_tables(found).equals(whole)
    assert list(on_disk.even([])) == []


def test_an_empty_table_is_written_and_read() -> None:
    empty = on_disk.save_frame(LEDGER, columns.empty(LEDGER))
    every = on_disk.Pieces(empty)
    assert len(every) == 0
    [frame] = every
    assert frame.dtypes.equals(columns.empty(LEDGER).dtypes)
    assert every.head(5).empty


def test_rows_are_values_with_none_for_what_is_missing() -> None:
    keys = columns.frame(KEYS, {"id": ["a", None], "reference": [None, "R"]})
    day = columns.frame(
        columns.Schema("day", {"on": columns.DType.DAY, "n": columns.DType.WHOLE}),
        {"on": [pd.Timestamp(date(2026, 3, 5)), None], "n": [2**53 + 1, None]},
    )
    assert columns.dicts(keys) == [{"id": "a", "reference": None}, {"id": None, "reference": "R"}]
    assert columns.dicts(day) == [
        {"on": pd.Timestamp("2026-03-05"), "n": 2**53 + 1},
        {"on": None, "n": None},
    ]
