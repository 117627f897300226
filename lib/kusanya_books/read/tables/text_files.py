"""CSV and its relatives: encodings, delimiters, and the quick way through a large orderly file."""

import codecs
import csv
import io
import re
from collections.abc import Sequence
from itertools import islice
from typing import Any, Final, NamedTuple

import numpy as np
import pyarrow as pa
from pyarrow import csv as arrow_csv

from kusanya.errors import InputRefused
from kusanya.text import plain
from kusanya_books.read.mapping import Layout
from kusanya_books.read.tables import headers
from kusanya_books.read.tables.sheet import CELL_MAX, HEADER_ROWS, Fits, Grid, Rows

_UTF8: Final = frozenset({"utf-8-sig", "utf-8"})
_KEPT: Final = re.compile('="([^"]*)"')
"""A text that a program keeps a spreadsheet from changing: ="0123"."""
DELIMITERS: Final = (",", ";", "\t", "|")
_SAMPLE: Final = 4_096


class Text(NamedTuple):
    """The text of a file."""

    name: str
    data: bytes
    """UTF-8, without a byte order mark."""
    encoding: str
    notes: tuple[str, ...] = ()


def decode(name: str, data: bytes, layout: Layout) -> Text:
    """Return the text of a file as UTF-8, without a byte order mark and what else draws nothing.

    Without a word of the mapping: the byte order mark, else UTF-8, else Windows-1252. Raises
    InputRefused where that does not fit.
    """
    encoding = layout.encoding or _guess(data)
    try:
        if encoding.lower() in _UTF8:
            if data.isascii():
                return Text(name, data, encoding)
            return Text(name, plain(data.decode("utf-8")).encode("utf-8"), encoding)
        return Text(name, plain(data.decode(encoding)).encode("utf-8"), encoding)
    except (UnicodeError, LookupError):
        if layout.encoding is not None:
            raise InputRefused(
                f"{name} is not {layout.encoding}; name its encoding in the mapping"
            ) from None
    try:
        text = data.decode("cp1252")
    except UnicodeDecodeError:
        raise InputRefused(
            f"{name} is not utf-8 and not cp1252; name its encoding in the mapping"
        ) from None
    note = 'read as Windows text (encoding = "cp1252"), because it is not UTF-8'
    return Text(name, plain(text).encode("utf-8"), "cp1252", (note,))


def _guess(data: bytes) -> str:
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return "utf-16"
    start = data[:_SAMPLE]
    # Latin text in UTF-16 has a zero in every second byte.
    if start[1::2].count(0) > len(start) // 4:
        return "utf-16-le"
    return "utf-16-be" if start[::2].count(0) > len(start) // 4 else "utf-8-sig"


def delimiter_of(text: Text, layout: Layout, fits: Fits | None) -> str:
    """Return the delimiter: the mapping's, else the first one with which a row is the header."""
    if layout.delimiter is not None:
        return layout.delimiter
    if fits is not None:
        for mark in DELIMITERS:
            if any(fits(row) for row in start(text, mark)):
                return mark
    return ","


def start(text: Text, mark: str) -> Rows:
    """Return the first rows of a file, cut at a delimiter."""
    lines = io.TextIOWrapper(io.BytesIO(text.data), encoding="utf-8", newline="")
    rows: Rows = []
    try:
        rows.extend(islice(csv.reader(lines, delimiter=mark), HEADER_ROWS))
    except csv.Error:
        return rows  # the careful reader names the fault
    return rows


def read(text: Text, layout: Layout, fits: Fits | None) -> Grid:
    """Return every row of a text file. Raises InputRefused for what is no CSV."""
    name, data, _, notes = text
    csv.field_size_limit(CELL_MAX)
    mark = delimiter_of(text, layout, fits)
    try:
        lines = io.TextIOWrapper(io.BytesIO(data), encoding="utf-8", newline="")
        rows: Rows = list(csv.reader(lines, delimiter=mark, strict=True))
    except csv.Error as error:
        raise InputRefused(f"{name} is not CSV: {error}") from None
    if b'="' in data:
        rows = [[_bare(cell or "") for cell in row] for row in rows]
    return Grid(rows=rows, header=headers.find(rows, fits, layout.header_row), notes=notes)


def _bare(cell: str) -> str:
    kept = _KEPT.fullmatch(cell.strip())
    return cell if kept is None else kept[1]


def quick(
    text: Text, layout: Layout, fits: Fits | None
) -> tuple[Sequence[str], list[pa.ChunkedArray]] | None:
    """Return header and columns of a CSV without surprises, or None for the careful reader.

    Ten times as quick as it. A surprise is a header below the first row, a quote within a cell, a
    text kept by ="...", a row of another length, an empty line, a cell of a megabyte, or any
    encoding but UTF-8: what those mean, or which row to blame, only the careful one says.
    """
    _, data, encoding, notes = text
    if encoding.lower() not in _UTF8 or notes or b"\0" in data or b'="' in data:
        return None
    mark = delimiter_of(text, layout, fits)
    if not _quotes_whole_cells(data, mark):
        return None
    lines = io.TextIOWrapper(io.BytesIO(data), encoding="utf-8", newline="")
    try:
        start = list(islice(csv.reader(lines, delimiter=mark, strict=True), HEADER_ROWS))
        header = start[0] if start else []
        if not header or headers.find(start, fits, layout.header_row) != 0:
            return None
        return header, _columns(data, mark, len(header))
    except (pa.ArrowInvalid, csv.Error):
        return None


def _columns(data: bytes, mark: str, width: int) -> list[pa.ChunkedArray]:
    names = [str(place) for place in range(width)]
    table: Any = arrow_csv.read_csv(
        pa.BufferReader(data),
        read_options=arrow_csv.ReadOptions(column_names=names, block_size=CELL_MAX),
        parse_options=arrow_csv.ParseOptions(
            delimiter=mark, newlines_in_values=True, ignore_empty_lines=False
        ),
        convert_options=arrow_csv.ConvertOptions(
            # As frames keep text, so that nothing is copied into one.
            column_types=dict.fromkeys(names, pa.large_string()),
            null_values=[""],
            strings_can_be_null=True,
        ),
    )
    return [column.slice(1) for column in table.columns]


def _quotes_whole_cells(data: bytes, delimiter: str) -> bool:
    """Return whether every quote opens or closes a whole cell, in turns."""
    mark = delimiter.encode()
    if b'"' not in data:
        return len(mark) == 1
    letters = np.frombuffer(b"\n" + data + b"\n", dtype="uint8")
    at = np.flatnonzero(letters == ord('"'))
    ends = np.frombuffer(b"\r\n" + mark, dtype="uint8")
    alternate = len(mark) == 1 and len(at) % 2 == 0
    opened, closed = letters[at[::2] - 1], letters[at[1::2] + 1]
    return bool(alternate and np.isin(opened, ends).all() and np.isin(closed, ends).all())
