"""One cell of the workbook: a number, a date, text that stays text, or a sum of our own."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any, Final

import msgspec
import numpy as np

from kusanya.errors import PackRefused
from kusanya.text import safe
from kusanya_books.columns import DType
from kusanya_books.pack.tables import CELL_MAX, is_cut

DIGITS_MAX: Final = 10**15
"""Whole numbers from here on lose digits in a spreadsheet: they are written as text."""
POINTS: Final = 9.5
"""The size of the type: a page that is shrunk a little is still at 9 pt."""
SUM: Final = " of a sum"
KIND_LOOKS: Final = {
    DType.WHOLE.pandas: "whole",
    DType.SHARE.pandas: "share",
    DType.INSTANT.pandas: "instant",
    np.dtype(DType.DAY.pandas): "day",
}
_RED: Final = "#9B2226"
Place = tuple[int, int]
"""Row and column of a cell, both from 0."""


class Counts(msgspec.Struct):
    """What a workbook could not hold as it was."""

    cut: int = 0
    as_text: int = 0
    left_out: int = 0


class Formula(msgspec.Struct, frozen=True):
    """A sum over cells of the same sheet and what it comes to.

    `text` is made of functions and cells alone, never of a value from outside.
    """

    text: str
    value: int


def looks(book: Any) -> dict[str, Any]:
    """Return the workbook's formats by name."""
    font = {"font_name": "Arial"}
    size = {**font, "font_size": POINTS, "valign": "top"}
    head = {**size, "bold": True, "bottom": 1, "bg_color": "#E8EEF3", "text_wrap": True}
    # Text is indented, or it would touch the number on its left.
    plain: dict[str, dict[str, Any]] = {
        "whole": {**size, "num_format": "#,##0"},
        "share": {**size, "num_format": "0.0%"},
        "day": {**size, "num_format": "yyyy-mm-dd"},
        "instant": {**size, "num_format": "yyyy-mm-dd hh:mm:ss"},
        "text": {**size, "num_format": "@", "align": "left", "indent": 1, "text_wrap": True},
        "line": {**size, "num_format": "@"},
    }
    made = {name: book.add_format(look) for name, look in plain.items()}
    made |= {
        f"{name}{SUM}": book.add_format({**look, "bold": True, "top": 1})
        for name, look in plain.items()
    }
    return made | {
        "head": book.add_format({**head, "align": "left", "indent": 1}),
        "head_number": book.add_format({**head, "align": "right"}),
        "fact": book.add_format({**size, "align": "left", "num_format": "#,##0"}),
        "title": book.add_format({**font, "bold": True, "font_size": 13}),
        "part": book.add_format({**size, "bold": True, "bottom": 1, "font_size": 10.5}),
        "part_number": book.add_format(
            {**size, "bold": True, "bottom": 1, "font_size": 10.5, "align": "right"}
        ),
        "status": book.add_format({**size, "bold": True}),
        "banner": book.add_format(
            {**size, "bold": True, "font_color": "#FFFFFF", "bg_color": _RED}
        ),
        "rule": book.add_format({**size, "bottom": 1}),
    }


def write(
    sheet: Any,
    place: Place,
    value: Any,
    formats: dict[str, Any],
    counts: Counts,
    *,
    look: str | None = None,
) -> None:
    """Write one cell, and count what it cannot hold; a value of None leaves it empty.

    Raises PackRefused when the cell is not written.
    """
    if isinstance(value, Formula):
        if abs(value.value) < DIGITS_MAX:
            shown = formats[look or f"whole{SUM}"]
            _checked(sheet.write_formula(*place, f"={value.text}", shown, value.value))
            return
        value = value.value
    if value is None:
        return
    if value == "":  # with a look only: words beside it run over it
        _checked(sheet.write_blank(*place, None, formats[look or "text"]))
        return
    if isinstance(value, bool):
        code = sheet.write_string(*place, "yes" if value else "no", formats[look or "text"])
    elif isinstance(value, int) and abs(value) < DIGITS_MAX:
        code = sheet.write_number(*place, value, formats[look or "whole"])
    elif isinstance(value, float):
        code = sheet.write_number(*place, value, formats[look or "share"])
    elif isinstance(value, datetime):
        code = sheet.write_datetime(*place, value, formats[look or "instant"])
    else:
        counts.as_text += isinstance(value, int)
        text = str(value)
        counts.cut += is_cut(text)
        # A number that is written as text looks like text.
        named = (look or "text").replace("whole", "text")
        code = sheet.write_string(*place, safe(text, CELL_MAX), formats[named])
    _checked(code)


def _checked(code: int) -> None:
    if code:
        raise PackRefused(f"a cell of the workbook was not written (code {code})")


def column_range(column: int, first: int, last: int) -> str:
    """Return the cells of a column from one row to another, both from 0, as a formula says it."""
    letters = letters_of(column)
    return f"{letters}{first + 1}:{letters}{last + 1}"


def letters_of(column: int) -> str:
    """Return the name of a column, from 0: A, B, … Z, AA."""
    name, left = "", column + 1
    while left:
        left, at = divmod(left - 1, 26)
        name = chr(ord("A") + at) + name
    return name


def sum_of(column: int, rows: Sequence[int], values: Sequence[int | None]) -> Formula | int:
    """Return the sum of a column's cells in these rows, from 0, as a formula.

    A number where a cell holds too many digits: it is text, which no spreadsheet adds up.
    """
    total = sum(value for value in values if value is not None)
    if not rows or any(abs(value or 0) >= DIGITS_MAX for value in values):
        return total
    parts, first = [], rows[0]
    for row, after in zip(rows, [*rows[1:], None], strict=True):
        if after != row + 1:
            parts.append(f"SUM({column_range(column, first, row)})")
            first = after if after is not None else row
    return Formula("+".join(parts), total)


def sum_along(row: int, columns: tuple[int, int], values: Sequence[int]) -> Formula | int:
    """Return the sum of neighbouring cells of a row, from 0, as a formula where that is exact."""
    total = sum(values)
    if any(abs(value) >= DIGITS_MAX for value in values):
        return total
    first, last = columns
    return Formula(f"SUM({letters_of(first)}{row + 1}:{letters_of(last)}{row + 1})", total)


def difference_along(row: int, columns: tuple[int, int], values: tuple[int, int]) -> Formula | int:
    """Return the first of two cells of a row less the second, as a formula where that is exact."""
    left = values[0] - values[1]
    if any(abs(value) >= DIGITS_MAX for value in values):
        return left
    first, second = (f"{letters_of(column)}{row + 1}" for column in columns)
    return Formula(f"SUM({first}:{first})-{second}", left)
