"""CSV and XLSX as text: every cell as it was written, nothing turned to a number on the way.

Spreadsheet readers guess: NULL and NA vanish, 00123 becomes 123, 1e5 becomes a float. Here a cell
is its text, an empty one is missing, and a number in an XLSX cell is said to have been a number.
"""

import codecs
import csv
import hashlib
import io
import zipfile
from collections.abc import Iterator, Sequence
from datetime import date, datetime
from importlib import import_module
from pathlib import Path
from typing import Any, Final

import msgspec
import numpy as np
import pandas as pd
import pyarrow as pa
from pyarrow import csv as arrow_csv

from kusanya.errors import InputRefused
from kusanya.reconcile.frames.columns import DType
from kusanya.reconcile.inputs.mapping import Layout

UNPACKED_MAX: Final = 1_000_000_000
"""Largest XLSX we unpack, in bytes: a few kilobytes can unpack to a full disk."""
_CELL_MAX: Final = 1_000_000
_UTF8: Final = frozenset({"utf-8-sig", "utf-8"})


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
        data = path.read_bytes()
        digest = hashlib.sha256(data).hexdigest()
        if path.suffix.lower() in {".xlsx", ".xlsm"}:
            rows, numeric = _xlsx(path, layout, unpacked_max)
        else:
            quick = _plain_csv(data, layout)
            if quick is not None:
                frame = _framed(path, quick[0], quick[1])
                return Sheet(frame=frame, numeric=frozenset(), sha256=digest, name=path.name)
            rows, numeric = _csv(path, layout), set()
    except OSError as error:
        raise InputRefused(f"{path.name} cannot be read: {error.strerror}") from None
    if not rows:
        raise InputRefused(f"{path.name} is empty: not even a header")
    header = _header(rows[0])
    width = len(header)
    body: list[Sequence[str | None]] = []
    for number, row in enumerate(rows[1:], start=2):
        if len(row) > width and any(cell for cell in row[width:]):
            raise InputRefused(f"{path.name}, row {number}: more cells than the header has")
        body.append([*row[:width], *[None] * (width - len(row))])
    cells = [[row[place] or None for row in body] for place in range(width)]
    frame = _framed(path, header, cells)
    found = frozenset((row, header[place]) for row, place in numeric if place < width)
    return Sheet(frame=frame, numeric=found, sha256=digest, name=path.name)


def _header(row: Sequence[str | None]) -> list[str]:
    return [str(cell or "").strip() for cell in row]


def _framed(path: Path, header: Sequence[str], cells: Sequence[Any]) -> pd.DataFrame:
    named = [name for name in header if name]
    if len(set(named)) != len(named):
        raise InputRefused(f"{path.name} has two columns of one name; rename one")
    rows = len(cells[0]) if cells else 0
    return pd.DataFrame(
        {
            name: pd.array(column, dtype=DType.TEXT.pandas)
            for name, column in zip(header, cells, strict=True)
            if name
        },
        index=pd.RangeIndex(2, rows + 2),
    )


def _plain_csv(data: bytes, layout: Layout) -> tuple[list[str], list[pa.ChunkedArray]] | None:
    """Return header and columns of a CSV without surprises, or None for the careful reader.

    Ten times as quick as it. A surprise is a quote within a cell, a row of another length, an
    empty line, a cell of a megabyte, or any encoding but UTF-8: what those mean, or which row to
    blame, only the careful one says.
    """
    if (
        layout.encoding.lower() not in _UTF8
        or b"\0" in data
        or not _quotes_whole_cells(data, layout)
    ):
        return None
    text = io.TextIOWrapper(io.BytesIO(data), encoding="utf-8-sig", newline="")
    try:
        header = next(csv.reader(text, delimiter=layout.delimiter, strict=True), [])
        names = [str(place) for place in range(len(header))]
        table = arrow_csv.read_csv(
            pa.BufferReader(data),
            read_options=arrow_csv.ReadOptions(column_names=names, block_size=_CELL_MAX),
            parse_options=arrow_csv.ParseOptions(
                delimiter=layout.delimiter, newlines_in_values=True, ignore_empty_lines=False
            ),
            convert_options=arrow_csv.ConvertOptions(
                column_types=dict.fromkeys(names, pa.string()),
                null_values=[""],
                strings_can_be_null=True,
            ),
        )
    except (pa.ArrowInvalid, UnicodeDecodeError, csv.Error):
        return None
    return (_header(header), [column.slice(1) for column in table.columns]) if header else None


def _quotes_whole_cells(data: bytes, layout: Layout) -> bool:
    """Tell whether every quote opens or closes a whole cell, in turns."""
    mark = layout.delimiter.encode()
    if b'"' not in data:
        return len(mark) == 1
    letters = np.frombuffer(b"\n" + data.removeprefix(codecs.BOM_UTF8) + b"\n", dtype="uint8")
    at = np.flatnonzero(letters == ord('"'))
    ends = np.frombuffer(b"\r\n" + mark, dtype="uint8")
    alternate = len(mark) == 1 and len(at) % 2 == 0
    opened, closed = letters[at[::2] - 1], letters[at[1::2] + 1]
    return bool(alternate and np.isin(opened, ends).all() and np.isin(closed, ends).all())


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
