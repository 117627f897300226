"""The long list: draws the lines one sees, holds a window of pages, points at a record by its id.

The cursor is a record's id, so it stays on its record whatever happens above or below. Scrolling
never animates: an animated move across the seam of two pages runs on through both. `show` is the
only way its contents change.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import ClassVar, Final, Generic, TypeVar

import msgspec
from rich.cells import cell_len
from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.geometry import Size
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.strip import Strip

from kusanya_console.ui.format import Look, TimeFormat, fit, fit_id
from kusanya_console.ui.language import translate
from kusanya_console.ui.vocabulary import ACCENT, MUTED, Run
from kusanya_console.widgets.window import PageWindow, Row

R = TypeVar("R", bound=Row)
_GAP: Final = "  "
_MARGIN: Final = 2
"""Cells at the left for the cursor's and the change's marks."""
_NEAR: Final = 40
"""So many rows from the window's edge the next page is asked for."""
_CACHED: Final = 2000
_LONGEST: Final = 24
"""More cells than this no column takes from others for the sake of its text."""
_SPARED: Final = 2
"""Columns of a lower rank stay although a text is cut: their records are not told apart by it."""


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


class RecordTable(ScrollView, Generic[R], can_focus=True, inherit_bindings=False):
    """Shows a `PageWindow`; posts what a person points at, opens, or needs more of."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {"record-table--head", "record-table--cursor"}

    class Highlighted(Message):
        """The cursor stands on another record, or on none."""

        def __init__(self, row_id: str | None) -> None:
            super().__init__()
            self.row_id = row_id

    class Opened(Message):
        """A record was asked for by a double click."""

    class NeedPage(Message):
        """The view nears an end of the window, and the list goes on there."""

        def __init__(self, *, older: bool) -> None:
            super().__init__()
            self.older = older

    class Moved(Message):
        """A deliberate move: whoever follows the newest stops."""

    def __init__(self, columns: Sequence[Column[R]], *, look: Look, id: str | None = None) -> None:  # noqa: A002
        super().__init__(id=id)
        self.columns = tuple(columns)
        self.window: PageWindow[R] = PageWindow()
        self.cursor: str | None = None
        self.follow = True
        self.look = look
        self.marked: dict[str, R] = {}
        """Records that a person has marked, by id, in the order of marking."""
        self._changed: frozenset[str] = frozenset()
        self._places: dict[str, int] = {}
        self._needs: dict[str, int] = {}
        """Cells that the columns to keep whole would take, by their titles."""
        self._strips: dict[tuple[object, ...], Strip] = {}
        self._styles: dict[str, Style] = {}

    @property
    def row(self) -> R | None:
        """Return the record under the cursor, or None when it is not held."""
        place = self._places.get(self.cursor or "")
        return None if place is None else self.window.rows[place]

    @property
    def lines(self) -> int:
        """Return how many records are visible at once."""
        return max(self.size.height - 1, 1)

    @property
    def first(self) -> int:
        """Return the place of the first visible record."""
        return round(self.scroll_y)

    def set_columns(self, columns: Sequence[Column[R]]) -> None:
        """Show other columns; the records stay."""
        self.columns = tuple(columns)
        self._measure()
        self._strips.clear()
        self.refresh()

    def show(self, window: PageWindow[R], *, changed: frozenset[str] = frozenset()) -> None:
        """Show `window`; the cursor and, unless following, the visible lines stay in place."""
        first = self.window.rows[self.first].id if self.first < len(self.window.rows) else None
        unchanged = window is self.window and changed == self._changed
        self.window, self._changed = window, changed
        self._places = {row.id: place for place, row in enumerate(window.rows)}
        if not unchanged:
            self._measure()
        place = 0 if self.follow else self._places.get(first or "", self.first)
        self._place_cursor(place)
        if unchanged:
            return
        height = len(window.rows) + 1
        top = max(0, min(place, height - 1 - self.lines))
        # Contents and offset move in one tick, and no watcher takes the shift for a person's move.
        self.set_reactive(RecordTable.scroll_y, float(top))
        self.set_reactive(RecordTable.scroll_target_y, float(top))
        self.virtual_size = Size(self.size.width, height)
        self.refresh()

    def _place_cursor(self, first: int) -> None:
        rows = self.window.rows
        place = self._places.get(self.cursor or "")
        lost = place is None or place >= first + self.lines
        if rows and (self.cursor is None or (self.follow and lost)):
            self._point(min(first, len(rows) - 1))
        elif not rows and self.cursor is not None:
            self.cursor = None
            self.post_message(self.Highlighted(None))

    def point_at(self, row_id: str) -> bool:
        """Put the cursor on a held record and bring it into view; tell whether it is held."""
        place = self._places.get(row_id)
        if place is None:
            return False
        self.follow = False
        self._point(place)
        if not self.first <= place < self.first + self.lines:
            # A jump lands in the middle: what stands around the record is part of what it says.
            self.scroll_to(y=max(place - self.lines // 2, 0), animate=False)
        self._ask_for_more()
        return True

    def move(self, by: int) -> None:
        """Move the cursor by so many records; following ends."""
        rows = self.window.rows
        if not rows:
            return
        place = self._places.get(self.cursor or "")
        self.follow = False
        if place is None or not self.first <= place < self.first + self.lines:
            place, by = self.first, 0
        target = max(0, min(place + by, len(rows) - 1))
        self._point(target)
        self._reveal(target)
        self.post_message(self.Moved())

    def mark(self, rows: Iterable[R]) -> None:
        """Mark records, also some that are not held, beside those that are marked already."""
        self.marked |= {row.id: row for row in rows}
        self.refresh()

    def toggle_mark(self) -> None:
        """Mark the record under the cursor, or no longer."""
        row = self.row
        if row is not None and self.marked.pop(row.id, None) is None:
            self.marked[row.id] = row
        self.refresh()

    def unmark_all(self) -> None:
        """Mark no record any more."""
        self.marked.clear()
        self.refresh()

    def restyle(self, look: Look) -> None:
        """Draw with another time or time format; nothing is drawn again when no line differs."""
        before, self.look = self.look, look
        same_day = before.now.astimezone(look.zone).date() == look.now.astimezone(look.zone).date()
        aged = look.times is TimeFormat.AGE or any(column.moves for column in self.columns)
        if before.times is not look.times or aged or not same_day:
            self._strips.clear()
            self.refresh()

    def notify_style_update(self) -> None:
        """Forget what was drawn in other colours."""
        super().notify_style_update()
        self._strips.clear()
        self._styles.clear()

    def render_line(self, y: int) -> Strip:
        """Return one line: the heading at the top, records under it."""
        width = self.size.width
        if y == 0:
            style = self.get_component_rich_style("record-table--head")
            return self._strip(
                [(translate(column.title), MUTED) for column in self.columns],
                width,
                mark=("", ""),
                base=style,
            )
        place = self.first + y - 1
        if place >= len(self.window.rows):
            return Strip.blank(width, self.rich_style)
        row = self.window.rows[place]
        pointed, changed = row.id == self.cursor, row.id in self._changed
        marked = row.id in self.marked
        key = (row.id, row.seq, width, pointed, changed, marked)
        strip = self._strips.get(key)
        if strip is None:
            if len(self._strips) > _CACHED:
                self._strips.clear()
            name = "record-table--cursor" if pointed else None
            base = self.get_component_rich_style(name) if name else self.rich_style
            mark = ("▎" if changed else " ") if not pointed else ">"
            strip = self._strips[key] = self._strip(
                [column.cell(row, self.look) for column in self.columns],
                width,
                mark=(f"{mark}•" if marked else mark, ACCENT),
                base=base,
            )
        return strip

    def _strip(self, cells: list[Run], width: int, *, mark: Run, base: Style) -> Strip:
        segments = [Segment(fit(mark[0], _MARGIN), base + self._role(mark[1]))]
        used = _MARGIN
        for column, cells_wide, (piece, role) in zip(
            self.columns, self._widths(width), cells, strict=True
        ):
            if cells_wide == 0:
                continue
            shown = (
                fit_id(piece, cells_wide)
                if column.names
                else fit(piece, cells_wide, right=column.right)
            )
            segments.append(Segment(shown, base + self._role(role)))
            segments.append(Segment(_GAP, base))
            used += cells_wide + len(_GAP)
        segments.append(Segment(" " * max(width - used, 0), base))
        return Strip(segments).adjust_cell_length(width, base)

    def _widths(self, width: int) -> list[int]:
        """Return each column's width, 0 for those that find no room."""
        kept = list(self.columns)
        while len(kept) > 1 and _total(kept) + self._lacking(kept) > width:
            fits = _total(kept) <= width
            last = max(kept, key=lambda column: column.rank)
            if last.rank < (_SPARED if fits else 1):
                break
            kept.remove(last)
        room = max(width - _total(kept), 0)
        extras = dict.fromkeys(self.columns, 0)
        # What tells records apart has its cells before anything else grows.
        for grows in (self._lack, lambda column: column.grows):
            for column in kept:
                extra = min(max(grows(column) - extras[column], 0), room)
                extras[column] += extra
                room -= extra
        return [column.width + extras[column] if column in kept else 0 for column in self.columns]

    def _lack(self, column: Column[R]) -> int:
        """Return the cells that a column to keep whole needs beyond its width."""
        return max(min(self._needs.get(column.title, 0), _LONGEST) - column.width, 0)

    def _lacking(self, columns: Sequence[Column[R]]) -> int:
        return sum(self._lack(column) for column in columns)

    def _measure(self) -> None:
        needs = {
            column.title: max(
                (cell_len(column.cell(row, self.look)[0]) for row in self.window.rows), default=0
            )
            for column in self.columns
            if column.whole
        }
        if needs != self._needs:
            self._needs = needs
            self._strips.clear()

    def _role(self, role: str) -> Style:
        if role not in self._styles:
            self._styles[role] = self.app.console.get_style(role) if role else Style.null()
        return self._styles[role]

    def _point(self, place: int) -> None:
        row_id = self.window.rows[place].id
        if row_id != self.cursor:
            left = self._places.get(self.cursor or "")
            self.cursor = row_id
            # Two lines change: the one it leaves and the one it comes to.
            for at in (place,) if left is None else (left, place):
                self.refresh_line(at + 1)
            self.post_message(self.Highlighted(row_id))

    def _reveal(self, place: int) -> None:
        if place < self.first:
            self.scroll_to(y=place, animate=False)
        elif place >= self.first + self.lines:
            self.scroll_to(y=place - self.lines + 1, animate=False)
        self._ask_for_more()

    def _ask_for_more(self) -> None:
        if self.window.has_older and self.first + self.lines > len(self.window.rows) - _NEAR:
            self.post_message(self.NeedPage(older=True))
        elif self.window.has_newer and self.first < _NEAR:
            self.post_message(self.NeedPage(older=False))

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        """Take a scroll by wheel or drag for what it is: a deliberate move."""
        super().watch_scroll_y(old_value, new_value)
        if round(old_value) != round(new_value):
            self.follow = False
            self.post_message(self.Moved())
            self._ask_for_more()

    def on_resize(self) -> None:
        """Lay the columns out again and keep the cursor's record visible."""
        self._strips.clear()
        self.virtual_size = Size(self.size.width, len(self.window.rows) + 1)
        place = self._places.get(self.cursor or "")
        if place is not None and not self.follow:
            self._reveal(place)

    def on_click(self, event: events.Click) -> None:
        """Point at the record under the mouse; a double click opens it."""
        place = self.first + event.y - 1
        if event.y == 0 or place >= len(self.window.rows):
            return
        self.follow = False
        self._point(place)
        self.post_message(self.Moved())
        if event.chain > 1:
            self.post_message(self.Opened())


def _total(columns: Sequence[Column[R]]) -> int:
    return _MARGIN + sum(column.width + len(_GAP) for column in columns)
