"""A screen around one long list, with a detail pane beside it.

What the list is a list of stands in its `ListDefinition`. One reading of it is wanted at a time:
what a person asks for replaces what is under way, and changes that the feed names wait for it.
"""

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any, Generic, TypeVar

import msgspec
from msgspec.structs import replace
from textual.app import ComposeResult
from textual.containers import Horizontal, VerticalScroll
from textual.worker import get_current_worker

from kusanya.business_day import EAT
from kusanya.filters import Filter, describe
from kusanya.store.records import Key, Order
from kusanya.text import safe
from kusanya_console.actions.context import AppContext
from kusanya_console.actions.messages import ActionRequested
from kusanya_console.actions.results import ActionResult
from kusanya_console.collections.screen import PaymentScreen
from kusanya_console.feed import Snapshot
from kusanya_console.lists.definition import Hours, ListDefinition
from kusanya_console.lists.export import Form, write_list
from kusanya_console.lists.paging import ListPages
from kusanya_console.screens.status_line import StatusBarState
from kusanya_console.ui.format import Line, format_instant, spread
from kusanya_console.ui.vocabulary import ACCENT, MUTED, ORDERS, PLAIN, WARN, Run
from kusanya_console.widgets.filter_box import FilterBox
from kusanya_console.widgets.record_table import RecordTable
from kusanya_console.widgets.sheet import Sheet
from kusanya_console.widgets.time_rail import TimeRail
from kusanya_console.widgets.window import PageWindow, Row

R = TypeVar("R", bound=Row)
_RAIL_EVERY = timedelta(seconds=30)


class Loaded(msgspec.Struct, Generic[R], frozen=True):
    """One reading of the list: the window, how many newer records there are, where to point."""

    window: PageWindow[R]
    newer: int = 0
    point: str | None = None
    marked: frozenset[str] = frozenset()
    """Records that are new or read otherwise than before: they bear a mark."""
    changed: frozenset[str] = frozenset()
    """Records with news of any kind, a note on them too: this reading took them in."""


Load = Callable[[], Loaded[R]]


