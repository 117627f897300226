"""The pack's workbook: a summary, a sheet for each table, a place to sign."""

import io
from datetime import datetime
from importlib import import_module
from pathlib import Path
from typing import Any, Final

import msgspec
import numpy as np
import pandas as pd

from kusanya.business_day import EAT
from kusanya.errors import PackRefused
from kusanya.reconcile.analysis.report import Page, Report
from kusanya.reconcile.frames.columns import DType
from kusanya.reconcile.notebook import views
from kusanya.reconcile.pack.summary import Summary
from kusanya.reconcile.pack.tables import CELL_MAX, cells, is_cut
from kusanya.text import safe

SHEET_ROWS: Final = 100_000
"""Rows that a sheet holds; the CSV has all."""
DIGITS_MAX: Final = 10**15
"""Whole numbers from here on lose digits in a spreadsheet: they are written as text."""
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
        _fill_workbook(book, made, summary)
    finally:
        book.close()
    path.write_bytes(packed.getvalue())


def _fill_workbook(book: Any, made: Report, summary: Summary) -> None:
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
    for number, (row, is_sum) in enumerate(zip(cells(shown), views.sums(shown), strict=True), 1):
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
        counts.cut += is_cut(text)
        # A number that is written as text looks like text.
        named = (look or "text").replace("whole", "text")
        code = sheet.write_string(*place, shown, looks[named])
    if code:
        raise PackRefused(f"a cell of the workbook was not written (code {code})")
