"""A table of the pack as a sheet: read on screen, filtered, printed, and summed by formulas."""

import textwrap
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, Final

import pandas as pd

from kusanya.text import safe
from kusanya_books.columns import DType
from kusanya_books.judge import reconciliation
from kusanya_books.judge.reconciliation import LineRole
from kusanya_books.judge.report_pages import ReportPage
from kusanya_books.pack import cells
from kusanya_books.pack.cells import DIGITS_MAX, KIND_LOOKS, SUM, Counts, Formula, Place
from kusanya_books.pack.imprint import Imprint
from kusanya_books.pack.tables import CELL_MAX
from kusanya_books.pack.tables import cells as values_of
from kusanya_books.present import layout, views

HEAD: Final = 2
"""The row, from 0, of the headings; the title and the verdict stand above."""
PRINT_PX: Final = 995
"""What a printed page across holds at full size, in a spreadsheet's pixels."""
_UNIT_PX: Final = 7
_EDGE_PX: Final = 5
_LETTER: Final = 0.88
"""How wide a letter of our size is, in units of a column's width."""
_WRAPPED: Final = 0.82
"""How wide a letter is on average in a line of words."""
_INDENT: Final = 2
_WIDEST: Final = 40
_NARROW: Final = 14
_NARROWEST: Final = 9
_SAMPLE: Final = 1_000
_LINE_POINTS: Final = 12.5
_LINES: Final = 30
"""Lines that a row is high at most; a longer text is read in its cell."""


class Worksheet:
    """A worksheet with what it takes to write a cell of it."""

    def __init__(self, sheet: Any, formats: dict[str, Any], counts: Counts) -> None:
        self.sheet, self._formats, self._counts = sheet, formats, counts

    def write(self, place: Place, value: Any, look: str | None = None) -> None:
        """Write one cell; see `cells.write`."""
        cells.write(self.sheet, place, value, self._formats, self._counts, look=look)

    def head(self, title: str, imprint: Imprint, *, across: int) -> None:
        """Write the title and the verdict on top, and what each printed page says of itself."""
        self.write((0, 0), title, "title")
        look = "banner" if imprint.banner else "status"
        self.write((1, 0), imprint.status, look)
        for place in range(1, across):
            self.sheet.write_blank(1, place, None, self._formats[look])
        bold = f'&C&"-,Bold"&K9B2226 {_field(imprint.banner)}' if imprint.banner else ""
        self.sheet.set_header(bold)
        self.sheet.set_footer(f"&L&9 {_field(imprint.line)}&R&9 page &P of &N")

    def print_across(self, *, upright: bool = False) -> None:
        """Print on A4, one page wide."""
        self.sheet.set_paper(9)
        if not upright:
            self.sheet.set_landscape()
        self.sheet.set_margins(left=0.4, right=0.4, top=0.6, bottom=0.6)
        self.sheet.fit_to_pages(1, 0)

    def set_height(self, row: int, values: Sequence[Any], widths: list[float]) -> None:
        """Make a row high enough for its wrapped text; not every program does so by itself."""
        lines = 1
        for value, width in zip(values, widths, strict=True):
            if isinstance(value, str) and len(value) * _WRAPPED > width - _INDENT:
                letters = max(int((width - _INDENT) / _WRAPPED), 1)
                lines = max(lines, _lines_of(value, letters))
        if lines > 1:
            self.sheet.set_row(row, min(lines, _LINES) * _LINE_POINTS)

    def left_out(self, rows: int) -> None:
        """Count rows that this sheet does not hold."""
        self._counts.left_out += rows


@lru_cache(maxsize=1_000)  # what a code means and what to do stand in many rows
def _lines_of(text: str, letters: int) -> int:
    return len(textwrap.wrap(safe(text, CELL_MAX), letters))


def _field(text: str) -> str:
    return text.replace("&", "&&")


