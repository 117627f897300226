"""CSV and XLSX as text: every cell as it was written, nothing turned to a number on the way.

Spreadsheet readers guess: NULL and NA vanish, 00123 becomes 123, 1e5 becomes a float. Here a cell
is its text, an empty one is missing, and a number in an XLSX cell is said to have been a number.
"""

import csv
import hashlib
import zipfile
from collections.abc import Iterator, Sequence
from datetime import date, datetime
from importlib import import_module
from pathlib import Path
from typing import Any, Final

import msgspec
import pandas as pd

from kusanya.reconcile.columns import Kind
from kusanya.reconcile.errors import InputRefused
from kusanya.reconcile.mapping import Layout

UNPACKED_MAX: Final = 1_000_000_000
"""Largest XLSX we unpack, in bytes: a few kilobytes can unpack to a full disk."""
_CELL_MAX: Final = 1_000_000


class Sheet(msgspec.Struct, frozen=True):
    """A file as rows of text. `frame` has one text column per header, missing where empty."""

    frame: pd.DataFrame
    """Indexed by the row's number in the file; the header is row 1."""
    numeric: frozenset[tuple[int, str]]
    """Cells (row, header) that were numbers and not text: zeros or digits may be gone."""
    sha256: str
    name: str


def read(path: Path, layout: Layout, *, unpacked_max: int = UNPACKED_MAX) -> Sheet:
    """Read a CSV or XLSX file. Raises InputRefused with what to change."""
    try:
        digest = hashlib.sha256(path.read_bytes()).hexdigest()
        if path.suffix.lower() in {".xlsx", ".xlsm"}:
            rows, numeric = _xlsx(path, layout, unpacked_max)
        else:
            rows, numeric = _csv(path, layout), set()
    except OSError as error:
        raise InputRefused(f"{path.name} cannot be read: {error.strerror}") from None
    if not rows:
        raise InputRefused(f"{path.name} is empty: not even a header")
    header = [str(cell or "").strip() for cell in rows[0]]
    named = [name for name in header if name]
    if len(set(named)) != len(named):
        raise InputRefused(f"{path.name} has two columns of one name; rename one")
    width = len(header)
    body: list[Sequence[str | None]] = []
    for number, row in enumerate(rows[1:], start=2):
        if len(row) > width and any(cell for cell in row[width:]):
            raise InputRefused(f"{path.name}, row {number}: more cells than the header has")
        body.append([*row[:width], *[None] * (width - len(row))])
    frame = pd.DataFrame(
        {
            name: pd.array([row[place] or None for row in body], dtype=Kind.TEXT.dtype)
            for place, name in enumerate(header)
            if name
        },
        index=pd.RangeIndex(2, len(body) + 2),
    )
    cells = frozenset((row, header[place]) for row, place in numeric if place < width)
    return Sheet(frame=frame, numeric=cells, sha256=digest, name=path.name)


def _csv(path: Path, layout: Layout) -> list[list[str | None]]:
    csv.field_size_limit(_CELL_MAX)
    try:
        with path.open(newline="", encoding=layout.encoding) as lines:
            reader = csv.reader(lines, delimiter=layout.delimiter, strict=True)
            return [list(row) for row in reader]
    except (UnicodeDecodeError, LookupError):
        raise InputRefused(
            f"{path.name} is not {layout.encoding}; name its encoding in the mapping"
        ) from None
    except csv.Error as error:
        raise InputRefused(f"{path.name} is not CSV: {error}") from None


def _xlsx(
    path: Path, layout: Layout, unpacked_max: int
) -> tuple[list[list[str | None]], set[tuple[int, int]]]:
    openpyxl: Any = import_module("openpyxl")
    invalid = openpyxl.utils.exceptions.InvalidFileException
    try:
        with zipfile.ZipFile(path) as packed:
            if sum(part.file_size for part in packed.infolist()) > unpacked_max:
                raise InputRefused(f"{path.name} unpacks to more than {unpacked_max:,} bytes")
        book = openpyxl.load_workbook(path, read_only=True, data_only=True)
    except (zipfile.BadZipFile, invalid, KeyError, ValueError):
        raise InputRefused(f"{path.name} is not an XLSX file") from None
    try:
        if layout.sheet is not None and layout.sheet not in book.sheetnames:
            raise InputRefused(f"{path.name} has no sheet of the mapping's name")
        sheet = book[layout.sheet or book.sheetnames[0]]
        rows: list[list[str | None]] = []
        numeric: set[tuple[int, int]] = set()
        for number, cells in enumerate(_values(sheet), start=1):
            rows.append([_text(cell) for cell in cells])
            numeric |= {
                (number, place)
                for place, cell in enumerate(cells)
                if isinstance(cell, int | float) and not isinstance(cell, bool)
            }
        return rows, numeric
    finally:
        book.close()


def _values(sheet: Any) -> Iterator[tuple[Any, ...]]:
    yield from sheet.iter_rows(values_only=True)


def _text(cell: Any) -> str | None:
    if cell is None:
        return None
    if isinstance(cell, datetime | date):
        return cell.isoformat()
    if isinstance(cell, float) and cell.is_integer():
        return str(int(cell))
    return str(cell)
