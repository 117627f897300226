"""The pack on disk: a workbook, every table as CSV twice, a page that opens offline, a manifest.

All outside text passes `safe()`; then each writer's own rule keeps it text: a workbook has no
formula and no link, a CSV for spreadsheets no cell that begins like a formula. What a cell cannot
hold is cut and counted. The `.raw.csv` files are exact, for machines only.
"""

import base64
import csv
import hashlib
import html
import io
import json
import re
import shutil
import tempfile
from collections.abc import Iterator
from datetime import datetime
from importlib import import_module
from pathlib import Path
from typing import Any, Final

import msgspec
import numpy as np
import pandas as pd
import pyarrow.parquet as pq

from kusanya.business_day import EAT
from kusanya.errors import PackRefused
from kusanya.reconcile.analysis.report import Page, Report
from kusanya.reconcile.frames import columns
from kusanya.reconcile.frames.columns import CLOSED, DType
from kusanya.reconcile.notebook import chart, views
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
_AFTER_SEMICOLON: Final = re.compile(rf""";(?=["'\s]*[{re.escape("".join(_FORMULA))}])""")
"""Where the comma is the decimal mark a spreadsheet ends a cell here, quoted or not."""
_WIDEST_MARK: Final = 10
"""Characters that a mark of `safe` takes at most in place of one."""
_WIDEST: Final = 60
"""Characters that a column of the workbook is wide at most."""
_SUM: Final = " of a sum"
_KIND_LOOKS: Final = {
    DType.WHOLE.pandas: "whole",
    DType.SHARE.pandas: "share",
    DType.INSTANT.pandas: "instant",
    np.dtype(DType.DAY.pandas): "day",
}
_PAGE_WIDTH: Final = 320
"""Characters that can still be read side by side on a printed page."""
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
    cut = {}
    for page in made.pages:
        cut[f"csv/{page.name}.csv"] = to_csv(page.frame, tables / f"{page.name}.csv")
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
    counts = {"rows": rows, "files": files, "cells_cut": {name: n for name, n in cut.items() if n}}
    text = json.dumps({**manifest, **counts}, indent=2, sort_keys=True)
    (folder / "manifest.json").write_text(f"{text}\n", encoding="utf-8")


def to_csv(frame: pd.DataFrame, path: Path) -> int:
    """Write a table for spreadsheets and return how many cells were cut at their limit.

    It has a BOM, safe text, and nothing that begins like a formula.
    """
    cut = 0
    with path.open("w", encoding="utf-8-sig", newline="") as file:
        writer = csv.writer(file, lineterminator="\r\n")
        writer.writerow([escape_formula(str(name)) for name in frame.columns])
        for row in _rows(frame):
            cut += sum(isinstance(cell, str) and _is_cut(cell) for cell in row)
            writer.writerow(
                [escape_formula(cell) if isinstance(cell, str) else cell for cell in row]
            )
    return cut


def to_raw_csv(frame: pd.DataFrame, path: Path) -> None:
    """Write a table for machines: exact text, no BOM."""
    with path.open("w", encoding="utf-8", newline="", errors="surrogatepass") as file:
        # The writer quotes only the characters of its own line end: a lone CR would end the row.
        writer = csv.writer(file, lineterminator="\r\n")
        writer.writerow(frame.columns)
        writer.writerows(_rows(frame))


def escape_formula(text: str) -> str:
    """Return safe text that no spreadsheet reads as a formula."""
    begins = text.lstrip()[:1] in _FORMULA and text.strip() != ""
    shown = _AFTER_SEMICOLON.sub(";'", safe(text, CELL_MAX))
    return f"'{shown}" if begins or text[:1] in _BREAKING else shown


