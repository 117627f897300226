"""A long list on a screen: what is read of it and when, and how it is shown.

What the list is a list of stands in its `Listing`; which reading comes next, in its `Agenda`. What
a person does with it stands in `list_screen`.
"""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, Generic, TypeVar

from msgspec.structs import replace
from textual.app import ComposeResult
from textual.containers import Horizontal, VerticalScroll

from kusanya.filters import Filter, describe
from kusanya.store.records import Order
from kusanya.text import safe
from kusanya_console.actions.context import AppContext
from kusanya_console.collections.screen import PaymentScreen
from kusanya_console.feed import Snapshot
from kusanya_console.lists.definition import ORDER_WORDS, Hours, Listing
from kusanya_console.lists.paging import Pages, PageSource
from kusanya_console.lists.refresh import Agenda, Listed, Reading
from kusanya_console.ui.format import Line, format_instant, spread
from kusanya_console.ui.vocabulary import ACCENT, MUTED, PLAIN, WARN, Run
from kusanya_console.widgets.filter_box import FilterBox
from kusanya_console.widgets.record_table import Column, RecordTable
from kusanya_console.widgets.sheet import Sheet
from kusanya_console.widgets.status_line import StatusBarState
from kusanya_console.widgets.time_rail import TimeRail
from kusanya_console.widgets.window import PageWindow, Row

R = TypeVar("R", bound=Row)
_RAIL_EVERY = timedelta(seconds=30)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


