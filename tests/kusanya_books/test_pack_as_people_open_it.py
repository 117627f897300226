"""The pack as people open it: a workbook cell by cell, a page in a browser without a network."""

import csv
import hashlib
import re
import shutil
import subprocess
import zipfile
from collections.abc import Iterator
from datetime import datetime, timedelta
from importlib import import_module
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from kusanya.text import safe
from kusanya_books.columns import DType
from kusanya_books.judge import report
from kusanya_books.pack import close, html_page, workbook
from kusanya_books.present import layout
from kusanya_books.request.close_request import CloseRequest

openpyxl: Any = import_module("openpyxl")
CHROMIUM = shutil.which("chromium")
SOFFICE = shutil.which("soffice")
EAST = timedelta(hours=3)
FORMATS = {
    DType.WHOLE.pandas: "#,##0",
    DType.SHARE.pandas: "0.0%",
    DType.INSTANT.pandas: "yyyy-mm-dd hh:mm:ss",
    DType.TEXT.pandas: "@",
    DType.FLAG.pandas: "@",
}


@pytest.fixture(scope="module")
def made() -> report.Report:
    """Return the sample month: every kind of break, settlement, fees, failures."""
    return close.prepare(CloseRequest(period="2026-03")).report


@pytest.fixture(scope="module")
def folder(made: report.Report, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("packs")
    written = close.pack(made, out=out, entity="The Shop").folder
    assert written is not None
    return written


@pytest.fixture(scope="module")
def book(folder: Path) -> Iterator[Any]:
    opened = openpyxl.load_workbook(folder / "pack.xlsx", data_only=True)
    yield opened
    opened.close()


@pytest.fixture(scope="module")
def formulas(folder: Path) -> Iterator[Any]:
    """Return the workbook with its formulas in the place of what they come to."""
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
    if dtype == DType.FLAG.pandas:
        return "yes" if value else "no"
    return safe(value, 40_000).replace(layout.TOTAL, "total") if isinstance(value, str) else value


def sheets_of(made: report.Report) -> list[tuple[str, pd.DataFrame]]:
    """Return the tables that have a sheet of their own, as people read them."""
    return [
        (page.name, layout.read(page.frame).head(page.sheet_rows or workbook.SHEET_ROWS))
        for page in made.pages
        if page.name not in workbook.ON_FRONT
    ]


@pytest.mark.merge
def test_every_cell_of_every_sheet_is_that_of_its_frame(made: report.Report, book: Any) -> None:
    tables = sheets_of(made)
    names = [name for name, _ in tables]
    assert book.sheetnames == ["reconciliation", "summary", *names, "sign_off"]
    for sheet_name, frame in tables:
        sheet = book[sheet_name]
        totals = len(list(layout.totals(frame)))
        assert len(frame.columns) <= 12
        assert (sheet.max_row, sheet.max_column) == (len(frame) + 3 + totals, len(frame.columns))
        rows = sheet.iter_rows(min_row=4, max_row=len(frame) + 3)
        for row, values in zip(rows, frame.itertuples(index=False), strict=True):
            for cell, value, name in zip(row, values, frame.columns, strict=True):
                dtype = frame[name].dtype
                due = wanted(value, dtype)
                found = cell.value
                if due is not None and dtype == DType.INSTANT.pandas:
                    # A spreadsheet keeps times as fractions of a day, good to a millisecond.
                    assert abs(found - due) < timedelta(milliseconds=1), (
                        sheet_name,
                        cell.coordinate,
                    )
                    continue
                if due is None:
                    assert found in (None, ""), (sheet_name, cell.coordinate)
                    continue
                assert found == due, (sheet_name, cell.coordinate)
                if due is not None and dtype == DType.WHOLE.pandas:
                    assert isinstance(found, int), (sheet_name, cell.coordinate)


def test_money_is_a_number_text_is_text_and_nothing_is_a_link(
    made: report.Report, formulas: Any
) -> None:
    for sheet_name, frame in sheets_of(made):
        below = len(frame) + 3
        for name, column in zip(
            frame.columns, formulas[sheet_name].iter_cols(min_row=4, max_row=below), strict=True
        ):
            dtype = frame[name].dtype
            for cell in column if len(frame) else ():
                assert cell.hyperlink is None
                if cell.data_type == "f":
                    assert dtype == DType.WHOLE.pandas
                    assert "SUM" in cell.value
                    continue
                if cell.value in (None, ""):
                    continue
                form = FORMATS.get(dtype, "yyyy-mm-dd")
                assert cell.number_format == form, (sheet_name, cell.coordinate)
                kind = {"#,##0": "n", "0.0%": "n", "@": "s"}.get(form, "d")
                assert cell.data_type == kind, (sheet_name, cell.coordinate)


def test_a_sheet_is_wide_enough_to_read_and_prints_with_its_header_on_one_page_across(
    made: report.Report, book: Any
) -> None:
    letter = openpyxl.utils.get_column_letter
    for sheet_name, frame in sheets_of(made):
        sheet = book[sheet_name]
        assert (sheet.freeze_panes, sheet.print_title_rows) == ("B4", "$1:$3")
        assert sheet.auto_filter.ref.startswith("A3:")
        assert (sheet.page_setup.orientation, sheet.page_setup.fitToHeight) == ("landscape", 0)
        widths: dict[int, float] = {}
        for found in sheet.column_dimensions.values():
            widths |= dict.fromkeys(range(found.min, found.max + 1), found.width)
        # In a spreadsheet's pixels: what an A4 page takes at full size, so at 9.5 pt.
        assert sum(width * 7 for width in widths.values()) <= 1_000, sheet_name
        for place, name in enumerate(frame.columns, start=1):
            if frame[name].dtype == DType.TEXT.pandas:
                continue  # wrapped
            shown = [_shown(cell) for cell in sheet[letter(place)][3:]]
            widest = max(map(len, shown), default=0)
            assert widths[place] >= widest * 0.88, (sheet_name, name)


def test_every_sheet_says_whose_it_is_which_run_and_how_it_ended(
    made: report.Report, folder: Path, book: Any
) -> None:
    run_id = folder.name.rpartition("-")[2]
    for sheet in book.worksheets:
        assert sheet["A2"].value == "Breaks are open: do not sign."
        assert sheet["A2"].fill.fgColor.rgb == "FF9B2226"
        assert "do not sign" in sheet.oddHeader.center.text
        foot = sheet.oddFooter
        line = f"The Shop · {made.inputs.period} · live mode · run {run_id}"
        assert line in foot.left.text
        assert foot.right.text.strip() == "page &P of &N"
    signed = [cell.value for row in book["sign_off"].iter_rows() for cell in row if cell.value]
    closed = hashlib.sha256((folder / "closed.parquet").read_bytes()).hexdigest()
    assert {run_id, closed, "prepared by", "reviewed by", "date"} <= set(signed)
    facts = {row[0].value: row[1].value for row in book["sign_off"].iter_rows()}
    assert (facts["books of"], facts["mode"]) == ("The Shop", "live")
    assert facts["business days"] == str(made.inputs.period)


def test_the_statement_leads_from_every_total_to_the_other_and_leaves_nothing(
    made: report.Report,
) -> None:
    lines = made.page("reconciliation").frame
    left = lines[lines["role"] == "difference"]
    assert left["part"].unique().tolist() == [
        "From the ledger to the service",
        "From gross to what was paid out",
    ]
    assert set(left["amount"]) == {0}
    for _, part in lines.groupby(["part", "currency"]):
        summed = part[part["role"].isin(["opening", "adjustment"])]["amount"].sum()
        assert summed == part[part["role"] == "counted"]["amount"].sum()
        assert summed == part[part["role"] == "subtotal"]["amount"].iloc[-1]
    # The first page says the same in one line each.
    brief = made.page("balances").frame
    assert (brief["balance"] + brief["breaks"] + brief["carried"]).equals(brief["adjusted"])
    assert brief["counted"].sum() == lines[lines["role"] == "counted"]["amount"].sum()
    assert set(brief["difference"]) == {0}
    by_provider = made.page("providers").frame
    assert set(by_provider["difference"]) == {0}
    gross = lines[(lines["line"] == "Gross of what succeeded")]["amount"].sum()
    assert by_provider["gross"].sum() == gross


@pytest.mark.ci
@pytest.mark.skipif(SOFFICE is None, reason="LibreOffice is not installed")
@pytest.mark.timeout(180)
def test_the_formulas_come_to_what_was_written(folder: Path, tmp_path: Path, book: Any) -> None:
    # Without the values that were written, a spreadsheet has to add up by itself.
    bare = tmp_path / "bare.xlsx"
    count = 0
    with zipfile.ZipFile(folder / "pack.xlsx") as packed, zipfile.ZipFile(bare, "w") as again:
        for name in packed.namelist():
            text, some = re.subn(rb"(</f>)<v>[^<]*</v>", rb"\1", packed.read(name))
            again.writestr(name, text)
            count += some
    assert count > 50
    command = [str(SOFFICE), "--headless", f"-env:UserInstallation={tmp_path.as_uri()}/profile"]
    command += ["--convert-to", "xlsx:Calc MS Excel 2007 XML", "--outdir", str(tmp_path / "out")]
    subprocess.run([*command, str(bare)], check=True, capture_output=True, timeout=150)
    computed = openpyxl.load_workbook(tmp_path / "out" / "bare.xlsx", data_only=True)
    written = openpyxl.load_workbook(folder / "pack.xlsx", data_only=True)
    compared = 0
    for sheet in openpyxl.load_workbook(folder / "pack.xlsx").worksheets:
        for cell in (cell for row in sheet.iter_rows() for cell in row if cell.data_type == "f"):
            due = written[sheet.title][cell.coordinate].value
            assert computed[sheet.title][cell.coordinate].value == due, (sheet.title, cell.value)
            compared += 1
    assert compared == count


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
        captions = page.locator(".wide caption").all_inner_texts()
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


@pytest.mark.browser
@pytest.mark.ci
@pytest.mark.skipif(CHROMIUM is None, reason="Chromium is not installed")
@pytest.mark.timeout(120)
def test_printed_it_is_what_a_person_signs_on_twelve_sheets_and_no_table_is_cut(
    made: report.Report, folder: Path, tmp_path: Path
) -> None:
    playwright: Any = import_module("playwright.sync_api")
    with playwright.sync_playwright() as started:
        browser = started.chromium.launch(
            executable_path=CHROMIUM, args=["--headless", "--no-sandbox", "--disable-gpu"]
        )
        # A4 across, less its margins, at 96 dots an inch.
        page = browser.new_page(viewport={"width": 1047, "height": 700})
        page.goto((folder / "report.html").as_uri())
        page.pdf(path=tmp_path / "paper.pdf", prefer_css_page_size=True)
        page.emulate_media(media="print")
        printed = page.locator(".wide:visible")
        names = [each.get_attribute("id") for each in printed.all()]
        wide = [each.locator("table").evaluate("it => it.scrollWidth") for each in printed.all()]
        rows = page.locator("#open_items tbody tr:visible").count()
        said = page.locator("#open_items").inner_text()
        browser.close()
    sheets = len(re.findall(rb"/Type\s*/Page[^s]", (tmp_path / "paper.pdf").read_bytes()))
    assert 3 <= sheets <= 12
    assert set(names) <= html_page.ON_PAPER
    assert {"findings", "open_items", "bridge", "coverage", "accounted"} <= set(names)
    assert max(wide) <= 1047
    assert len(made.items) <= rows <= html_page.PAPER_ROWS
    assert "The first" not in said


def test_a_table_of_more_rows_than_are_printed_says_so_on_paper() -> None:
    many = html_page.PAPER_ROWS + 1
    table = pd.DataFrame({"a": [1]})
    said = "The first 100 of 101 rows: all are in csv/open_items.csv."
    assert said in html_page._part("open_items", table, rows=many)
    assert said not in html_page._part("open_items", table, rows=many - 1)
    assert f"nth-child(n + {many})" in html_page._PAGE


def made_sentence(made: report.Report) -> str:
    return f"The bridge closes to zero. What needs a person: breaks {made.breaks}."
