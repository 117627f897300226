"""The pack on disk: a workbook, every table as CSV twice, a page that opens offline, a manifest.

All outside text passes `safe()`; then each writer's own rule keeps it text: a workbook has no
formula and no link, a CSV for spreadsheets no cell that begins like a formula. What a cell cannot
hold is cut and counted. The `.raw.csv` files are exact, for machines only.
"""

import base64
import csv
import hashlib
import io
import json
import shutil
import tempfile
from collections.abc import Iterator
from datetime import datetime
from importlib import import_module
from pathlib import Path
from typing import Any, Final

import msgspec
import pandas as pd
import pyarrow.parquet as pq

from kusanya.business_day import EAT
from kusanya.reconcile import chart, columns, show
from kusanya.reconcile.columns import CLOSED, Kind
from kusanya.reconcile.errors import PackRefused
from kusanya.reconcile.report import Page, Report
from kusanya.text import safe

SHEET_ROWS: Final = 100_000
"""Rows that a sheet holds; the CSV has all."""
CELL_MAX: Final = 32_767
"""Characters that a workbook's cell holds."""
DIGITS_MAX: Final = 10**15
"""Whole numbers from here on lose digits in a spreadsheet: they are written as text."""
HTML_ROWS: Final = 200
_FORMULA: Final = ("=", "+", "-", "@", "＝", "＋", "－", "＠")
_BREAKING: Final = ("\t", "\r", "\n")
Summary = list[tuple[str, Any]]


def write(made: Report, folder: Path, *, summary: Summary, manifest: dict[str, Any]) -> Path:
    """Write a report's pack as `folder` and return it; it appears whole or not at all.

    Where the folder is there already with the same contents it is left alone. Raises PackRefused
    when it cannot be written, or when what is there differs.
    """
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        beside = Path(tempfile.mkdtemp(prefix=".kusanya-", dir=folder.parent))
    except OSError as error:
        raise PackRefused(f"cannot write into {folder.parent}: {error.strerror}") from None
    try:
        _fill(made, beside, summary=summary, manifest=manifest)
        if not folder.exists():
            beside.rename(folder)
        elif (folder / "manifest.json").read_bytes() != (beside / "manifest.json").read_bytes():
            raise PackRefused(f"{folder} is there and differs; move it away first")
    except OSError as error:
        raise PackRefused(f"cannot write {folder}: {error.strerror}") from None
    finally:
        shutil.rmtree(beside, ignore_errors=True)
    return folder


def _fill(made: Report, folder: Path, *, summary: Summary, manifest: dict[str, Any]) -> None:
    folder.chmod(0o755)
    tables = folder / "csv"
    tables.mkdir()
    for page in made.pages:
        to_csv(page.frame, tables / f"{page.name}.csv")
        to_raw_csv(page.frame, tables / f"{page.name}.raw.csv")
    to_xlsx(made, folder / "pack.xlsx", summary=summary)
    (folder / "report.html").write_text(to_html(made, summary=summary), encoding="utf-8")
    pq.write_table(columns.to_arrow(made.closed, CLOSED), folder / "closed.parquet")
    files = {
        str(path.relative_to(folder)): {
            "sha256": hashlib.sha256(path.read_bytes()).hexdigest(),
            "bytes": path.stat().st_size,
        }
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }
    rows = {page.name: len(page.frame) for page in made.pages}
    text = json.dumps({**manifest, "rows": rows, "files": files}, indent=2, sort_keys=True)
    (folder / "manifest.json").write_text(f"{text}\n", encoding="utf-8")


def to_csv(frame: pd.DataFrame, path: Path) -> None:
    """Write a table for spreadsheets: a BOM, safe text, nothing that begins like a formula."""
    with path.open("w", encoding="utf-8-sig", newline="") as file:
        writer = csv.writer(file, lineterminator="\r\n")
        writer.writerow([neutral(str(name)) for name in frame.columns])
        for row in _rows(frame):
            writer.writerow([neutral(cell) if isinstance(cell, str) else cell for cell in row])


