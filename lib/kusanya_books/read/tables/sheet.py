"""What every reader of a file answers with: rows of text, and what the cells were before."""

from collections.abc import Callable, Sequence
from typing import Any, Final

import msgspec
import pandas as pd

HEADER_ROWS: Final = 40
"""The header stands in one of so many first rows."""
CELL_MAX: Final = 1_000_000
"""Longest cell, in characters: nothing that a person typed is longer."""
Fits = Callable[[Sequence[str | None]], bool]
"""Tells whether a row is the header."""
Rows = list[Sequence[str | None]]


class Grid(msgspec.Struct, frozen=True, kw_only=True):
    """A file's rows from the first one on, header and preamble included."""

    rows: Rows
    header: int = 0
    """The place of the header among the rows."""
    numeric: frozenset[tuple[int, int]] = frozenset()
    """Cells (place of the row, place of the column) that were numbers and not text."""
    dates: frozenset[tuple[int, int]] = frozenset()
    """Cells that were dates and not text."""
    notes: tuple[str, ...] = ()
    """What a person should know of how the file was opened."""


class Sheet(msgspec.Struct, frozen=True):
    """A file as rows of text. `frame` has one text column per header, missing where empty."""

    frame: pd.DataFrame
    """Indexed by the row's number in the file, counted from 1; what stands above is left out."""
    numeric: frozenset[tuple[int, str]]
    """Cells (row, header) that were numbers and not text: zeros or digits may be gone."""
    sha256: str
    name: str
    dates: frozenset[tuple[int, str]] = frozenset()
    """Cells that were dates and not text: day and month may have been exchanged on the way."""
    long: frozenset[int] = frozenset()
    """Rows with more cells than the header has: their cells may stand under the wrong column."""
    doubled: frozenset[str] = frozenset()
    """Headers that several columns bear: the first has it as it is, the others with a number."""
    header_row: int = 1
    notes: tuple[str, ...] = ()

    def cells(self, which: frozenset[tuple[int, str]], header: str) -> Any:
        """Return which rows have a cell of `header` among `which`."""
        rows = {row for row, name in which if name == header}
        found: Any = self.frame.index.isin(list(rows))
        return found
