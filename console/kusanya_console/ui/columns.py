"""The columns of a long list: what each says about a record, and how they share the width."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, Generic, TypeVar

import msgspec
from rich.cells import cell_len

from kusanya.store.records import SortOrder
from kusanya_console.ui.excerpt import Row
from kusanya_console.ui.format import Look, fit, fit_id
from kusanya_console.ui.language import translate
from kusanya_console.ui.vocabulary import Run

R = TypeVar("R", bound=Row)
GAP: Final = "  "
MARGIN: Final = 2
"""Cells at the left for the cursor's and the change's marks."""
_LONGEST: Final = 24
"""More cells than this no column takes from others for the sake of its text."""
_SPARED: Final = 2
"""Columns of a lower rank stay although a text is cut: their records do not differ by it alone."""


class Column(msgspec.Struct, Generic[R], frozen=True):
    """One column: its heading, its width, and what it says about a record."""

    title: str
    width: int
    cell: Callable[[R, Look], Run]
    right: bool = False
    rank: int = 0
    """Columns of the highest rank go first when there is no room; rank 0 stays."""
    grows: int = 0
    """How many cells it may take beyond its width when there is room."""
    moves: bool = False
    """True for what changes with the time alone, such as what is left of a window."""
    names: bool = False
    """True for identifiers, which are cut in their middle."""
    whole: bool = False
    """True for what tells records apart: columns of a rank go before it is cut."""
    order: SortOrder | None = None
    """The indexed order in which this column stands from the top down, if the store has one."""
    key: str = ""
    """The filter's key that asks for it; what such a word meets is underlined in it."""
    extra: bool = False
    """True for what is shown only where a person chose it, or sorts by it."""

    shorter: Callable[[str], str] | None = None
    """What it says instead where the whole text has no room."""

    def fitted(self, text: str, width: int) -> str:
        """Return a text in exactly `width` cells of this column."""
        if self.shorter is not None and cell_len(text) > width:
            text = self.shorter(text)
        return fit_id(text, width) if self.names else fit(text, width, right=self.right)


class Heading(msgspec.Struct, frozen=True):
    """By which column a list is sorted, and whether its smallest or oldest comes first."""

    order: SortOrder | None = None
    ascending: bool = False

    def of(self, column: Column[Any], width: int | None = None) -> str:
        """Return what stands above a column, with an arrow where the list is sorted by it.

        It has `width` cells, or one more where the arrow finds room in the gap alone.
        """
        title = translate(column.title)
        arrow = "" if not self.is_by(column) else " ▲" if self.ascending else " ▼"
        if width is None:
            return f"{title}{arrow}"
        if cell_len(title) + len(arrow) <= width:
            return fit(f"{title}{arrow}", width, right=column.right)
        return f"{fit(title, width, right=column.right)}{arrow.strip()}"

    def is_by(self, column: Column[Any]) -> bool:
        """Return whether the list is sorted by a column."""
        return column.order is not None and column.order is self.order


def widths(columns: Sequence[Column[R]], needs: Mapping[str, int], width: int) -> list[int]:
    """Return each column's width, 0 for those that find no room.

    `needs` are the cells that the columns to keep whole would take, by their titles.
    """

    def total(of: Sequence[Column[R]]) -> int:
        return MARGIN + sum(column.width + len(GAP) for column in of)

    def lack(column: Column[R]) -> int:
        return max(min(needs.get(column.title, 0), _LONGEST) - column.width, 0)

    kept = list(columns)
    while len(kept) > 1 and total(kept) + sum(map(lack, kept)) > width:
        # A figure that is cut is another figure: what it needs is its width.
        figures = sum(lack(column) for column in kept if column.right)
        fits = total(kept) + figures <= width
        # Of two of a rank the one stays that a person chose.
        last = max(kept, key=lambda column: (column.rank, not column.extra))
        if last.rank < (_SPARED if fits else 1):
            break
        kept.remove(last)
    room = max(width - total(kept), 0)
    extras = dict.fromkeys((column.title for column in columns), 0)
    # What tells records apart has its cells before anything else grows.
    for grows in (lack, lambda column: column.grows):
        for column in sorted(kept, key=lambda column: not column.right):
            taken = min(max(grows(column) - extras[column.title], 0), room)
            extras[column.title] += taken
            room -= taken
    return [column.width + extras[column.title] if column in kept else 0 for column in columns]