def to_raw_csv(frame: pd.DataFrame, path: Path) -> None:
    """Write a table for machines: exact text, no BOM."""
    with path.open("w", encoding="utf-8", newline="", errors="surrogatepass") as file:
        # The writer quotes only the characters of its own line end: a lone CR would end the row.
        writer = csv.writer(file, lineterminator="\r\n")
        writer.writerow(frame.columns)
        writer.writerows(_rows(frame))


def neutral(text: str) -> str:
    """Return safe text that no spreadsheet reads as a formula."""
    begins = text.lstrip()[:1] in _FORMULA and text.strip() != ""
    shown = safe(text, CELL_MAX)
    return f"'{shown}" if begins or text[:1] in _BREAKING else shown


class _Counts(msgspec.Struct):
    """What a workbook could not hold as it was."""

    cut: int = 0
    as_text: int = 0
    left_out: int = 0


def to_xlsx(made: Report, path: Path, *, summary: Summary) -> None:
    """Write the workbook: a summary, a sheet per table, a place to sign.

    Text is cut at 32,767 characters, whole numbers of 16 digits and more are text, a sheet ends at
    100,000 rows: each is counted on the summary. Raises PackRefused when a cell is not written.
    """
    xlsxwriter: Any = import_module("xlsxwriter")
    # Into memory first: the library leaves its spill files open when it cannot write the file.
    packed = io.BytesIO()
    book = xlsxwriter.Workbook(
        packed,
        {
            "constant_memory": True,
            "strings_to_formulas": False,
            "strings_to_urls": False,
            "strings_to_numbers": False,
        },
    )
    try:
        _fill_book(book, made, summary)
    finally:
        book.close()
    path.write_bytes(packed.getvalue())


def _fill_book(book: Any, made: Report, summary: Summary) -> None:
    at = made.inputs.as_of_at.astimezone(EAT).replace(tzinfo=None)
    book.set_properties({"title": "Reconciliation", "author": "", "created": at})
    looks = {
        "head": book.add_format({"bold": True, "bottom": 1, "text_wrap": True, "valign": "top"}),
        "whole": book.add_format({"num_format": "#,##0"}),
        "share": book.add_format({"num_format": "0.0%"}),
        "day": book.add_format({"num_format": "yyyy-mm-dd"}),
        "instant": book.add_format({"num_format": "yyyy-mm-dd hh:mm:ss"}),
        "text": book.add_format({"num_format": "@"}),
    }
    front = book.add_worksheet("summary")
    counts = _Counts()
    for page in made.pages:
        _sheet(book.add_worksheet(page.name), page, looks, counts)
    told = [
        *summary,
        ("cells cut at 32,767 characters", counts.cut),
        ("whole numbers of 16 digits and more, written as text", counts.as_text),
        (f"rows past {SHEET_ROWS:,} of a sheet, in the CSV only", counts.left_out),
    ]
    front.set_column(0, 0, 44)
    front.set_column(1, 1, 80)
    for place, (name, value) in enumerate(told):
        _cell(front, (place, 0), name, looks, counts)
        _cell(front, (place, 1), value, looks, counts)
    sign = book.add_worksheet("sign_off")
    sign.set_column(0, 1, 40)
    for place, name in enumerate(("prepared by", "reviewed by", "date", "comment")):
        _cell(sign, (place, 0), name, looks, counts)


def _sheet(sheet: Any, page: Page, looks: dict[str, Any], counts: _Counts) -> None:
    frame = page.frame
    sheet.freeze_panes(1, 0)
    for place, name in enumerate(frame.columns):
        in_eat = frame[name].dtype == Kind.INSTANT.dtype
        head = f"{name} (EAT)" if in_eat else str(name)
        sheet.set_column(place, place, max(12, min(len(head) + 2, 40)))
        _cell(sheet, (0, place), head, looks, counts, look="head")
    kinds = [frame[name].dtype for name in frame.columns]
    counts.left_out += max(len(frame) - SHEET_ROWS, 0)
    for number, row in enumerate(_cells(frame.head(SHEET_ROWS)), start=1):
        for place, value in enumerate(row):
            if value is not None:
                look = "share" if kinds[place] == Kind.SHARE.dtype else None
                look = "day" if kinds[place] == Kind.DAY.dtype else look
                _cell(sheet, (number, place), value, looks, counts, look=look)