def fill(sheet: Worksheet, page: ReportPage, imprint: Imprint, *, rows: int) -> None:
    """Write a page's table: at most `rows` rows, its sums as formulas over its own cells."""
    frame = layout.read(page.frame)
    shown = frame.head(rows)
    sheet.head(title(page, frame, rows), imprint, across=len(frame.columns))
    sheet.sheet.freeze_panes(HEAD + 1, 1)
    sheet.sheet.repeat_rows(0, HEAD)
    sheet.print_across()
    if page.sheet_rows is None:  # else it is the page's own limit, which its title says
        sheet.left_out(max(page.rows - rows, 0))
    widths = _headings(sheet, shown)
    kinds = [KIND_LOOKS.get(dtype, "text") for dtype in frame.dtypes]
    sums = _own_sums(shown)
    for number, (row, is_sum) in enumerate(
        zip(values_of(shown), layout.is_sum(shown), strict=True)
    ):
        at = HEAD + 1 + number
        sheet.set_height(at, row, widths)
        for place, value in enumerate(row):
            due = sums.get((number, place), value)
            due = "total" if is_sum and due == layout.TOTAL else due
            if due is not None:
                sheet.write((at, place), due, f"{kinds[place]}{SUM}" if is_sum else kinds[place])
            elif is_sum:
                sheet.write((at, place), "", f"text{SUM}")
    last = HEAD + max(len(shown), 1)
    sheet.sheet.autofilter(HEAD, 0, last, len(frame.columns) - 1)
    _totals(sheet, shown, kinds)


def title(page: ReportPage, shown: pd.DataFrame, rows: int) -> str:
    """Return a page's title and what of it stands in its file only."""
    notes = []
    if page.rows > rows:
        notes.append(f"the first {rows:,} of {page.rows:,} rows")
    more = len(set(page.frame.columns) - set(shown.columns))
    if more:
        notes.append(f"{more} more columns")
    if not notes:
        return page.title
    return f"{page.title} · {', '.join(notes)}: all in csv/{page.name}.csv"


def _headings(sheet: Worksheet, frame: pd.DataFrame) -> list[float]:
    """Write the headings and return how wide the columns are."""
    heads = [_heading(str(name), dtype) for name, dtype in frame.dtypes.items()]
    widths = _widths(frame, heads)
    sheet.set_height(HEAD, heads, widths)
    for place, (head, dtype) in enumerate(zip(heads, frame.dtypes, strict=True)):
        sheet.sheet.set_column(place, place, widths[place])
        left = dtype in (DType.TEXT.pandas, DType.FLAG.pandas)
        sheet.write((HEAD, place), head, "head" if left else "head_number")
    return widths


def _heading(name: str, dtype: Any) -> str:
    """Return what stands above a column; an instant says its zone."""
    label = views.label(name)
    return f"{label} (EAT)" if dtype == DType.INSTANT.pandas else label


def _widths(frame: pd.DataFrame, heads: list[str]) -> list[float]:
    """Return the width of each column, so that all fit one printed page; text is then wrapped."""
    added, every = layout.added(frame), [column for _, column in frame.items()]
    wide = [
        _letters(column, head, is_added=column.name in added) * _LETTER + _INDENT
        for column, head in zip(every, heads, strict=True)
    ]
    spaced = [_has_words(column) for column in every]
    texts = [column.dtype == DType.TEXT.pandas for column in every]
    # Words are wrapped before anything that is one word: an id in two halves is hard to read.
    for narrow, least in ((spaced, _NARROW), (texts, _NARROWEST)):
        while (over := sum(each * _UNIT_PX + _EDGE_PX for each in wide) - PRINT_PX) > 0:
            some = [at for at, is_narrow in enumerate(narrow) if is_narrow and wide[at] > least]
            if not some:
                break
            widest = max(some, key=wide.__getitem__)
            wide[widest] -= min(1, over / _UNIT_PX + 0.1)
    return [round(each, 2) for each in wide]


def _has_words(column: "pd.Series[Any]") -> bool:
    # Most tables of a clean month are empty, and pandas takes its time over nothing.
    if column.empty or column.dtype != DType.TEXT.pandas:
        return False
    known = column.dropna().head(_SAMPLE)
    return bool(known.str.contains(" ", regex=False).any())


def _letters(column: "pd.Series[Any]", heading: str, *, is_added: bool) -> int:
    """Return how many letters a column should hold: its longest value, or word of its heading."""
    head = max(map(len, heading.split()), default=0) + 2
    if column.dtype == DType.INSTANT.pandas:
        return max(head, len("2026-03-31 23:59:59"))
    if column.dtype == DType.DAY.pandas:
        return max(head, len("2026-03-31"))
    if column.empty or (known := column.dropna()).empty:
        return head
    if column.dtype == DType.WHOLE.pandas:
        total = sum(abs(int(value)) for value in known) if is_added else 0
        ends = (int(known.min()), int(known.max()), -total)
        return max(head, *(len(f"{value:,}") for value in ends))
    if column.dtype == DType.TEXT.pandas:
        return max(head, min(int(known.str.len().max()), _WIDEST))
    return max(head, len("100.0%"))