def _is_cut(text: str) -> bool:
    if len(text) * _WIDEST_MARK <= CELL_MAX:
        return False
    shown = safe(text, CELL_MAX)
    longer = len(shown) == CELL_MAX and shown.endswith("…") and shown != text
    return len(text) > CELL_MAX or longer


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
    looks = _looks(book)
    front = book.add_worksheet("summary")
    counts = _Counts()
    for page in made.pages:
        _sheet(book.add_worksheet(page.name), page, looks, counts)
    facts = [
        *summary,
        ("cells cut at 32,767 characters", counts.cut),
        ("whole numbers of 16 digits and more, written as text", counts.as_text),
        (f"rows past {SHEET_ROWS:,} of a sheet, in the CSV only", counts.left_out),
    ]
    front.set_column(0, 0, 56)
    front.set_column(1, 1, 80)
    for place, (name, value) in enumerate(facts):
        look = "fact" if isinstance(value, int) else None
        _cell(front, (place, 0), name, looks, counts)
        _cell(front, (place, 1), value, looks, counts, look=look)
    sign = book.add_worksheet("sign_off")
    sign.set_column(0, 1, 40)
    for sheet in (front, sign):
        _printed(sheet)
    for place, name in enumerate(("prepared by", "reviewed by", "date", "comment")):
        _cell(sign, (place, 0), name, looks, counts)


def _looks(book: Any) -> dict[str, Any]:
    head = {"bold": True, "bottom": 1, "bg_color": "#E8EEF3"}
    # Text is indented, or it would touch the number on its left.
    plain: dict[str, dict[str, Any]] = {
        "whole": {"num_format": "#,##0"},
        "share": {"num_format": "0.0%"},
        "day": {"num_format": "yyyy-mm-dd"},
        "instant": {"num_format": "yyyy-mm-dd hh:mm:ss"},
        "text": {"num_format": "@", "indent": 1},
    }
    made = {name: book.add_format(look) for name, look in plain.items()}
    made |= {
        f"{name}{_SUM}": book.add_format({**look, "bold": True, "top": 1})
        for name, look in plain.items()
    }
    return made | {
        "head": book.add_format({**head, "indent": 1}),
        "head_number": book.add_format({**head, "align": "right"}),
        "fact": book.add_format({"align": "left", "num_format": "#,##0"}),
    }


