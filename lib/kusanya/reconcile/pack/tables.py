"""A table as rows of cells, and as CSV: exact for machines, harmless for spreadsheets."""

import csv
import re
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any, Final

import pandas as pd

from kusanya.business_day import EAT
from kusanya.reconcile.frames.columns import DType
from kusanya.text import safe

CELL_MAX: Final = 32_767
"""Characters that a spreadsheet's cell holds."""
_FORMULA: Final = ("=", "+", "-", "@", "＝", "＋", "－", "＠")
_BREAKING: Final = ("\t", "\r", "\n")
_AFTER_SEMICOLON: Final = re.compile(rf""";(?=["'\s]*[{re.escape("".join(_FORMULA))}])""")
"""Where the comma is the decimal mark a spreadsheet ends a cell here, quoted or not."""
_WIDEST_MARK: Final = 10
"""Characters that a mark of `safe` takes at most in place of one."""


def to_csv(frame: pd.DataFrame, path: Path) -> int:
    """Write a table for spreadsheets and return how many cells were cut at their limit.

    It has a BOM, safe text, and nothing that begins like a formula.
    """
    cut = 0
    with path.open("w", encoding="utf-8-sig", newline="") as file:
        writer = csv.writer(file, lineterminator="\r\n")
        writer.writerow([escape_formula(str(name)) for name in frame.columns])
        for row in _rows(frame):
            cut += sum(isinstance(cell, str) and is_cut(cell) for cell in row)
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


def is_cut(text: str) -> bool:
    """Return whether a cell of a spreadsheet does not hold the whole text."""
    if len(text) * _WIDEST_MARK <= CELL_MAX:
        return False
    shown = safe(text, CELL_MAX)
    longer = len(shown) == CELL_MAX and shown.endswith("…") and shown != text
    return len(text) > CELL_MAX or longer


def cells(frame: pd.DataFrame) -> Iterator[tuple[Any, ...]]:
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