def _own_sums(frame: pd.DataFrame) -> dict[Place, Any]:
    """Return the cells of a table that are sums of others, as formulas, by row and column."""
    if frame.empty:
        return {}
    if reconciliation.is_bridge(frame):
        return _bridge_sums(frame)
    return _day_sums(frame) if any(layout.is_sum(frame)) else {}


def _bridge_sums(frame: pd.DataFrame) -> dict[Place, Any]:
    found: dict[Place, Any] = {}
    column = list(frame.columns).index("amount")
    keys = [name for name in ("channel", "currency") if name in frame]
    for _, lines in frame.groupby(keys, sort=False, dropna=False):
        roles = reconciliation.roles(lines["line"].tolist())
        places = [int(at) for at in lines.index]
        values = [None if pd.isna(value) else int(value) for value in lines["amount"]]
        found |= {
            (at, column): due
            for at, due in statement_sums(roles, places, values, column, HEAD + 1).items()
            if roles[places.index(at)] is LineRole.DIFFERENCE
        }
    return found


def statement_sums(
    roles: list[LineRole], places: list[int], values: list[int | None], column: int, first: int
) -> dict[int, Any]:
    """Return what the subtotals and the difference of one statement are, as formulas, by place.

    `first` is the row of place 0. A formula that does not come to the value is not used.
    """
    found: dict[int, Any] = {}
    summed = [at for at, role in enumerate(roles) if role in reconciliation.SUMMED]
    counted = [at for at, role in enumerate(roles) if role is LineRole.COUNTED]
    for at, role in enumerate(roles):
        if role not in (LineRole.SUBTOTAL, LineRole.DIFFERENCE):
            continue
        parts = [part for part in summed if part < at]
        rows, amounts = [first + places[part] for part in parts], [values[part] for part in parts]
        due = cells.sum_of(column, rows, amounts)
        if role is LineRole.DIFFERENCE and counted and isinstance(due, Formula):
            other = values[counted[0]] or 0
            cell = f"{cells.letters_of(column)}{first + places[counted[0]] + 1}"
            due = Formula(f"{due.text}-{cell}", due.value - other)
            due = due if abs(other) < DIGITS_MAX else due.value
        if isinstance(due, Formula) and due.value == values[at]:
            found[places[at]] = due
    return found


def _day_sums(frame: pd.DataFrame) -> dict[Place, Any]:
    """Return the sums of a table whose rows of totals stand below what they sum up."""
    found: dict[Place, Any] = {}
    names = list(frame.columns)
    for name in layout.added(frame):
        place, begin = names.index(name), 0
        values = [None if pd.isna(value) else int(value) for value in frame[name]]
        for at, is_sum in enumerate(layout.is_sum(frame)):
            if not is_sum:
                continue
            rows = [HEAD + 1 + row for row in range(begin, at)]
            due = cells.sum_of(place, rows, values[begin:at])
            if isinstance(due, Formula) and due.value == values[at]:
                found[at, place] = due
            begin = at + 1
    return found


def _totals(sheet: Worksheet, frame: pd.DataFrame, kinds: list[str]) -> None:
    """Write the sums of each currency below the table."""
    names = list(frame.columns)
    sums = list(layout.totals(frame))
    label = layout.label_of(frame)
    first, last = HEAD + 1, HEAD + len(frame)
    for number, total in enumerate(sums):
        row = last + 1 + number
        for place, name in enumerate(names):
            value: Any = None
            if name == label:
                value = "total"
            elif name.startswith("currency"):
                value = total.currency
            elif name in total.amounts:
                value = _total(frame, name, total, names, (first, last, row), alone=len(sums) == 1)
            look = f"{kinds[place]}{SUM}"
            if value is None:
                sheet.write((row, place), "", f"text{SUM}")
            else:
                sheet.write((row, place), value, look)


def _total(
    frame: pd.DataFrame,
    name: str,
    total: layout.Total,
    names: list[str],
    rows: tuple[int, int, int],
    *,
    alone: bool,
) -> Any:
    first, last, row = rows
    known = frame[name].dropna()
    due = total.amounts[name]
    if not known.empty and max(abs(int(known.min())), abs(int(known.max()))) >= DIGITS_MAX:
        return due
    cell_range = cells.column_range(names.index(name), first, last)
    if alone:
        return Formula(f"SUM({cell_range})", due)
    currency = layout.currency_of(frame, name)
    if currency is None:
        return due
    column = names.index(currency)
    beside = cells.column_range(column, first, last)
    this = f"{cells.letters_of(column)}{row + 1}"
    # EXACT: a currency is outside text, and a condition in words would be read as a pattern.
    return Formula(f"SUMPRODUCT(--EXACT({beside},{this}),{cell_range})", due)
