"""A table as rows of cells, and as CSV: exact for machines, harmless for spreadsheets."""

import codecs
import csv
import re
import shutil
from collections.abc import Iterable, Iterator
from datetime import datetime
from pathlib import Path
from typing import Any, BinaryIO, Final

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from kusanya.domain.business_day import EAT
from kusanya.text import safe
from kusanya_books.columns import DType

CELL_MAX: Final = 32_767
"""Characters that a spreadsheet's cell holds."""
_FORMULA: Final = ("=", "+", "-", "@", "＝", "＋", "－", "＠")
_BREAKING: Final = ("\t", "\r", "\n")
_AFTER_SEMICOLON: Final = re.compile(rf""";(?=["'\s]*[{re.escape("".join(_FORMULA))}])""")
"""Where the comma is the decimal mark a spreadsheet ends a cell here, quoted or not."""
_PLAIN: Final = r"\A[A-Za-z0-9_](?:[A-Za-z0-9_.:/() -]{0,98}[A-Za-z0-9_.)])?\z"
"""Text that is the same in every form of CSV."""
_matches_plain: Final = re.compile(_PLAIN.removeprefix(r"\A").removesuffix(r"\z")).fullmatch
_LONG: Final = 5_000
"""Rows from which on it pays to look for that."""
_TOGETHER: Final = 100_000
"""Rows of a plain table that are made into text at once."""
_COPIED: Final = 1_000_000
"""Bytes that are copied at once."""
_WIDEST_MARK: Final = 10
"""Characters that a mark of `safe` takes at most in place of one."""


def write_both(frames: Iterable[pd.DataFrame], path: Path, raw: Path) -> int:
    """Write a table for spreadsheets and for machines; return how many cells were cut.

    `frames` are its parts in order, at least one. As `to_csv` and `to_raw_csv` do, but a long table
    that is the same in both is made once.
    """
    if not _is_plain(frames):
        _write_raw(frames, raw)
        return _write_safe(frames, path)
    _write_plain(frames, raw)
    with raw.open("rb") as written, path.open("wb") as file:
        file.write(codecs.BOM_UTF8)
        shutil.copyfileobj(written, file, _COPIED)
    return 0


def to_csv(frame: pd.DataFrame, path: Path) -> int:
    """Write a table for spreadsheets and return how many cells were cut at their limit.

    It has a BOM, safe text, and nothing that begins like a formula.
    """
    if not _is_plain([frame]):
        return _write_safe([frame], path)
    _write_plain([frame], path, begin=codecs.BOM_UTF8)
    return 0


def to_raw_csv(frame: pd.DataFrame, path: Path) -> None:
    """Write a table for machines: exact text, no BOM."""
    write = _write_plain if _is_plain([frame]) else _write_raw
    write([frame], path)


def _write_safe(frames: Iterable[pd.DataFrame], path: Path) -> int:
    cut = 0
    with path.open("w", encoding="utf-8-sig", newline="") as file:
        writer = csv.writer(file, lineterminator="\r\n")
        for place, frame in enumerate(frames):
            if not place:
                writer.writerow([escape_formula(str(name)) for name in frame.columns])
            for row in _rows(frame):
                cut += sum(isinstance(cell, str) and is_cut(cell) for cell in row)
                writer.writerow(
                    [escape_formula(cell) if isinstance(cell, str) else cell for cell in row]
                )
    return cut


def _write_raw(frames: Iterable[pd.DataFrame], path: Path) -> None:
    with path.open("w", encoding="utf-8", newline="", errors="surrogatepass") as file:
        # The writer quotes only the characters of its own line end: a lone CR would end the row.
        writer = csv.writer(file, lineterminator="\r\n")
        for place, frame in enumerate(frames):
            if not place:
                writer.writerow(frame.columns)
            writer.writerows(_rows(frame))


def _is_plain(frames: Iterable[pd.DataFrame]) -> bool:
    """Return whether a table is long and no cell of it needs a quote, an escape or a cut."""
    known = {DType.TEXT.pandas, DType.WHOLE.pandas, np.dtype(DType.DAY.pandas)}
    if sum(map(len, frames)) < _LONG:
        return False
    return all(
        set(frame.dtypes) <= known and all(_is_plain_text(frame[name]) for name in _texts(frame))
        for frame in frames
    )


