"""What a person does with a long list: moving in it, filtering, ordering, exporting.

Reading and showing it is `ListView`'s.
"""

from typing import Any, TypeVar

from msgspec.structs import replace

from kusanya.filters import Filter, FilterError, describe, parse
from kusanya.say import Said
from kusanya.store.records import Key, SortOrder
from kusanya.text import safe
from kusanya_console.actions.messages import ActionRequested
from kusanya_console.actions.saved_views import SavedView
from kusanya_console.lists.export import ExportFormat
from kusanya_console.lists.list_view import ListUpdate, ListView
from kusanya_console.lists.paging import fixed_pages
from kusanya_console.lists.table_screen import MARKED_MOST
from kusanya_console.lists.underlining import needles
from kusanya_console.screens.confirm import ViewNameScreen
from kusanya_console.ui.columns import Heading
from kusanya_console.ui.excerpt import Row
from kusanya_console.ui.format import format_text
from kusanya_console.ui.vocabulary import ACCENT
from kusanya_console.widgets.filter_box import FilterBox
from kusanya_console.widgets.record_table import RecordTable
from kusanya_console.widgets.time_rail import TimeRail

R = TypeVar("R", bound=Row)


class ListScreen(ListView[R]):
    """A list and its keys."""

    # --- moving --------------------------------------------------------------------------------

    def action_oldest(self) -> None:
        """Go to the oldest record."""
        self.table.follow = False
        pages = self.pages()

        def load() -> ListUpdate[R]:
            excerpt = pages.oldest()
            return ListUpdate(excerpt, point=excerpt.rows[-1].id if excerpt.rows else None)

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
        held, key = self.table.excerpt, pages.key(row)

        def load() -> ListUpdate[R]:
            found = unwell.next_older(key) if direction > 0 else unwell.next_newer(key)
            if found is None:
                return ListUpdate(held, point=row.id)
            if any(one.id == found.id for one in held.rows):
                return ListUpdate(held, point=found.id)
            return ListUpdate(pages.around(pages.key(found)), point=found.id)

        self.table.follow = False
        self._load(load)

    def on_time_rail_pointed(self, message: TimeRail.Pointed) -> None:
        """Show the list as it was around an instant."""
        message.stop()
        if message.at is None or self.order is not SortOrder.CREATED:
            self.action_newest()
            return
        self.table.follow = False
        key, pages = Key.after(message.at), self.pages()

        def load() -> ListUpdate[R]:
            excerpt = pages.around(key)
            upto = [row for row in excerpt.rows if pages.key(row) <= key]
            nearest = max(upto, key=pages.key, default=None)
            return ListUpdate(excerpt, point=None if nearest is None else nearest.id)

        self._load(load)

    # --- marking -------------------------------------------------------------------------------

    def action_mark_all(self) -> None:
        """Mark what passes the filter, the newest first."""
        pages = self.pages()
        self.fetch("marks", lambda: pages.page(limit=MARKED_MOST))

    def show_fetched(self, what: str, value: Any) -> None:
        """Mark what was read for it; show everything else."""
        if what != "marks":
            super().show_fetched(what, value)
            return
        self.mark(value.rows)
        if value.more:
            self.say(
                Said("the first {count} are marked; more pass the filter").of(count=len(value.rows))
            )

    def marks_changed(self) -> None:
        """Say how many are marked."""
        self.foot()

    # --- filtering and ordering ----------------------------------------------------------------

    def action_unwell(self) -> None:
        """Show only what is not plainly well, or everything; the cursor stays on its record."""
        self.set_filter(replace(self.filter, unwell=not self.filter.unwell))

    def set_filter(self, query: Filter) -> None:
        """Filter the list; the cursor stays on its record where that still stands in it."""
        self.filter = query
        self.table.highlight(needles(query))
        self.foot()
        self._reload()

    def _reload(self) -> None:
        row = self.table.row
        if self.table.follow or row is None:
            self.action_newest()
            return
        pages, row_id = self.pages(), row.id
        key = pages.key(row)
        self._load(lambda: ListUpdate(pages.around(key), point=row_id))

    def action_order(self) -> None:
        """List in the next order that has an index; the cursor stays on its record."""
        orders = self.orders
        self.sort_by(Heading(orders[(orders.index(self.order) + 1) % len(orders)]))

    def action_turn(self) -> None:
        """Turn the order round; the cursor stays on its record."""
        self.sort_by(Heading(self.order, not self.heading.ascending))

    def sorted_anew(self) -> None:
        """Read the list in its new order; the cursor stays on its record."""
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
        """Unmark what is marked, or else clear the filter; the cursor stays on its record."""
        self._leave_box()
        if not self.unmark_all() and self.filter:
            self.set_filter(Filter())

    def action_save_view(self) -> None:
        """Save the filter under a name, for everybody who works on the store."""
        actions, of, text = self.context.actions, self.NAME, describe(self.filter)
        if actions is None:
            self.say(self.context.action_disabled_reason)
        elif not self.filter:
            self.say("there is no filter to save: / narrows the list first")
        else:

            def save(name: str | None) -> None:
                if name:
                    self.post_message(
                        ActionRequested("saving", lambda: actions.save_view(of, name, text))
                    )

            self.app.push_screen(ViewNameScreen((format_text(text, 60), ACCENT)), save)

    def apply_view(self, view: SavedView) -> None:
        """Narrow the list to what a saved view lets through."""
        try:
            query = parse(view.text, keys=self.definition.keys, whose=self.definition.records)
        except FilterError as error:
            self.say(
                Said("@{name} cannot be read here: {our_why}").of(
                    name=view.name, our_why=safe(str(error), 200)
                )
            )
        else:
            self.set_filter(query)

    def delete_view(self, view: SavedView) -> None:
        """Delete a saved view for everybody."""
        actions = self.context.actions
        if actions is None:
            self.say(self.context.action_disabled_reason)
            return
        self.post_message(
            ActionRequested("deleting", lambda: actions.delete_view(view.of, view.name))
        )

    def _leave_box(self) -> None:
        self.complaint = ""
        self.remove_class("-filtering")
        self.table.focus()
        self.foot()

    def action_search_on(self) -> None:
        """Search on where a search ran out of time."""
        pages, excerpt = self.pages(), self.table.excerpt
        if excerpt.reached is not None:
            self._load(lambda: ListUpdate(pages.older(excerpt)))

    def action_export(self, form: str = ExportFormat.SHEET.name) -> None:
        """Write the rows that pass the filter to a file, on a thread."""
        pages, records = self.pages(), self.definition.records
        what = Said("Export the {our_records} that pass the filter").of(our_records=records)
        if self.table.marked:
            listed = sorted(self.table.marked.values(), key=pages.key)
            pages = fixed_pages(tuple(listed if self.heading.ascending else listed[::-1]))
            what = Said("Export the {count} marked {our_records}").of(
                count=len(listed), our_records=records
            )
        self.export_rows(pages, self.definition.fields, records=records, what=what, form=form)

    def action_pane(self) -> None:
        """Show or hide the pane; where there is no room for both it takes the list's place."""
        self.toggle_class("-pane")

    def action_open(self) -> None:
        """Open the story of the record under the cursor."""

    # --- what the table says -------------------------------------------------------------------

    def on_record_table_need_page(self, message: RecordTable.NeedPage) -> None:
        """Read the next page in the direction of the view."""
        message.stop()
        pages, excerpt = self.pages(), self.table.excerpt
        if self._wanted is None:
            older = message.older
            self._load(lambda: ListUpdate(pages.older(excerpt) if older else pages.newer(excerpt)))

    def on_record_table_moved(self) -> None:
        """Say that following has ended, and where the list stands now."""
        self.foot()
        self.rail()

    def on_record_table_opened(self) -> None:
        """Open what was double-clicked."""
        self.action_open()
