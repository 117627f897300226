"""The pack as people open it: a workbook cell by cell, a page in a browser without a network."""

import csv
import shutil
from collections.abc import Iterator
from datetime import datetime, timedelta
from importlib import import_module
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from kusanya.reconcile.analysis import report
from kusanya.reconcile.frames.columns import DType
from kusanya.reconcile.pack import close
from kusanya.text import safe

openpyxl: Any = import_module("openpyxl")
CHROMIUM = shutil.which("chromium")
EAST = timedelta(hours=3)
FORMATS = {
    DType.WHOLE.pandas: "#,##0",
    DType.SHARE.pandas: "0.0%",
    DType.INSTANT.pandas: "yyyy-mm-dd hh:mm:ss",
    DType.TEXT.pandas: "@",
}


@pytest.fixture(scope="module")
def made() -> report.Report:
    """Return the sample month: every kind of break, settlement, fees, failures."""
    return close.prepare(period="2026-03").report


@pytest.fixture(scope="module")
def folder(made: report.Report, tmp_path_factory: pytest.TempPathFactory) -> Path:
    written = close.pack(made, out=tmp_path_factory.mktemp("packs")).folder
    assert written is not None
    return written


@pytest.fixture(scope="module")
def book(folder: Path) -> Iterator[Any]:
    opened = openpyxl.load_workbook(folder / "pack.xlsx")
    yield opened
    opened.close()


def wanted(value: Any, dtype: Any) -> Any:
    """Return what a cell holds for a value of a frame; money stays a whole number."""
    if pd.isna(value):
        return None
    if dtype == DType.INSTANT.pandas:
        return value.to_pydatetime().replace(tzinfo=None) + EAST
    if dtype == DType.DAY.pandas:
        return value.to_pydatetime()
    if dtype == DType.SHARE.pandas:
        return pytest.approx(float(value))
    return safe(value, 40_000) if isinstance(value, str) else value


def test_every_cell_of_every_sheet_is_that_of_its_frame(made: report.Report, book: Any) -> None:
    names = [page.name for page in made.pages]
    assert book.sheetnames == ["summary", *names, "sign_off"]
    for page in made.pages:
        sheet, frame = book[page.name], page.frame
        assert (sheet.max_row, sheet.max_column) == (len(frame) + 1, len(frame.columns))
        cells = sheet.iter_rows(min_row=2, max_row=len(frame) + 1)
        for row, values in zip(cells, frame.itertuples(index=False), strict=True):
            for cell, value, name in zip(row, values, frame.columns, strict=True):
                dtype = frame[name].dtype
                due = wanted(value, dtype)
                found = cell.value
                if due is not None and dtype == DType.INSTANT.pandas:
                    # A spreadsheet keeps times as fractions of a day, good to a millisecond.
                    assert abs(found - due) < timedelta(milliseconds=1), (
                        page.name,
                        cell.coordinate,
                    )
                    continue
                assert found == due, (page.name, cell.coordinate)
                if due is not None and dtype == DType.WHOLE.pandas:
                    assert isinstance(found, int), (page.name, cell.coordinate)


def test_money_is_a_number_text_is_text_and_nothing_is_a_formula_or_a_link(
    made: report.Report, book: Any
) -> None:
    for page in made.pages:
        for name, column in zip(
            page.frame.columns, book[page.name].iter_cols(min_row=2), strict=True
        ):
            dtype = page.frame[name].dtype
            for cell in column:
                assert cell.data_type != "f"
                assert cell.hyperlink is None
                if cell.value is None or dtype == DType.FLAG.pandas:
                    continue
                form = FORMATS.get(dtype, "yyyy-mm-dd")
                assert cell.number_format == form, (page.name, cell.coordinate)
                kind = {"#,##0": "n", "0.0%": "n", "@": "s"}.get(form, "d")
                assert cell.data_type == kind, (page.name, cell.coordinate)


def test_a_sheet_is_wide_enough_to_read_and_prints_with_its_header(
    made: report.Report, book: Any
) -> None:
    letter = openpyxl.utils.get_column_letter
    for page in made.pages:
        sheet = book[page.name]
        assert (sheet.freeze_panes, sheet.print_title_rows) == ("B2", "$1:$1")
        assert sheet.auto_filter.ref.startswith("A1:")
        assert (sheet.page_setup.orientation, sheet.page_setup.fitToHeight) == ("landscape", 0)
        widths: dict[int, float] = {}
        for found in sheet.column_dimensions.values():
            widths |= dict.fromkeys(range(found.min, found.max + 1), found.width)
        for place, name in enumerate(page.frame.columns, start=1):
            shown = [_shown(cell) for cell in sheet[letter(place)]]
            assert widths[place] >= min(max(map(len, shown)), 60), (page.name, name)


