"""CSV, XLSX and XLS as text: every cell as it was written, nothing turned to a number on the way.

Spreadsheet readers guess: NULL and NA vanish, 00123 becomes 123, 1e5 becomes a float. Here a cell
is its text, an empty one is missing, and a number in a spreadsheet's cell is said to have been one.
"""

import hashlib
from collections import Counter
from collections.abc import Sequence
from itertools import count
from pathlib import Path
from typing import Any, Final

import msgspec
import pandas as pd

from kusanya.errors import InputRefused
from kusanya_books.columns import DType
from kusanya_books.read.mapping import Layout
from kusanya_books.read.tables import excel, text_files
from kusanya_books.read.tables.sheet import Fits, Grid, Sheet
from kusanya_books.read.tables.zip_limits import UNPACKED_MAX

FILE_MAX: Final = 2_000_000_000
"""Largest file, in bytes: it is kept whole while it is read."""
_PACKED: Final = b"PK\x03\x04"
_OLD: Final = bytes.fromhex("d0cf11e0a1b11ae1")
_NO_TABLES: Final = {
    "a web page": (b"<html", b"<!doctype", b"<table", b"<?xml"),
    "a PDF": (b"%pdf",),
    "a text document": (b"{\\rtf",),
    "JSON": (b"{", b"["),
    "a packed file": (b"\x1f\x8b",),
    "a picture": (b"\xff\xd8\xff", b"\x89png"),
    "an e-mail": (b"received: ", b"return-path: ", b"delivered-to: ", b"mime-version: "),
}
"""What a file is that begins so, in small letters and behind a byte order mark."""
_MARK: Final = b"\xef\xbb\xbf"
_START: Final = 200


def named(file: Path) -> tuple[Path, str | None]:
    """Return a workbook and the sheet of it that `books.xlsx#March` names; else the file alone."""
    if file.is_file():
        return file, None
    ends = (at for at, mark in enumerate(file.name) if mark == "#" and at)
    found = ((file.with_name(file.name[:at]), file.name[at + 1 :]) for at in ends)
    return next((each for each in found if each[0].is_file()), (file, None))


def of_sheet(layout: Layout, sheet: str | None) -> Layout:
    """Return how a file is written of which this sheet is to be read; None leaves it open."""
    return layout if sheet is None else msgspec.structs.replace(layout, sheet=sheet)


def load(path: Path) -> tuple[bytes, str]:
    """Return the bytes of a file and their SHA-256. Raises InputRefused where it cannot be read."""
    try:
        if path.stat().st_size > FILE_MAX:
            raise InputRefused(f"{path.name} is larger than {FILE_MAX:,} bytes; split it")
        data = path.read_bytes()
    except OSError as error:
        raise InputRefused(f"{path.name} cannot be read: {error.strerror}") from None
    return data, hashlib.sha256(data).hexdigest()


def read(
    path: Path, layout: Layout, fits: Fits | None = None, *, unpacked_max: int = UNPACKED_MAX
) -> Sheet:
    """Read a CSV, XLSX or XLS file; what it is, its bytes say. `fits` finds the header's row.

    Raises InputRefused with what to change.
    """
    data, digest = load(path)
    if not is_text(path, data):
        found_ = grid(path, data, layout, fits, unpacked_max=unpacked_max)
        name = path.name if layout.sheet is None else f"{path.name}#{layout.sheet}"
        return msgspec.structs.replace(_sheet(path, found_, digest), name=name)
    text = as_text(path, data, layout)
    found = text_files.quick(text, layout, fits)
    if found is None:
        return _sheet(path, text_files.read(text, layout, fits), digest)
    names, doubled = _names(found[0])
    frame = _framed(names, found[1], first=2)
    return Sheet(frame=frame, numeric=frozenset(), sha256=digest, name=path.name, doubled=doubled)


def is_text(path: Path, data: bytes) -> bool:
    """Return whether a file is text and no workbook, whatever its name says."""
    return not data.startswith((_PACKED, _OLD)) and path.suffix.lower() not in {".xlsx", ".xlsm"}


def grid(
    path: Path,
    data: bytes,
    layout: Layout,
    fits: Fits | None = None,
    *,
    unpacked_max: int = UNPACKED_MAX,
) -> Grid:
    """Return every row of a file. Raises InputRefused with what to change."""
    if data.startswith(_OLD):
        return excel.xls(path.name, data, layout, fits)
    if not is_text(path, data):
        return excel.xlsx(path.name, data, layout, fits, unpacked_max=unpacked_max)
    return text_files.read(as_text(path, data, layout), layout, fits)


def as_text(path: Path, data: bytes, layout: Layout) -> text_files.Text:
    """Return a file as text. Raises InputRefused where it plainly is no table."""
    begins = data[:_START].removeprefix(_MARK).lstrip().lower()
    for kind, starts in _NO_TABLES.items():
        if begins.startswith(starts):
            raise InputRefused(
                f"{path.name} is {kind} and no table; save it, or ask for it, as XLSX or CSV"
            )
    return text_files.decode(path.name, data, layout)


def _sheet(path: Path, grid: Grid, digest: str) -> Sheet:
    if not grid.rows:
        raise InputRefused(f"{path.name} is empty: not even a header")
    if grid.header >= len(grid.rows):
        raise InputRefused(f"{path.name} has no row {grid.header + 1}, which is to be its header")
    top = grid.header
    header, doubled = _names(grid.rows[top])
    width = len(header)
    body: list[Sequence[str | None]] = []
    long: set[int] = set()
    for number, row in enumerate(grid.rows[top + 1 :], start=top + 2):
        if len(row) > width and any(cell and cell.strip() for cell in row[width:]):
            long.add(number)
        body.append([*row[:width], *[None] * (width - len(row))])
    cells = [[row[place] or None for row in body] for place in range(width)]

    def named(which: frozenset[tuple[int, int]]) -> frozenset[tuple[int, str]]:
        return frozenset(
            (place + 1, header[at]) for place, at in which if place > top and at < width
        )

    return Sheet(
        frame=_framed(header, cells, first=top + 2),
        numeric=named(grid.numeric),
        sha256=digest,
        name=path.name,
        dates=named(grid.dates),
        long=frozenset(long),
        doubled=doubled,
        header_row=top + 1,
        notes=grid.notes,
    )


def _names(row: Sequence[str | None]) -> tuple[list[str], frozenset[str]]:
    """Return a header's names, each once, and those that several columns bear."""
    names = [" ".join(str(cell or "").split()) for cell in row]
    doubled = {name for name, times in Counter(names).items() if name and times > 1}
    used = set(names)
    for place, name in enumerate(names):
        if name in doubled and name in names[:place]:
            numbered = (f"{name} ({number})" for number in count(2))
            names[place] = next(each for each in numbered if each not in used)
            used.add(names[place])
    return names, frozenset(doubled)


def _framed(header: Sequence[str], cells: Sequence[Any], *, first: int) -> pd.DataFrame:
    rows = len(cells[0]) if cells else 0
    return pd.DataFrame(
        {
            name: pd.array(column, dtype=DType.TEXT.pandas)
            for name, column in zip(header, cells, strict=True)
            if name
        },
        index=pd.RangeIndex(first, rows + first),
    )