def _cell(
    sheet: Any,
    place: tuple[int, int],
    value: Any,
    looks: dict[str, Any],
    counts: _Counts,
    *,
    look: str | None = None,
) -> None:
    if isinstance(value, bool):
        code = sheet.write_boolean(*place, value)
    elif isinstance(value, int) and abs(value) < DIGITS_MAX:
        code = sheet.write_number(*place, value, looks[look or "whole"])
    elif isinstance(value, float):
        code = sheet.write_number(*place, value, looks[look or "share"])
    elif isinstance(value, datetime):
        code = sheet.write_datetime(*place, value, looks[look or "instant"])
    else:
        counts.as_text += isinstance(value, int)
        text = str(value)
        shown = safe(text, CELL_MAX)
        counts.cut += len(shown) == CELL_MAX and shown.endswith("…") and shown != text
        code = sheet.write_string(*place, shown, looks[look or "text"])
    if code:
        raise PackRefused(f"a cell of the workbook was not written (code {code})")


def to_html(made: Report, *, summary: Summary) -> str:
    """Return the report as one page: plain tables and pictures, no script, nothing from outside."""
    facts = pd.DataFrame(
        {"": [name for name, _ in summary], "value": [str(value) for _, value in summary]},
        dtype="object",
    )
    tables = [show.table(facts, "Summary").to_html()]
    for page in made.pages:
        tables.append(show.table(page.frame, page.title, rows=HTML_ROWS).to_html())
        picture = _picture(page)
        if picture is not None:
            data = base64.b64encode(picture).decode()
            tables.append(f'<p><img alt="{page.name}" src="data:image/png;base64,{data}"></p>')
    return _PAGE.format(body="\n".join(tables))


def _picture(page: Page) -> bytes | None:
    if page.frame.empty:
        return None
    draw = {"fees": chart.daily, "failure_codes": chart.pareto, "ageing": chart.ageing}
    return draw[page.name](page.frame).png() if page.name in draw else None


_PAGE: Final = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>Reconciliation</title>
<meta http-equiv="Content-Security-Policy"
 content="default-src 'none'; style-src 'unsafe-inline'; img-src data:">
<style>
body {{ font: 14px/1.45 system-ui, sans-serif; margin: 2rem; color: #1c2733 }}
table {{ border-collapse: collapse; margin: 1.5rem 0 }}
th, td {{ padding: 0.2rem 0.7rem; border-bottom: 1px solid #dde3e8; vertical-align: top }}
caption {{ font-size: 1.15rem }} img {{ max-width: 100% }}
</style></head><body>
{body}
</body></html>
"""


def _cells(frame: pd.DataFrame) -> Iterator[tuple[Any, ...]]:
    """Yield rows of plain values: int, float, bool, str, naive datetime in EAT, None."""
    plain = []
    for name in frame.columns:
        column = frame[name]
        if column.dtype == Kind.INSTANT.dtype:
            local = column.dt.tz_localize(None) + EAT.utcoffset(None)
            values = [None if pd.isna(at) else at.to_pydatetime() for at in local]
        elif column.dtype == Kind.DAY.dtype:
            values = [None if pd.isna(at) else at.to_pydatetime() for at in column]
        else:
            objects = column.astype("object")
            values = [None if pd.isna(value) else _plain(value) for value in objects]
        plain.append(values)
    yield from zip(*plain, strict=True)


def _plain(value: Any) -> Any:
    return value.item() if hasattr(value, "item") else value


def _rows(frame: pd.DataFrame) -> Iterator[list[Any]]:
    """Yield rows for CSV: dates ISO, instants in EAT with their offset."""
    days = [frame[name].dtype == Kind.DAY.dtype for name in frame.columns]
    for row in _cells(frame):
        yield [
            ""
            if value is None
            else _dated(value, day=day)
            if isinstance(value, datetime)
            else value
            for value, day in zip(row, days, strict=True)
        ]


def _dated(value: datetime, *, day: bool) -> str:
    return f"{value:%Y-%m-%d}" if day else f"{value.isoformat(timespec='microseconds')}+03:00"
