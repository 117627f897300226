"""XLSX and XLS as text: every cell as a person sees it, and whether it was a number or a date.

openpyxl reads XLSX row by row in little memory. (python-calamine is twenty times as quick, but a
file of five kilobytes with one cell in the last corner ends the whole process.) xlrd reads XLS.
"""

import io
import struct
import zipfile
import zlib
from collections.abc import Iterable, Iterator, Sequence
from datetime import date, datetime, time
from importlib import import_module
from itertools import islice
from typing import Any, Final

from kusanya.errors import InputRefused
from kusanya.text import plain, safe
from kusanya_books.read.mapping import Layout
from kusanya_books.read.tables import headers, zip_limits
from kusanya_books.read.tables.sheet import CELL_MAX, HEADER_ROWS, Fits, Grid, Rows

XLS_MAX: Final = 100_000_000
"""Largest XLS, in bytes: it is kept whole."""
ROWS_MAX: Final = 1_048_576
"""As many as a spreadsheet has."""
CELLS_MAX: Final = 30_000_000
_NAMED: Final = 12
"""Sheets that a refusal names."""
_BROKEN: Final = (
    *(ArithmeticError, AssertionError, AttributeError, EOFError, LookupError, RuntimeError),
    *(OSError, SyntaxError, TypeError, ValueError),
    *(struct.error, zipfile.BadZipFile, zlib.error),
)
"""What the two libraries raise for a file that is damaged or only pretends."""
_OTHERS: Final = {
    "mimetype": "is an OpenDocument file; save it as XLSX or CSV",
    "word/": "is a text document and no table; save it, or ask for it, as XLSX or CSV",
    "ppt/": "is a slide show and no table; save it, or ask for it, as XLSX or CSV",
    "Index/": "is a file of Numbers; save it as XLSX or CSV",
    "xl/": "is not an XLSX file",
    "": "is an archive; take the file that is wanted out of it",
}
"""What a packed file is that has a part whose name begins so."""
_PROTECTED: Final = "is protected by a password; save it as XLSX or CSV"
_ENCRYPTED: Final = "EncryptedPackage".encode("utf-16-le")
"""The name of the part that holds an XLSX which is protected by a password."""
_Cell = tuple[str | None, str]
"""Text, and what it was: text, number or date."""
_Sheets = dict[str, Iterable[list[_Cell]]]


def xlsx(name: str, data: bytes, layout: Layout, fits: Fits | None, *, unpacked_max: int) -> Grid:
    """Return the rows of one sheet of an XLSX file. Raises InputRefused with what to change."""
    openpyxl: Any = import_module("openpyxl")
    book = None
    try:
        zip_limits.check(name, io.BytesIO(data), unpacked_max=unpacked_max)
        book = openpyxl.load_workbook(io.BytesIO(data), read_only=True, data_only=True)
        sheets = {sheet.title: sheet for sheet in book.worksheets}
        return _grid(name, layout, fits, {title: _Lines(each) for title, each in sheets.items()})
    except InputRefused:
        raise
    except (openpyxl.utils.exceptions.InvalidFileException, *_BROKEN):
        raise InputRefused(f"{name} {_other(data)}") from None
    finally:
        if book is not None:
            book.close()


def xls(name: str, data: bytes, layout: Layout, fits: Fits | None) -> Grid:
    """Return the rows of one sheet of an XLS file. Raises InputRefused with what to change."""
    xlrd: Any = import_module("xlrd")
    if _ENCRYPTED in data:
        raise InputRefused(f"{name} {_PROTECTED}")
    if len(data) > XLS_MAX:
        raise InputRefused(f"{name} is larger than {XLS_MAX:,} bytes; save it as XLSX or CSV")
    try:
        book = xlrd.open_workbook(
            file_contents=data, logfile=io.StringIO(), on_demand=True, ragged_rows=True
        )
        sheets: _Sheets = {title: _OldLines(book, title) for title in book.sheet_names()}
        return _grid(name, layout, fits, sheets)
    except InputRefused:
        raise
    except (xlrd.XLRDError, import_module("xlrd.compdoc").CompDocError) as error:
        protected = "encrypted" in str(error).lower()
        why = _PROTECTED if protected else "is not an XLS file; save it as XLSX or CSV"
        raise InputRefused(f"{name} {why}") from None
    except _BROKEN:
        raise InputRefused(f"{name} is not an XLS file") from None


