"""A screen around one long list: moving, following, pausing, and what is not well.

One reading of the store is under way at a time. A person's wish (newest, oldest, next page) goes
before the news of the feed; news that waits is one set of ids, never a queue.
"""

from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any, ClassVar, Generic, TypeVar

import msgspec
from msgspec.structs import replace
from textual.app import ComposeResult
from textual.containers import Horizontal, VerticalScroll
from textual.widgets import Input
from textual.worker import get_current_worker

from kusanya.business_day import EAT
from kusanya.filters import Filter, FilterError, describe, parse
from kusanya.text import safe
from kusanya_console.doing import Ended
from kusanya_console.export import Value, write_csv
from kusanya_console.feed import Snapshot
from kusanya_console.messages import DeedAsked
from kusanya_console.pages import Pages, PageSource
from kusanya_console.present import Line, moment, spread
from kusanya_console.screens.base import ConsoleScreen, Desk
from kusanya_console.widgets.record_table import Column, RecordTable
from kusanya_console.widgets.sheet import Sheet
from kusanya_console.widgets.status_line import Standing
from kusanya_console.window import PageWindow, Row
from kusanya_console.words import ACCENT, MUTED, PLAIN, WARN, Run

R = TypeVar("R", bound=Row)
_LONGEST = 300


class Listed(msgspec.Struct, Generic[R], frozen=True):
    """One reading of the list: the window, how many newer records there are, where to point."""

    window: PageWindow[R]
    newer: int = 0
    point: str | None = None
    changed: frozenset[str] = frozenset()