class ListScreen(PaymentScreen, Generic[R]):
    """A list with a detail pane beside it, kept up to date, and what a person does with both."""

    def __init__(self, context: AppContext, definition: ListDefinition[R]) -> None:
        super().__init__(context)
        self.definition = definition
        self.order = definition.orders[0]
        columns = definition.columns[self.order]
        self.table: RecordTable[R] = RecordTable(columns, look=context.look, id="table")
        self.filter = Filter()
        self.newer = 0
        self.loaded = False
        self.paused_at: datetime | None = None
        self.changed_ids: set[str] = set()
        """Records with news that no reading has taken in yet."""
        self._loading = False
        self._wanted: Load[R] | None = None
        """What a person asked for last, until it stands on the screen."""
        self._is_behind = False
        """True where the list has to be read again although no id says so."""
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
        yield FilterBox(keys=self.definition.keys, whose=self.definition.records, id="filter")
        yield Sheet(id="foot")

    def compose_below(self) -> ComposeResult:
        """Lay out what a screen has between its list and its last lines."""
        yield from ()

    def on_mount(self) -> None:
        """Read the newest page first."""
        super().on_mount()
        self.table.focus()
        self._show_empty()
        self.foot()
        self._load(lambda: Loaded(self.pages().newest()))

    def on_screen_resume(self) -> None:
        """Catch up on what happened while another screen was shown."""
        if self.loaded:
            self.changed_ids |= {row.id for row in self.table.window.rows}
            self._is_behind = True
            self._refresh_list()

    # --- reading -------------------------------------------------------------------------------

    def load(self, query: Filter) -> None:
        """Show the newest of what somebody wants to see, in the usual order."""
        if self.order is not self.definition.orders[0]:
            self.order = self.definition.orders[0]
            self.table.set_columns(self.definition.columns[self.order])
        self.paused_at = None
        self.filter = query
        self.foot()
        self.action_newest()

    def pages(self, query: Filter | None = None) -> ListPages[R]:
        """Return the list as it is filtered now, or as `query` says."""
        return self.definition.pages(
            self.context, self.filter if query is None else query, self.order
        )

    def _load(self, load: Load[R]) -> None:
        """Read what a person asked for, in place of what is under way."""
        self._wanted = load
        if self.is_mounted:
            self._loading = True
            self.fetch("list", load)

    def advance(self, snapshot: Snapshot) -> None:
        """Take in the feed's news; a paused list only counts them."""
        self.changed_ids |= self.definition.changed_ids(snapshot)
        idle = not (self._loading or self._wanted or self._is_behind or self.changed_ids)
        if self.paused_at is None and idle:
            self.table.show(self.table.window)  # the marks of the last tick go
        if self._counted_at is None or snapshot.at - self._counted_at >= _RAIL_EVERY:
            self._counted_at = snapshot.at
            context = self.context
            self.fetch("hours", lambda: self.definition.hours(context))
        if self._wanted is not None and not self._loading:
            self._load(self._wanted)  # the store could not answer it
        self._refresh_list()

    def _refresh_list(self) -> None:
        """Take in the changes that wait, unless something is being read or the list is paused."""
        due = self._is_behind or self.changed_ids
        if not due or self._loading or not self.loaded or self.paused_at is not None:
            return
        pages, window, follow = self.pages(), self.table.window, self.table.follow
        before = {row.id: row.seq for row in window.rows}
        ids, self._is_behind = frozenset(self.changed_ids), False

        def loaded(now: PageWindow[R], newer: int = 0) -> Loaded[R]:
            new = frozenset(row.id for row in now.rows if before.get(row.id) != row.seq)
            return Loaded(now, newer=newer, marked=new if before else frozenset(), changed=ids)

        def refresh() -> Loaded[R]:
            if follow and not pages.is_touched(ids):
                return Loaded(window, changed=ids)
            if follow:
                return loaded(pages.newest())
            return loaded(pages.refreshed(window, ids), pages.newer_count(window))

        self._loading = True
        self.fetch("list", refresh)

    def show_fetched(self, what: str, value: Any) -> None:
        """Show a reading of the list, then take in what has changed meanwhile."""
        if what == "hours":
            self._hours = value
            self.rail()
        if what != "list":
            return
        self._loading, self._wanted, self.loaded = False, None, True
        self.changed_ids -= value.changed
        self.newer = value.newer
        self.table.show(value.window, changed=value.marked)
        if value.point is not None:
            self.table.point_at(value.point)
        self.set_class(not value.window.rows, "-empty")
        self._show_empty()
        self.changed(value.changed)
        self.foot()
        self.rail()
        self._refresh_list()

    def fetch_failed(self, what: str) -> None:
        """Keep the list; it is read again with the next tick that works."""
        if what == "list":
            self._loading, self._is_behind = False, True

    def changed(self, ids: frozenset[str]) -> None:
        """Follow up on records that have news, such as the one in the pane."""

    # --- showing -------------------------------------------------------------------------------

    def status_state(self, state: StatusBarState) -> StatusBarState:
        """Add whether this list is paused, and what waits."""
        waiting = len(self.changed_ids)
        return replace(super().status_state(state), paused_at=self.paused_at, waiting=waiting)

    def second(self) -> None:
        """Move ages and countdowns on."""
        self.table.restyle(self.context.look)

    def restyle(self) -> None:
        """Draw every instant in the new format."""
        self.table.restyle(self.context.look)
        self.foot()

    def _show_empty(self) -> None:
        lines = self.definition.empty_lines(self.context, self.filter)
        self.query_one("#empty", Sheet).show(lambda _width: lines)

    def rail(self) -> None:
        """Put the rail's thumb where the list stands in time."""
        rows, first = self.table.window.rows, self.table.first
        timely = self.order is Order.CREATED and first < len(rows)
        at = self.definition.instant(rows[first]) if timely else None
        self.query_one(TimeRail).show(self._hours, at, now=self.context.look.now)

    def foot(self) -> None:
        """Say where one is in the list."""
        self.query_one("#foot", Sheet).show(self._foot_line)

    def _foot_line(self, width: int) -> list[Line]:
        if self.complaint:
            return [((f" {self.complaint}", WARN),)]
        said = safe(describe(self.filter), 60) or "none"
        left: list[Run] = [(" filter ", MUTED), (said, PLAIN), (f"   {ORDERS[self.order]}", MUTED)]
        reached = self.table.window.reached
        if reached is not None:
            how_far = ""
            if self.order is not Order.AMOUNT:
                how_far = f" to {format_instant(reached.instant, self.context.look)}"
            goes_on = f"{self.context.key('list.search_on')} goes on"
            left.append((f"   searched back{how_far}, {goes_on}", WARN))
        return [spread(left, [self._place()], width)]

    def _place(self) -> Run:
        timely = self.order is Order.CREATED
        if self.paused_at is not None:
            return f"paused, {self.context.key('list.pause')} goes on ", ACCENT
        if self.table.follow:
            return ("following the newest " if timely else "at the top "), MUTED
        key = self.context.key("list.follow")
        if self.newer or self.table.window.has_newer:
            many = self.newer > 200 or self.table.window.has_newer  # noqa: PLR2004
            more = "200+" if many else f"+{self.newer}"
            return f"{more} {'new ' if timely else ''}above, {key} follows ", ACCENT
        return f"{key} {'follows the newest' if timely else 'goes to the top'} ", MUTED

    # --- moving --------------------------------------------------------------------------------

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
        self._load(lambda: Loaded(self.pages().newest()))

    def action_oldest(self) -> None:
        """Go to the oldest record."""
        self.table.follow = False
        pages = self.pages()

        def load() -> Loaded[R]:
            window = pages.oldest()
            return Loaded(window, point=window.rows[-1].id if window.rows else None)

        self._load(load)

    def action_follow(self) -> None:
        """Follow, or stop."""
        if self.table.follow:
            self.table.follow = False
            self.foot()
        else:
            self.action_newest()

    def action_pause(self) -> None:
        """Hold the list, or let it go on with what has waited."""
        self.paused_at = self.context.clock.now() if self.paused_at is None else None
        self.foot()
        self._refresh_list()

    def action_next_unwell(self, direction: int) -> None:
        """Go to the nearest record that is not plainly well, however far away."""
        row = self.table.row
        if row is None:
            return
        pages, unwell = self.pages(), self.pages(replace(self.filter, unwell=True))
        held, key = self.table.window, pages.key(row)

        def load() -> Loaded[R]:
            found = unwell.next_older(key) if direction > 0 else unwell.next_newer(key)
            if found is None:
                return Loaded(held, point=row.id)
            if any(one.id == found.id for one in held.rows):
                return Loaded(held, point=found.id)
            return Loaded(pages.around(pages.key(found)), point=found.id)

        self.table.follow = False
        self._load(load)

    def on_time_rail_pointed(self, message: TimeRail.Pointed) -> None:
        """Show the list as it was around an instant."""
        message.stop()
        if message.at is None or self.order is not Order.CREATED:
            self.action_newest()
            return
        self.table.follow = False
        key, pages = Key.after(message.at), self.pages()

        def load() -> Loaded[R]:
            window = pages.around(key)
            nearest = next((row for row in window.rows if pages.key(row) <= key), None)
            return Loaded(window, point=None if nearest is None else nearest.id)

        self._load(load)

    # --- filtering and ordering ----------------------------------------------------------------

    def action_unwell(self) -> None:
        """Show only what is not plainly well, or everything; the cursor stays on its record."""
        self.set_filter(replace(self.filter, unwell=not self.filter.unwell))

    def set_filter(self, query: Filter) -> None:
        """Filter the list; the cursor stays on its record where that still stands in it."""
        self.filter = query
        self.foot()
        self._reload()

    def _reload(self) -> None:
        row = self.table.row
        if self.table.follow or row is None:
            self.action_newest()
            return
        pages, row_id = self.pages(), row.id
        key = pages.key(row)
        self._load(lambda: Loaded(pages.around(key), point=row_id))

    def action_order(self) -> None:
        """List in the next order that has an index; the cursor stays on its record."""
        orders = self.definition.orders
        self.order = orders[(orders.index(self.order) + 1) % len(orders)]
        self.table.set_columns(self.definition.columns[self.order])
        self.foot()
        self._reload()

    def action_filter(self) -> None:
        """Open the filter's box with what it holds."""
        self.add_class("-filtering")
        self.query_one(FilterBox).begin(self.filter)

    def on_filter_box_chosen(self, message: FilterBox.Chosen) -> None:
        """Filter the list; leave the box where the person is done with it."""
        message.stop()
        if message.done:
            self._leave_box()
        if message.query != self.filter:
            self.set_filter(message.query)

    def on_filter_box_refused(self, message: FilterBox.Refused) -> None:
        """Say what cannot be read, under the box."""
        message.stop()
        self.complaint = message.sentence
        self.foot()

    def action_back(self) -> None:
        """Clear the filter; the cursor stays on its record."""
        self._leave_box()
        if self.filter:
            self.set_filter(Filter())

    def _leave_box(self) -> None:
        self.complaint = ""
        self.remove_class("-filtering")
        self.table.focus()
        self.foot()

    def action_search_on(self) -> None:
        """Search on where a search ran out of time."""
        pages, window = self.pages(), self.table.window
        if window.reached is not None:
            self._load(lambda: Loaded(pages.older(window)))

    def action_export(self, form: str = Form.SHEET.name) -> None:
        """Write the rows that pass the filter to a file, on a thread."""
        chosen = Form[form]
        at = self.context.look.now.astimezone(EAT)
        name = f"kusanya-{self.context.mode.value}-{self.definition.records}-{at:%Y%m%d-%H%M%S}"
        pages, target = self.pages(), self.context.folder / f"{name}{chosen.value}"
        fields = self.definition.fields

        def export() -> ActionResult:
            worker = get_current_worker()
            return write_list(
                pages, fields, target, form=chosen, stopped=lambda: worker.is_cancelled
            )

        self.post_message(ActionRequested("exporting", export))

    def action_pane(self) -> None:
        """Show or hide the pane; where there is no room for both it takes the list's place."""
        self.toggle_class("-pane")

    def action_open(self) -> None:
        """Open the story of the record under the cursor."""

    # --- what the table says -------------------------------------------------------------------

    def on_record_table_need_page(self, message: RecordTable.NeedPage) -> None:
        """Read the next page in the direction of the view."""
        message.stop()
        pages, window = self.pages(), self.table.window
        if self._wanted is None:
            older = message.older
            self._load(lambda: Loaded(pages.older(window) if older else pages.newer(window)))

    def on_record_table_moved(self) -> None:
        """Say that following has ended, and where the list stands now."""
        self.foot()
        self.rail()

    def on_record_table_opened(self) -> None:
        """Open what was double-clicked."""
        self.action_open()
