"""The long list: draws the lines one sees, holds some pages, points at a record by its id.

The cursor is a record's id. While `follow` holds it stands on the first record, whichever that is;
once a person has moved it or works with its record, it stays there whatever happens above or below.
Scrolling never animates: an animated move across the seam of two pages runs on through both. `show`
is the only way its contents change.
"""

from collections.abc import Iterable, Sequence
from typing import Any, ClassVar, Final, Generic, TypeVar

from rich.cells import cell_len
from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.geometry import Region, Size
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.strip import Strip

from kusanya_console.ui import language
from kusanya_console.ui.columns import GAP, MARGIN, Column, Heading, widths
from kusanya_console.ui.excerpt import ListExcerpt, Row
from kusanya_console.ui.format import Look, TimeFormat, fit
from kusanya_console.ui.vocabulary import ACCENT, MUTED, Run
from kusanya_console.widgets.highlighting import Needles, split
from kusanya_console.widgets.repainting import changed_cells
from kusanya_console.widgets.sheet import PAST, as_past

R = TypeVar("R", bound=Row)
_NEAR: Final = 40
"""So many rows from the excerpt's edge the next page is asked for."""
_CACHED: Final = 2000


class RecordTable(ScrollView, Generic[R], can_focus=True, inherit_bindings=False):
    """Shows a `ListExcerpt`; posts what a person points at, opens, or needs more of."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {"record-table--head", "record-table--cursor"}

    class Highlighted(Message):
        """The cursor stands on another record, or on none."""

        def __init__(self, row_id: str | None) -> None:
            super().__init__()
            self.row_id = row_id

    class Opened(Message):
        """A record was asked for by a double click."""

    class NeedPage(Message):
        """The view nears an end of the excerpt, and the list goes on there."""

        def __init__(self, *, older: bool) -> None:
            super().__init__()
            self.older = older

    class Moved(Message):
        """A person moved, or works with the record under the cursor: following has ended."""

    class HeadingClicked(Message):
        """The heading of a column was clicked."""

        def __init__(self, column: Column[Any]) -> None:
            super().__init__()
            self.column = column

    def __init__(self, columns: Sequence[Column[R]], *, look: Look, id: str | None = None) -> None:  # noqa: A002
        super().__init__(id=id)
        self.columns = tuple(columns)
        self.heading = Heading()
        self.needles: Needles = {}
        """What is underlined in the cells, by the keys of their columns."""
        self.excerpt: ListExcerpt[R] = ListExcerpt()
        self.cursor: str | None = None
        self.follow = True
        self.look = look
        self.marked: dict[str, R] = {}
        """Records that a person has marked, by id, in the order of marking."""
        self._spoken = language.chosen()
        self._changed: frozenset[str] = frozenset()
        self._places: dict[str, int] = {}
        self._needs: dict[str, int] = {}
        """Cells that the columns to keep whole would take, by their titles."""
        self._strips: dict[tuple[object, ...], Strip] = {}
        self._drawn: dict[int, Strip] = {}
        """The lines as they stand on the terminal."""
        self._styles: dict[str, Style] = {}

    @property
    def row(self) -> R | None:
        """Return the record under the cursor, or None when it is not held."""
        place = self._places.get(self.cursor or "")
        return None if place is None else self.excerpt.rows[place]

    @property
    def lines(self) -> int:
        """Return how many records are visible at once."""
        return max(self.size.height - 1, 1)

    @property
    def first(self) -> int:
        """Return the place of the first visible record."""
        return round(self.scroll_y)

    def set_columns(self, columns: Sequence[Column[R]], heading: Heading) -> None:
        """Show other columns, or another sorting above them; the records stay."""
        self.columns, self.heading = tuple(columns), heading
        self._measure()
        self._draw_anew()

    def highlight(self, needles: Needles) -> None:
        """Underline what a filter or a search has met."""
        if needles != self.needles:
            self.needles = needles
            self._draw_anew()

    def _draw_anew(self) -> None:
        self._strips.clear()
        self.refresh()

    def show(self, excerpt: ListExcerpt[R], *, changed: frozenset[str] = frozenset()) -> None:
        """Show `excerpt`; the cursor and, unless following, the visible lines stay in place."""
        first = self.excerpt.rows[self.first].id if self.first < len(self.excerpt.rows) else None
        unchanged = excerpt is self.excerpt and changed == self._changed
        self.excerpt, self._changed = excerpt, changed
        self._places = {row.id: place for place, row in enumerate(excerpt.rows)}
        if not unchanged:
            self._measure()
        place = 0 if self.follow else self._places.get(first or "", self.first)
        self._place_cursor(place)
        if unchanged:
            return
        height = len(excerpt.rows) + 1
        top = max(0, min(place, height - 1 - self.lines))
        # Contents and offset move in one tick, and no watcher takes the shift for a person's move.
        self.set_reactive(RecordTable.scroll_y, float(top))
        self.set_reactive(RecordTable.scroll_target_y, float(top))
        # Its height is its place's on the screen, so that longer contents lay nothing out anew.
        self.set_reactive(RecordTable.virtual_size, Size(self.size.width, height))
        self._repaint()

    def _repaint(self) -> None:
        """Draw the cells again that differ from those on the terminal: a list moves all day."""
        for y in range(self.size.height):
            before, after = self._drawn.get(y), self._line(y)
            if before is None or before.cell_length != after.cell_length:
                self.refresh(Region(0, y, self.size.width, 1))
            elif before is not after:
                changed = changed_cells(before, after)
                if changed is not None:
                    self.refresh(Region(changed[0], y, changed[1] - changed[0], 1))

    def _place_cursor(self, first: int) -> None:
        rows = self.excerpt.rows
        # Never on a record that is not there: its card would stand beside a list without it.
        if rows and (self.cursor not in self._places or self.follow):
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
        rows = self.excerpt.rows
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

    def stop_following(self) -> None:
        """Stay on the record under the cursor: following ends."""
        if self.follow:
            self.follow = False
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
        """Draw with another time, time format or language, and only what differs then."""
        before, self.look = self.look, look
        spoken, self._spoken = self._spoken, language.chosen()
        same_day = before.now.astimezone(look.zone).date() == look.now.astimezone(look.zone).date()
        aged = look.times is TimeFormat.AGE or any(column.moves for column in self.columns)
        if before.times is not look.times or aged or not same_day or spoken is not self._spoken:
            self._strips.clear()
            self._repaint()

    def notify_style_update(self) -> None:
        """Forget what was drawn in other colours."""
        super().notify_style_update()
        self._strips.clear()
        self._styles.clear()
        self._drawn.clear()

    def render_line(self, y: int) -> Strip:
        """Return one line: the heading at the top, records under it."""
        strip = self._drawn[y] = self._line(y)
        return strip

    def _line(self, y: int) -> Strip:
        width = self.size.width
        if y == 0:
            return self._head(width)
        place = self.first + y - 1
        if place >= len(self.excerpt.rows):
            return Strip.blank(width, self.rich_style)
        row = self.excerpt.rows[place]
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
                [self._cell(row, column, wide) for column, wide in self._shown(width)],
                width,
                mark=(f"{mark}•" if marked else mark, ACCENT),
                base=base,
            )
        return strip

    def _head(self, width: int) -> Strip:
        heads: list[list[Run]] = []
        for column, wide in self._shown(width):
            said = self.heading.of(column, wide)
            heads.append([(said, MUTED), (GAP[cell_len(said) - wide :], "")])
        style = self.get_component_rich_style("record-table--head")
        return self._strip(heads, width, mark=("", ""), base=style)

    def _shown(self, width: int) -> list[tuple[Column[R], int]]:
        return [pair for pair in zip(self.columns, self.widths(width), strict=True) if pair[1]]

    def _cell(self, row: R, column: Column[R], wide: int) -> list[Run]:
        said, role = column.cell(row, self.look)
        needles = self.needles.get(column.key, ()) if column.key else ()
        return [*split(column.fitted(said, wide), said, role, needles), (GAP, "")]

    def _strip(
        self, cells: Sequence[Sequence[Run]], width: int, *, mark: Run, base: Style
    ) -> Strip:
        segments = [Segment(fit(mark[0], MARGIN), base + self._role(mark[1]))]
        for pieces in cells:
            segments += [Segment(piece, base + self._role(role)) for piece, role in pieces]
        return Strip(segments).adjust_cell_length(width, base)

    def widths(self, width: int | None = None) -> list[int]:
        """Return each column's width, 0 for those that find no room."""
        return widths(self.columns, self._needs, self.size.width if width is None else width)

    def _measure(self) -> None:
        needs = {
            column.title: max(
                (cell_len(column.cell(row, self.look)[0]) for row in self.excerpt.rows), default=0
            )
            for column in self.columns
            if column.whole
        }
        if needs != self._needs:
            self._needs = needs
            self._strips.clear()

    def _role(self, role: str) -> Style:
        if role not in self._styles:
            names = as_past(role) if self.has_class(PAST) else role
            styles = [self.app.console.get_style(name) for name in names.split()]
            self._styles[role] = Style.combine((Style.null(), *styles))
        return self._styles[role]

    def _point(self, place: int) -> None:
        row_id = self.excerpt.rows[place].id
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
        if self.excerpt.has_older and self.first + self.lines > len(self.excerpt.rows) - _NEAR:
            self.post_message(self.NeedPage(older=True))
        elif self.excerpt.has_newer and self.first < _NEAR:
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
        self.virtual_size = Size(self.size.width, len(self.excerpt.rows) + 1)
        place = self._places.get(self.cursor or "")
        if place is not None and not self.follow:
            self._reveal(place)

    def on_click(self, event: events.Click) -> None:
        """Point at the record under the mouse; a double click opens it."""
        if event.y == 0:
            self._click_heading(event.x)
            return
        place = self.first + event.y - 1
        if place >= len(self.excerpt.rows):
            return
        self.follow = False
        self._point(place)
        self.post_message(self.Moved())
        if event.chain > 1:
            self.post_message(self.Opened())

    def _click_heading(self, x: int) -> None:
        begin = MARGIN
        for column, wide in self._shown(self.size.width):
            if begin <= x < begin + wide:
                self.post_message(self.HeadingClicked(column))
            begin += wide + len(GAP)
