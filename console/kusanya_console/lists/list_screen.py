"""A screen around one long list: moving, following, pausing, narrowing, and what is not well."""

from datetime import UTC, datetime, timedelta
from typing import TypeVar

from msgspec.structs import replace
from textual.worker import get_current_worker

from kusanya.business_day import EAT
from kusanya.filters import Filter
from kusanya.store.records import Key, Order
from kusanya_console.actions.results import ActionResult
from kusanya_console.lists.export import Form, write_list
from kusanya_console.lists.list_on_screen import ListOnScreen
from kusanya_console.lists.paging import Pages
from kusanya_console.lists.refresh import Listed
from kusanya_console.messages import ActionRequested
from kusanya_console.widgets.filter_box import FilterBox
from kusanya_console.widgets.record_table import RecordTable
from kusanya_console.widgets.time_rail import TimeRail
from kusanya_console.widgets.window import Row

R = TypeVar("R", bound=Row)
_LAST_ID = "\U0010ffff"
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


class ListScreen(ListOnScreen[R]):
    """A list with a detail pane beside it, and what a person does with both."""

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
        self.wish(lambda: Listed(self.pages().newest()))

    def action_oldest(self) -> None:
        """Go to the oldest record."""
        self.table.follow = False
        pages = self.pages()

        def read() -> Listed[R]:
            window = pages.oldest()
            return Listed(window, point=window.rows[-1].id if window.rows else None)

        self.wish(read)

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
        self.pump()

    def action_next_unwell(self, direction: int) -> None:
        """Go to the nearest record that is not plainly well, however far away."""
        row = self.table.row
        if row is None:
            return
        source = self.source(replace(self.filter, unwell=True))
        pages, beyond, key = self.pages(), Pages(source), source.key(row)
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

    def on_time_rail_pointed(self, message: TimeRail.Pointed) -> None:
        """Show the list as it was around an instant."""
        message.stop()
        if message.at is None or self.order is not Order.CREATED:
            self.action_newest()
            return
        self.table.follow = False
        key, pages = Key((message.at - _EPOCH) // _MICROSECOND, _LAST_ID), self.pages()

        def read() -> Listed[R]:
            window, source = pages.around(key), self.source(self.filter)
            nearest = next((row for row in window.rows if source.key(row) <= key), None)
            return Listed(window, point=None if nearest is None else nearest.id)

        self.wish(read)

    # --- narrowing and ordering ----------------------------------------------------------------

    def action_unwell(self) -> None:
        """Show only what is not plainly well, or everything; the cursor stays on its record."""
        self.narrow(replace(self.filter, unwell=not self.filter.unwell))

    def narrow(self, narrowed: Filter) -> None:
        """Narrow the list; the cursor stays on its record where that still stands in it."""
        self.filter = narrowed
        self.foot()
        self._reread()

    def open_on(self, narrowed: Filter) -> None:
        """Show the newest of what somebody wants to see, in the usual order."""
        if self.order is not self.listing.orders[0]:
            self.order = self.listing.orders[0]
            self.table.set_columns(self.columns[self.order])
        self.paused_at = None
        self.filter = narrowed
        self.foot()
        self.action_newest()

    def _reread(self) -> None:
        row = self.table.row
        if self.table.follow or row is None:
            self.action_newest()
            return
        source = self.source(self.filter)
        key, row_id = source.key(row), row.id
        self.wish(lambda: Listed(Pages(source).around(key), point=row_id))

    def action_order(self) -> None:
        """List in the next order that has an index; the cursor stays on its record."""
        orders = self.listing.orders
        self.order = orders[(orders.index(self.order) + 1) % len(orders)]
        self.table.set_columns(self.columns[self.order])
        self.foot()
        self._reread()

    def action_filter(self) -> None:
        """Open the filter's box with what it holds."""
        self.add_class("-filtering")
        self.query_one(FilterBox).begin(self.filter)

    def on_filter_box_narrowed(self, message: FilterBox.Narrowed) -> None:
        """Narrow the list; leave the box where the person is done with it."""
        message.stop()
        if message.done:
            self._leave_box()
        if message.narrowed != self.filter:
            self.narrow(message.narrowed)

    def on_filter_box_complained(self, message: FilterBox.Complained) -> None:
        """Say what cannot be read, under the box."""
        message.stop()
        self.complaint = message.sentence
        self.foot()

    def action_back(self) -> None:
        """Clear the filter; the cursor stays on its record."""
        self._leave_box()
        if self.filter:
            self.narrow(Filter())

    def _leave_box(self) -> None:
        self.complaint = ""
        self.remove_class("-filtering")
        self.table.focus()
        self.foot()

    def action_search_on(self) -> None:
        """Search on where a search ran out of time."""
        pages, window = self.pages(), self.table.window
        if window.reached is not None:
            self.wish(lambda: Listed(pages.older(window)))

    def action_export(self, form: str = Form.SHEET.name) -> None:
        """Write the rows that pass the filter to a file, on a thread."""
        chosen = Form[form]
        at = self.context.look.now.astimezone(EAT)
        name = f"kusanya-{self.context.mode.value}-{self.listing.records}-{at:%Y%m%d-%H%M%S}"
        source, target = self.source(self.filter), self.context.folder / f"{name}{chosen.value}"
        fields = self.listing.exported()

        def export() -> ActionResult:
            worker = get_current_worker()
            return write_list(
                source, fields, target, form=chosen, stopped=lambda: worker.is_cancelled
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
        if not self.agenda.wished:
            self.wish(lambda: Listed(pages.older(window) if message.older else pages.newer(window)))

    def on_record_table_moved(self) -> None:
        """Say that following has ended, and where the list stands now."""
        self.foot()
        self.rail()

    def on_record_table_opened(self) -> None:
        """Open what was double-clicked."""
        self.action_open()