def _texts(frame: pd.DataFrame) -> list[str]:
    return [name for name in frame.columns if frame[name].dtype == DType.TEXT.pandas]


def _is_plain_text(column: "pd.Series[Any]") -> bool:
    plain = pc.match_substring_regex(pa.array(column), _PLAIN)
    return bool(pc.all(plain, min_count=0).as_py())


def _write_plain(frames: Iterable[pd.DataFrame], path: Path, *, begin: bytes = b"") -> None:
    """Write a plain table, the same text as the careful way, a column at a time.

    The lines of some rows lie side by side in one array, whose bytes are the file's.
    """
    with path.open("wb") as file:
        for place, frame in enumerate(frames):
            if not place:
                file.write(begin + (",".join(map(str, frame.columns)) + "\r\n").encode())
            for start in range(0, len(frame), _TOGETHER):
                _write_lines(frame.iloc[start : start + _TOGETHER], file)


def _write_lines(some: pd.DataFrame, file: BinaryIO) -> None:
    parts = [pc.fill_null(_as_text(some[name]), "") for name in some.columns]
    ended = [*parts[:-1], pc.binary_join_element_wise(parts[-1], "\r\n", "")]
    lines = pc.binary_join_element_wise(*ended, ",")
    for piece in lines.chunks if isinstance(lines, pa.ChunkedArray) else [lines]:
        _, ends, text = piece.buffers()
        places = np.frombuffer(ends, dtype="int32")[piece.offset :]
        file.write(memoryview(text)[places[0] : places[len(piece)]])


def _as_text(column: "pd.Series[Any]") -> Any:
    if column.dtype == DType.TEXT.pandas:
        return pa.array(column, type=pa.string())
    if column.dtype == DType.WHOLE.pandas:
        return pc.cast(pa.array(column, type=pa.int64()), pa.string())
    # Of many rows there are few days.
    places, days = pd.factorize(column)
    texts = pa.array([f"{day:%Y-%m-%d}" for day in days], type=pa.string())
    return texts.take(pa.array(places, mask=places < 0))


def escape_formula(text: str) -> str:
    """Return safe text that no spreadsheet reads as a formula."""
    if _matches_plain(text) is not None:
        return text
    begins = text.lstrip()[:1] in _FORMULA and text.strip() != ""
    shown = _AFTER_SEMICOLON.sub(";'", safe(text, CELL_MAX))
    return f"'{shown}" if begins or text[:1] in _BREAKING else shown


def is_cut(text: str) -> bool:
    """Return whether a cell of a spreadsheet does not hold the whole text."""
    if len(text) * _WIDEST_MARK <= CELL_MAX:
        return False
    shown = safe(text, CELL_MAX)
    longer = len(shown) == CELL_MAX and shown.endswith("…") and shown != text
    return len(text) > CELL_MAX or longer


def cells(frame: pd.DataFrame) -> Iterator[tuple[Any, ...]]:
    """Yield rows of plain values: int, float, bool, str, naive datetime in EAT, None."""
    if frame.empty:  # as most tables of a clean month are, and pandas takes its time over nothing
        return
    plain = []
    for name in frame.columns:
        column = frame[name]
        if column.dtype == DType.INSTANT.pandas:
            local = column.dt.tz_localize(None) + EAT.utcoffset(None)
            values = [None if pd.isna(at) else at.to_pydatetime() for at in local]
        elif column.dtype == DType.DAY.pandas:
            values = [None if pd.isna(at) else at.to_pydatetime() for at in column]
        else:
            objects = column.array.to_numpy(dtype="object", na_value=None)
            values = [_plain(value) for value in objects.tolist()]
        plain.append(values)
    yield from zip(*plain, strict=True)


def _plain(value: Any) -> Any:
    return value.item() if hasattr(value, "item") else value


def _rows(frame: pd.DataFrame) -> Iterator[list[Any]]:
    """Yield rows for CSV: dates ISO, instants in EAT with their offset."""
    days = [frame[name].dtype == DType.DAY.pandas for name in frame.columns]
    for row in cells(frame):
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