class ListScreen(ConsoleScreen, Generic[R]):
    """A list with a detail pane beside it."""

    RECORDS: ClassVar[str] = ""
    """What stands in the list, for the name of an export."""

    def __init__(self, desk: Desk, columns: tuple[Column[R], ...]) -> None:
        super().__init__(desk)
        self.table: RecordTable[R] = RecordTable(columns, look=desk.look, id="table")
        self.filter = Filter()
        self._complaint = ""
        self.newer = 0
        self.loaded = False
        self.paused_at: datetime | None = None
        self._news: set[str] = set()
        self._fresh = False
        self._wish: Callable[[], Listed[R]] | None = None
        self._wished: Callable[[], Listed[R]] | None = None
        self._busy = False

    def source(self, narrowed: Filter) -> PageSource[R]:
        """Return the list's source as narrowed; raises FilterError for a key it does not have."""
        raise NotImplementedError

    def news(self, snapshot: Snapshot) -> frozenset[str]:
        """Return the ids of this list's records that a snapshot tells about."""
        raise NotImplementedError

    def empty(self) -> list[Line]:
        """Return what an empty list says: what would stand here, and which key helps."""
        raise NotImplementedError

    def exported(self) -> Mapping[str, Callable[[R], Value]]:
        """Return the columns of an export, each with what it says about a record."""
        raise NotImplementedError

    def compose_body(self) -> ComposeResult:
        """Put figures above, the list and its pane below, and a line on where one is."""
        yield Sheet(id="figures")
        with Horizontal(id="split"):
            yield self.table
            yield Sheet(id="empty")
            with VerticalScroll(id="pane", can_focus=False):
                yield Sheet(id="card")
        yield from self.compose_below()
        box = Input(id="filter", max_length=_LONGEST)
        box.cursor_blink = False
        yield box
        yield Sheet(id="foot")

    def compose_below(self) -> ComposeResult:
        """Lay out what a screen has between its list and its last lines."""
        yield from ()

    def on_mount(self) -> None:
        """Read the newest page first."""
        super().on_mount()
        self.table.focus()
        self.query_one("#empty", Sheet).show(lambda _width: self.empty())
        self._foot()
        self.wish(lambda: Listed(self._pages().newest()))

    def on_screen_resume(self) -> None:
        """Catch up on what happened while another screen was shown."""
        if self.loaded:
            self._news.update(row.id for row in self.table.window.rows)
            self._fresh = True
            self._pump()

    # --- reading -------------------------------------------------------------------------------

    def wish(self, reading: Callable[[], Listed[R]]) -> None:
        """Read what a person asked for; a wish not yet begun gives way to a later one."""
        self._wish = reading
        self._pump()

    def advance(self, snapshot: Snapshot) -> None:
        """Take in the feed's news; a paused list only counts them."""
        ids = self.news(snapshot)
        self._news |= ids
        self._fresh = self._fresh or bool(ids)
        idle = not self._fresh and not self._busy and self._wish is None
        if self.paused_at is None and idle:
            self.table.show(self.table.window)  # the marks of the last tick go
        self._pump()

    def _pump(self) -> None:
        if self._busy or not self.is_mounted:
            return
        reading = self._wished = self._wish
        self._wish = None
        if reading is None and self._fresh and self.loaded and self.paused_at is None:
            ids, self._news, self._fresh = frozenset(self._news), set(), False
            reading = self._catch_up(ids)
        if reading is not None:
            self._busy = True
            self.ask("list", reading)

    def _catch_up(self, ids: frozenset[str]) -> Callable[[], Listed[R]]:
        pages, window, follow = self._pages(), self.table.window, self.table.follow

        def read() -> Listed[R]:
            if follow and not pages.touched(ids):
                return Listed(window)
            if follow:
                newest = pages.newest()
                held = {row.id for row in window.rows}
                new = {row.id for row in newest.rows if row.id not in held}
                return Listed(newest, changed=frozenset(ids | new) if window.rows else frozenset())
            return Listed(
                pages.refreshed(window, ids), newer=pages.newer_count(window), changed=ids
            )

        return read

    def _pages(self) -> Pages[R]:
        return Pages(self.source(self.filter))

    def answered(self, what: str, value: Any) -> None:
        """Show a reading of the list, then begin the next one that waits."""
        if what != "list":
            return
        self._busy = False
        self.loaded = True
        self.newer = value.newer
        self.table.show(value.window, changed=value.changed)
        if value.point is not None:
            self.table.point_at(value.point)
        empty = not value.window.rows
        self.set_class(empty, "-empty")
        if empty:
            self.query_one("#empty", Sheet).show(lambda _width: self.empty())
        self.changed(value.changed)
        self._foot()
        self._pump()

    def unanswered(self, what: str) -> None:
        """Keep the list; wish and news are read again with the next tick that works."""
        if what == "list":
            self._busy = False
            self._fresh = True
            self._wish = self._wish or self._wished

    def changed(self, ids: frozenset[str]) -> None:
        """Follow up on records that have news, such as the one in the pane."""

    # --- showing -------------------------------------------------------------------------------

    def standing(self, standing: Standing) -> Standing:
        """Add whether this list is paused, and what waits."""
        told = super().standing(standing)
        return replace(told, paused_at=self.paused_at, waiting=len(self._news))

    def second(self) -> None:
        """Move ages and countdowns on."""
        self.table.restyle(self.desk.look)

    def restyle(self) -> None:
        """Draw every instant in the new format."""
        self.table.restyle(self.desk.look)

    def _foot(self) -> None:
        self.query_one("#foot", Sheet).show(self._foot_line)

    def _foot_line(self, width: int) -> list[Line]:
        if self._complaint:
            return [((f" {self._complaint}", WARN),)]
        said = safe(describe(self.filter), 60) or "none"
        left: list[Run] = [(" filter ", MUTED), (said, PLAIN), ("   newest first", MUTED)]
        reached = self.table.window.reached
        if reached is not None:
            at = moment(datetime.fromtimestamp(reached.value / 1_000_000, tz=UTC), self.desk.look)
            left.append((f"   searched back to {at}, > goes on", WARN))
        if self.paused_at is not None:
            right = ("paused, space goes on ", ACCENT)
        elif self.table.follow:
            right = ("following the newest ", MUTED)
        elif self.newer or self.table.window.has_newer:
            more = "200+" if self.newer > 200 or self.table.window.has_newer else f"{self.newer}"  # noqa: PLR2004
            right = (f"+{more} new above, f follows ", ACCENT)
        else:
            right = ("f follows the newest ", MUTED)
        return [spread(left, [right], width)]

    # --- keys ----------------------------------------------------------------------------------

    def action_move(self, by: int) -> None:
        """Move the cursor."""
        self.table.move(by)

    def action_move_page(self, by: int) -> None:
        """Move the cursor by as many records as are visible."""
        self.table.move(by * (self.table.lines - 1))

    def action_newest(self) -> None:
        """Go to the newest record and follow."""
        self.table.follow = True
        self.table.cursor = None
        self.wish(lambda: Listed(self._pages().newest()))

    def action_oldest(self) -> None:
        """Go to the oldest record."""
        self.table.follow = False
        pages = self._pages()

        def read() -> Listed[R]:
            window = pages.oldest()
            return Listed(window, point=window.rows[-1].id if window.rows else None)

        self.wish(read)

    def action_follow(self) -> None:
        """Follow, or stop."""
        if self.table.follow:
            self.table.follow = False
            self._foot()
        else:
            self.action_newest()

    def action_pause(self) -> None:
        """Hold the list, or let it go on with what has waited."""
        self.paused_at = self.desk.clock.now() if self.paused_at is None else None
        self._foot()
        self._pump()

    def action_unwell(self) -> None:
        """Show only what is not plainly well, or everything; the cursor stays on its record."""
        self._narrow(replace(self.filter, unwell=not self.filter.unwell))

    def _narrow(self, narrowed: Filter) -> None:
        row = self.table.row
        self.filter = narrowed
        self._foot()
        if self.table.follow or row is None:
            self.action_newest()
            return
        source = self.source(self.filter)
        key, row_id = source.key(row), row.id
        self.wish(lambda: Listed(Pages(source).around(key), point=row_id))

    def action_filter(self) -> None:
        """Open the filter's box with what it holds."""
        self.add_class("-filtering")
        box = self.query_one("#filter", Input)
        box.value = describe(self.filter)
        box.focus()

    def on_input_changed(self, message: Input.Changed) -> None:
        """Say at once what cannot be read; a finished word narrows the list."""
        message.stop()
        narrowed = self._read_box(message.value)
        finished = not message.value or message.value.endswith(" ")
        if narrowed is not None and finished and narrowed != self.filter:
            self._narrow(narrowed)

    def on_input_submitted(self, message: Input.Submitted) -> None:
        """Narrow the list and leave the box; with a bad word in it the last good filter stays."""
        message.stop()
        narrowed = self._read_box(message.value)
        if narrowed is None:
            return
        self._leave_box()
        if narrowed != self.filter:
            self._narrow(narrowed)

    def _read_box(self, text: str) -> Filter | None:
        try:
            narrowed = parse(text)
            self.source(narrowed)  # tells a key that this list does not have
        except FilterError as error:
            self._complaint = safe(str(error), 200)
            self._foot()
            return None
        self._complaint = ""
        self._foot()
        return narrowed

    def action_back(self) -> None:
        """Clear the filter; the cursor stays on its record."""
        self._leave_box()
        if self.filter:
            self._narrow(Filter())

    def _leave_box(self) -> None:
        self._complaint = ""
        self.remove_class("-filtering")
        self.table.focus()
        self._foot()

    def action_search_on(self) -> None:
        """Search on where a search ran out of time."""
        pages, window = self._pages(), self.table.window
        if window.reached is not None:
            self.wish(lambda: Listed(pages.older(window)))

    def action_next_unwell(self, direction: int) -> None:
        """Go to the nearest record that is not plainly well, however far away."""
        row = self.table.row
        if row is None:
            return
        source = self.source(replace(self.filter, unwell=True))
        pages, beyond, key = self._pages(), Pages(source), source.key(row)
        held = self.table.window

        def read() -> Listed[R]:
            found = beyond.after(key) if direction > 0 else beyond.before(key)
            if found is None:
                return Listed(held, point=row.id)
            if any(one.id == found.id for one in held.rows):
                return Listed(held, point=found.id)
            return Listed(pages.around(source.key(found)), point=found.id)

        self.table.follow = False
        self.wish(read)

    def action_export(self) -> None:
        """Write the rows that pass the filter to a file, on a thread."""
        at = self.desk.look.now.astimezone(EAT)
        name = f"kusanya-{self.desk.mode.value}-{self.RECORDS}-{at:%Y%m%d-%H%M%S}.csv"
        source, target = self.source(self.filter), self.desk.folder / name
        fields = self.exported()

        def export() -> Ended:
            worker = get_current_worker()
            return write_csv(source, fields, target, stopped=lambda: worker.is_cancelled)

        self.post_message(DeedAsked("exporting", export))

    def action_pane(self) -> None:
        """Show or hide the pane; where there is no room for both it takes the list's place."""
        self.toggle_class("-pane")

    def action_open(self) -> None:
        """Open the story of the record under the cursor."""

    # --- what the table says -------------------------------------------------------------------

    def on_record_table_need_page(self, message: RecordTable.NeedPage) -> None:
        """Read the next page in the direction of the view."""
        message.stop()
        pages, window = self._pages(), self.table.window
        if self._wish is None:
            self.wish(lambda: Listed(pages.older(window) if message.older else pages.newer(window)))

    def on_record_table_moved(self) -> None:
        """Say that following has ended."""
        self._foot()

    def on_record_table_opened(self) -> None:
        """Open what was double-clicked."""
        self.action_open()