def _sheet(sheet: Any, page: Page, looks: dict[str, Any], counts: _Counts) -> None:
    frame = page.frame
    sheet.freeze_panes(1, 1)
    sheet.repeat_rows(0)
    across = 0
    for place, name in enumerate(frame.columns):
        in_eat = frame[name].dtype == DType.INSTANT.pandas
        head = f"{name} (EAT)" if in_eat else str(name)
        # Room beside the heading for the arrow of the filter.
        wide = min(max(len(head), _longest(frame[name].head(SHEET_ROWS))) + 3, _WIDEST)
        across += wide
        sheet.set_column(place, place, wide)
        left = frame[name].dtype in (DType.TEXT.pandas, DType.FLAG.pandas)
        look = "head" if left else "head_number"
        _cell(sheet, (0, place), head, looks, counts, look=look)
    _printed(sheet, pages=-(-across // _PAGE_WIDTH))
    counts.left_out += max(len(frame) - SHEET_ROWS, 0)
    sheet.autofilter(0, 0, max(min(len(frame), SHEET_ROWS), 1), len(frame.columns) - 1)
    kinds = [_KIND_LOOKS.get(frame[name].dtype, "text") for name in frame.columns]
    shown = frame.head(SHEET_ROWS)
    for number, (row, is_sum) in enumerate(zip(_cells(shown), views.sums(shown), strict=True), 1):
        for place, value in enumerate(row):
            if value is not None:
                look = f"{kinds[place]}{_SUM}" if is_sum else kinds[place]
                _cell(sheet, (number, place), value, looks, counts, look=look)


def _printed(sheet: Any, *, pages: int = 1) -> None:
    """Set a sheet to print on A4 across so many pages."""
    sheet.set_paper(9)  # A4
    sheet.set_landscape()
    sheet.fit_to_pages(pages, 0)


def _longest(column: "pd.Series[Any]") -> int:
    """Return how many characters the widest value of a column takes in the workbook."""
    known = column.dropna()
    if column.dtype == DType.INSTANT.pandas:
        return len("2026-03-31 23:59:59")
    if column.dtype == DType.DAY.pandas:
        return len("2026-03-31")
    if known.empty:
        return 0
    if column.dtype == DType.WHOLE.pandas:
        return max(len(f"{int(value):,}") for value in (known.min(), known.max()))
    if column.dtype == DType.TEXT.pandas:
        return int(known.str.len().max())
    return len("100.0%")


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
        counts.cut += _is_cut(text)
        # A number that is written as text looks like text.
        named = (look or "text").replace("whole", "text")
        code = sheet.write_string(*place, shown, looks[named])
    if code:
        raise PackRefused(f"a cell of the workbook was not written (code {code})")


def to_html(made: Report, *, summary: Summary) -> str:
    """Return the report as one page: plain tables and pictures, no script, nothing from outside.

    Of breaks and settlement it shows what differs, in the columns that people read; rows and
    columns that it leaves out are in the CSV files, and each table says how many rows those are.
    """
    facts = pd.DataFrame(
        {"": [name for name, _ in summary], "value": [_fact(value) for _, value in summary]},
        dtype="object",
    )
    parts = [_headline(made, dict(summary)), _part("summary", views.table(facts, "Summary"))]
    for page in made.pages:
        if page.name == "findings":
            continue  # they stand on top
        picture = _picture(page)
        if picture is not None:
            data = base64.b64encode(picture).decode()
            parts.append(f'<p><img alt="{page.name}" src="data:image/png;base64,{data}"></p>')
        parts.append(_part(page.name, views.table(*_read(page), rows=HTML_ROWS)))
    return _PAGE.format(body="\n".join(parts))


def _headline(made: Report, summary: dict[str, Any]) -> str:
    links = " · ".join(f'<a href="#{page.name}">{_named(page)}</a>' for page in made.pages)
    return (
        f"<h1>Reconciliation of {html.escape(str(made.inputs.period))}</h1>\n"
        f'<p class="verdict">{html.escape(safe(str(summary.get("what it means", "")), 400))}</p>\n'
        f"{_part('findings', views.table(made.findings, 'What needs a person'))}\n"
        f"<nav>{links}</nav>"
    )


def _named(page: Page) -> str:
    return page.name.replace("_", " ")


def _part(name: str, table: Any) -> str:
    # Scrolls by itself, so that a wide table does not make the whole page wide.
    return f'<div id="{name}" class="wide">{table.to_html()}</div>'


def _fact(value: Any) -> str:
    return f"{value:,}" if isinstance(value, int) else str(value)


def _read(page: Page) -> tuple[pd.DataFrame, str]:
    if page.name not in {"breaks", "settlement"} or page.frame.empty:
        return views.brief(page.frame), page.title
    shown = views.differing(page.frame)
    agree = len(page.frame) - len(shown)
    return views.brief(shown), f"{page.title}{f' · {agree:,} more agree' if agree else ''}"


def _picture(page: Page) -> bytes | None:
    if page.frame.empty:
        return None
    draw = {
        "fees": chart.daily,
        "failure_codes": chart.pareto,
        "recovery": chart.recovery,
        "ageing": chart.ageing,
    }
    return draw[page.name](page.frame).png() if page.name in draw else None


_PAGE: Final = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>Reconciliation</title>
<meta http-equiv="Content-Security-Policy"
 content="default-src 'none'; style-src 'unsafe-inline'; img-src data:">
<style>
body {{ font: 14px/1.45 system-ui, sans-serif; margin: 2rem; color: #1c2733; max-width: 100rem }}
h1 {{ font-size: 1.5rem; margin: 0 0 0.3rem }} nav {{ margin: 0.8rem 0 }} nav a {{ color: #2a6f97 }}
.verdict {{ font-size: 1.15rem; font-weight: 600; margin: 0 }}
.wide {{ overflow-x: auto; margin: 1.5rem 0 }}
table {{ border-collapse: collapse }}
th, td {{ padding: 0.2rem 0.7rem; border-bottom: 1px solid #dde3e8; vertical-align: top }}
caption {{ font-size: 1.15rem }} img {{ max-width: 100% }}
@media print {{ @page {{ size: landscape }} .wide {{ overflow: visible }} nav {{ display: none }} }}
</style></head><body>
{body}
</body></html>
"""


def _cells(frame: pd.DataFrame) -> Iterator[tuple[Any, ...]]:
    """Yield rows of plain values: int, float, bool, str, naive datetime in EAT, None."""
    plain = []
    for name in frame.columns:
        column = frame[name]
        if column.dtype == DType.INSTANT.pandas:
            local = column.dt.tz_localize(None) + EAT.utcoffset(None)
            values = [None if pd.isna(at) else at.to_pydatetime() for at in local]
        elif column.dtype == DType.DAY.pandas:
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
    days = [frame[name].dtype == DType.DAY.pandas for name in frame.columns]
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