def _shown(cell: Any) -> str:
    value = cell.value
    if isinstance(value, datetime):
        return str(value)[:19] if cell.number_format.endswith("ss") else str(value.date())
    if isinstance(value, float) or cell.number_format == "0.0%":
        return f"{value or 0:.1%}"
    return f"{value:,}" if type(value) is int else "" if value is None else str(value)[:60]


def test_phones_leave_in_no_form_but_the_masked_one(made: report.Report, folder: Path) -> None:
    keys = set(made.inputs.frame["phone_key"].dropna().head(200))
    for page in made.pages:
        assert not {"phone", "phone_key"} & set(page.frame.columns), page.name
    for path in (*folder.rglob("*.csv"), folder / "report.html"):
        text = path.read_text(encoding="utf-8-sig")
        assert not any(key in text for key in keys), path.name


def test_a_machine_csv_gives_the_frame_back(made: report.Report, folder: Path) -> None:
    for page in made.pages:
        with (folder / "csv" / f"{page.name}.raw.csv").open(encoding="utf-8", newline="") as file:
            header, *rows = list(csv.reader(file))
        assert header == list(page.frame.columns)
        again = pd.DataFrame(rows, columns=header, dtype="object")
        for name in header:
            column, text = page.frame[name], again[name]
            assert (text == "").tolist() == column.isna().tolist(), (page.name, name)
            known = column.notna()
            if column.dtype == DType.WHOLE.pandas:
                assert [int(cell) for cell in text[known]] == column[known].tolist()
            elif column.dtype == DType.INSTANT.pandas:
                back = pd.to_datetime(text[known], utc=True, format="ISO8601")
                assert back.astype(DType.INSTANT.pandas).equals(column[known]), (page.name, name)
            elif column.dtype == DType.DAY.pandas:
                assert text[known].tolist() == column[known].dt.strftime("%Y-%m-%d").tolist()
            elif column.dtype == DType.SHARE.pandas:
                assert [float(cell) for cell in text[known]] == column[known].tolist()
            else:
                assert text[known].tolist() == column[known].astype("object").map(str).tolist()


@pytest.mark.browser
@pytest.mark.ci
@pytest.mark.skipif(CHROMIUM is None, reason="Chromium is not installed")
@pytest.mark.timeout(120)
def test_the_page_opens_without_a_network_and_shows_its_tables_and_charts(
    made: report.Report, folder: Path
) -> None:
    playwright: Any = import_module("playwright.sync_api")
    asked: list[str] = []
    complaints: list[str] = []

    def refuse(route: Any) -> None:
        asked.append(route.request.url)
        route.abort()

    address = (folder / "report.html").as_uri()
    with playwright.sync_playwright() as started:
        browser = started.chromium.launch(
            executable_path=CHROMIUM, args=["--headless", "--no-sandbox", "--disable-gpu"]
        )
        context = browser.new_context(viewport={"width": 1400, "height": 1000})
        context.set_offline(True)
        context.route(lambda url: url != address and not url.startswith("data:"), refuse)
        page = context.new_page()
        page.on("console", lambda message: complaints.append(message.text))
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.goto(address)
        assert (asked, complaints) == ([], [])
        assert page.locator("h1").inner_text().startswith("Reconciliation of 2026-03-01")
        assert page.locator(".verdict").inner_text() == made_sentence(made)
        captions = page.locator("caption").all_inner_texts()
        assert len(captions) == len(made.pages) + 1
        pictures = page.locator("img")
        assert pictures.count() == 4
        for place in range(4):
            drawn = pictures.nth(place)
            assert drawn.is_visible()
            assert drawn.evaluate("it => it.complete && it.naturalWidth") > 600
        # The page itself never scrolls sideways: a wide table scrolls within its own frame.
        assert page.evaluate("document.documentElement.scrollWidth") <= 1400
        for link in page.locator("nav a").all():
            link.click()
            name = (link.get_attribute("href") or "").removeprefix("#")
            assert page.locator(f"#{name}").bounding_box()["y"] < 1000
        assert (asked, complaints) == ([], [])
        browser.close()


def made_sentence(made: report.Report) -> str:
    return f"The bridge closes to zero; {made.breaks} break(s) need a person."