class ListOnScreen(PaymentScreen, Generic[R]):
    """A list with a detail pane beside it, kept up to date."""

    def __init__(
        self,
        context: AppContext,
        columns: Mapping[Order, tuple[Column[R], ...]],
        listing: Listing[R],
    ) -> None:
        super().__init__(context)
        self.listing = listing
        self.order = listing.orders[0]
        self.columns = columns
        self.table: RecordTable[R] = RecordTable(columns[self.order], look=context.look, id="table")
        self.filter = Filter()
        self.newer = 0
        self.loaded = False
        self.paused_at: datetime | None = None
        self.agenda: Agenda[R] = Agenda()
        self.complaint = ""
        self._hours: Hours = ()
        self._counted_at: datetime | None = None

    def compose_body(self) -> ComposeResult:
        """Put figures above, the list and its pane below, and a line on where one is."""
        yield Sheet(id="figures")
        with Horizontal(id="split"):
            yield self.table
            yield TimeRail(id="rail")
            yield Sheet(id="empty")
            with VerticalScroll(id="pane", can_focus=False):
                yield Sheet(id="card")
        yield from self.compose_below()
        yield FilterBox(check=self.source, id="filter")
        yield Sheet(id="foot")

    def compose_below(self) -> ComposeResult:
        """Lay out what a screen has between its list and its last lines."""
        yield from ()

    def on_mount(self) -> None:
        """Read the newest page first."""
        super().on_mount()
        self.table.focus()
        self.query_one("#empty", Sheet).show(lambda _width: self.listing.empty(self.filter))
        self.foot()
        self.wish(lambda: Listed(self.pages().newest()))

    def on_screen_resume(self) -> None:
        """Catch up on what happened while another screen was shown."""
        if self.loaded:
            self.agenda.hear(frozenset(row.id for row in self.table.window.rows), anyway=True)
            self.pump()

    # --- reading -------------------------------------------------------------------------------

    def wish(self, reading: Reading[R]) -> None:
        """Read what a person asked for; a wish not yet begun gives way to a later one."""
        self.agenda.wish(reading)
        self.pump()

    def advance(self, snapshot: Snapshot) -> None:
        """Take in the feed's news; a paused list only counts them."""
        self.agenda.hear(self.listing.news(snapshot))
        if self.paused_at is None and self.agenda.idle:
            self.table.show(self.table.window)  # the marks of the last tick go
        if self._counted_at is None or snapshot.at - self._counted_at >= _RAIL_EVERY:
            self._counted_at = snapshot.at
            self.fetch("hours", self.listing.hours)
        self.pump()

    def pump(self) -> None:
        """Begin the next reading, if none is under way and one waits."""
        if not self.is_mounted:
            return
        news = self.loaded and self.paused_at is None
        reading = self.agenda.begin(self._catch_up, news=news)
        if reading is not None:
            self.fetch("list", reading)

    def _catch_up(self, ids: frozenset[str]) -> Reading[R]:
        pages, window, follow = self.pages(), self.table.window, self.table.follow
        before = {row.id: row.seq for row in window.rows}

        def told(now: PageWindow[R], newer: int = 0) -> Listed[R]:
            new = frozenset(row.id for row in now.rows if before.get(row.id) != row.seq)
            marked = new if before else frozenset()
            return Listed(now, newer=newer, changed=marked, heard=ids)

        def read() -> Listed[R]:
            if follow and not pages.touched(ids):
                return Listed(window)
            if follow:
                return told(pages.newest())
            return told(pages.refreshed(window, ids), pages.newer_count(window))

        return read

    def source(self, narrowed: Filter) -> PageSource[R]:
        """Return the list's source as narrowed, in the present order."""
        return self.listing.source(narrowed, self.order)

    def pages(self) -> Pages[R]:
        """Return windows on the list as it is narrowed now."""
        return Pages(self.source(self.filter))

    def show_fetched(self, what: str, value: Any) -> None:
        """Show a reading of the list, then begin the next one that waits."""
        if what == "hours":
            self._hours = value
            self.rail()
        if what != "list":
            return
        self.agenda.end()
        self.loaded = True
        self.newer = value.newer
        self.table.show(value.window, changed=value.changed)
        if value.point is not None:
            self.table.point_at(value.point)
        empty = not value.window.rows
        self.set_class(empty, "-empty")
        if empty:
            self.query_one("#empty", Sheet).show(lambda _width: self.listing.empty(self.filter))
        self.changed(value.heard)
        self.foot()
        self.rail()
        self.pump()

    def fetch_failed(self, what: str) -> None:
        """Keep the list; wish and news are read again with the next tick that works."""
        if what == "list":
            self.agenda.fail()

    def changed(self, ids: frozenset[str]) -> None:
        """Follow up on records that have news, such as the one in the pane."""

    # --- showing -------------------------------------------------------------------------------

    def status_state(self, state: StatusBarState) -> StatusBarState:
        """Add whether this list is paused, and what waits."""
        return replace(
            super().status_state(state), paused_at=self.paused_at, waiting=len(self.agenda.news)
        )

    def second(self) -> None:
        """Move ages and countdowns on."""
        self.table.restyle(self.context.look)

    def restyle(self) -> None:
        """Draw every instant in the new format."""
        self.table.restyle(self.context.look)
        self.foot()

    def rail(self) -> None:
        """Put the rail's thumb where the list stands in time."""
        rows, first = self.table.window.rows, self.table.first
        timely = self.order is Order.CREATED and first < len(rows)
        at = self.listing.instant(rows[first]) if timely else None
        self.query_one(TimeRail).show(self._hours, at, now=self.context.look.now)

    def foot(self) -> None:
        """Say where one is in the list."""
        self.query_one("#foot", Sheet).show(self._foot_line)

    def _foot_line(self, width: int) -> list[Line]:
        if self.complaint:
            return [((f" {self.complaint}", WARN),)]
        said = safe(describe(self.filter), 60) or "none"
        left: list[Run] = [
            (" filter ", MUTED), (said, PLAIN), (f"   {ORDER_WORDS[self.order]}", MUTED)
        ]  # fmt: skip
        reached = self.table.window.reached
        if reached is not None:
            how_far = ""
            if self.order is not Order.AMOUNT:
                at = _EPOCH + reached.value * _MICROSECOND
                how_far = f" to {format_instant(at, self.context.look)}"
            goes_on = f"{self.context.key('list.search_on')} goes on"
            left.append((f"   searched back{how_far}, {goes_on}", WARN))
        return [spread(left, [self._place()], width)]

    def _place(self) -> Run:
        if self.paused_at is not None:
            return f"paused, {self.context.key('list.pause')} goes on ", ACCENT
        if self.table.follow:
            return (
                "following the newest " if self.order is Order.CREATED else "at the top "
            ), MUTED
        key = self.context.key("list.follow")
        if self.newer or self.table.window.has_newer:
            many = self.newer > 200 or self.table.window.has_newer  # noqa: PLR2004
            more = "200+" if many else f"+{self.newer}"
            new = "new " if self.order is Order.CREATED else ""
            return f"{more} {new}above, {key} follows ", ACCENT
        goes = "follows the newest" if self.order is Order.CREATED else "goes to the top"
        return f"{key} {goes} ", MUTED