def _other(data: bytes) -> str:
    """Return what a file is that is no XLSX, by the names of its parts, and what to do."""
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as packed:
            parts = packed.namelist()
    except _BROKEN:
        parts = []
    return next(
        why
        for begin, why in _OTHERS.items()
        if any(part.startswith(begin) for part in parts or ["xl/"])
    )


class _Lines:
    """The rows of one sheet of an XLSX file."""

    def __init__(self, sheet: Any) -> None:
        self._sheet = sheet

    def __iter__(self) -> Iterator[list[_Cell]]:
        # What a file says about its own extent may be wrong.
        self._sheet.reset_dimensions()
        for row in self._sheet.iter_rows(values_only=True):
            yield [_cell(value) for value in row]


class _OldLines:
    """The rows of one sheet of an XLS file."""

    def __init__(self, book: Any, title: str) -> None:
        self._book, self._title = book, title

    def __iter__(self) -> Iterator[list[_Cell]]:
        xlrd: Any = import_module("xlrd")
        sheet = self._book.sheet_by_name(self._title)
        for number in range(sheet.nrows):
            row = []
            for cell in sheet.row(number):
                value: Any = cell.value
                if cell.ctype == xlrd.XL_CELL_DATE:
                    value = xlrd.xldate_as_datetime(value, self._book.datemode)
                elif cell.ctype == xlrd.XL_CELL_BOOLEAN:
                    value = bool(value)
                elif cell.ctype == xlrd.XL_CELL_ERROR:
                    value = "#ERROR"
                row.append(_cell(value))
            yield row


def _cell(value: Any) -> _Cell:
    if value is None or value == "":
        return None, "text"
    if isinstance(value, datetime | date):
        return value.isoformat(), "date"
    if isinstance(value, time):
        return value.isoformat(), "text"
    if isinstance(value, bool):
        return str(value), "text"
    if isinstance(value, float) and value.is_integer():
        return str(int(value)), "number"
    return plain(str(value)), "number" if isinstance(value, int | float) else "text"


def _grid(name: str, layout: Layout, fits: Fits | None, sheets: _Sheets) -> Grid:
    if layout.sheet is not None and layout.sheet not in sheets:
        there = ", ".join(safe(title, 40) for title in list(sheets)[:_NAMED])
        raise InputRefused(f"{name} has no sheet {safe(layout.sheet, 40)}; there: {there}")
    if not sheets:
        raise InputRefused(f"{name} has no sheet with cells")
    chosen, others = _choose(name, layout, fits, sheets)
    rows: Rows = []
    numeric: set[tuple[int, int]] = set()
    dates: set[tuple[int, int]] = set()
    cells = 0
    for place, row in enumerate(sheets[chosen]):
        cells += len(row) + 1
        if place >= ROWS_MAX or cells > CELLS_MAX:
            raise InputRefused(f"{name} has more cells than we read; delete what is not needed")
        if any(text is not None and len(text) > CELL_MAX for text, _ in row):
            raise InputRefused(f"{name}, row {place + 1}: a cell of over {CELL_MAX:,} characters")
        rows.append(_texts(row))
        numeric |= {(place, at) for at, (_, was) in enumerate(row) if was == "number"}
        dates |= {(place, at) for at, (_, was) in enumerate(row) if was == "date"}
    return Grid(
        rows=rows,
        header=headers.find(rows, fits, layout.header_row),
        numeric=frozenset(numeric),
        dates=frozenset(dates),
        notes=tuple(f"sheet {safe(other, 40)} was not read" for other in others),
    )


def _choose(name: str, layout: Layout, fits: Fits | None, sheets: _Sheets) -> tuple[str, list[str]]:
    """Return the one sheet to read, and those with cells that are left out."""
    if layout.sheet is not None:
        return layout.sheet, []
    starts = {
        title: [_texts(row) for row in islice(rows, HEADER_ROWS)] for title, rows in sheets.items()
    }
    filled = [title for title, start in starts.items() if any(any(row) for row in start)]
    if fits is None or not filled:
        chosen = next(iter(sheets))
        return chosen, [title for title in filled if title != chosen]
    good = [title for title in filled if any(fits(row) for row in starts[title])]
    if len(good) > 1:
        both = " and ".join(safe(title, 40) for title in good[:2])
        one = f"{name}#{safe(good[0], 40)}"
        raise InputRefused(f"{name}: the sheets {both} both have these columns; name one: {one}")
    chosen = good[0] if good else filled[0]
    return chosen, [title for title in filled if title != chosen]


def _texts(row: Sequence[_Cell]) -> list[str | None]:
    return [text for text, _ in row]
