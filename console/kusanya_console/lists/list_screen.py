"""What a person does with a long list: moving in it, filtering, ordering, exporting.

Reading and showing it is `ListView`'s.
"""

from pathlib import Path
from typing import Any, Final, TypeVar

from msgspec.structs import replace
from textual.worker import get_current_worker

from kusanya.business_day import EAT
from kusanya.filters import Filter, FilterError, describe, parse
from kusanya.store.records import Key, SortOrder
from kusanya.text import safe
from kusanya_console.actions.context import Selection
from kusanya_console.actions.messages import ActionRequested, CopyRequested
from kusanya_console.actions.results import ActionResult
from kusanya_console.actions.saved_views import SavedView
from kusanya_console.lists.export import Form, write_list
from kusanya_console.lists.list_view import ListUpdate, ListView
from kusanya_console.screens.confirm import ViewNameScreen
from kusanya_console.ui.format import format_text
from kusanya_console.ui.vocabulary import ACCENT
from kusanya_console.widgets.filter_box import FilterBox
from kusanya_console.widgets.record_table import RecordTable
from kusanya_console.widgets.time_rail import TimeRail
from kusanya_console.widgets.window import Row

R = TypeVar("R", bound=Row)
MARKED_MOST: Final = 1_000
"""So many records are marked at once: a person answers for each of them."""


class ListScreen(ListView[R]):
    """A list and its keys."""

    # --- moving --------------------------------------------------------------------------------

    def action_move(self, by: int) -> None:
        """Move the cursor."""
        self.table.move(by)

    def action_move_page(self, by: int) -> None:
        """Move the cursor by as many records as are visible."""
        self.table.move(by * (self.table.lines - 1))

    def action_oldest(self) -> None:
        """Go to the oldest record."""
        self.table.follow = False
        pages = self.pages()

        def load() -> ListUpdate[R]:
            window = pages.oldest()
            return ListUpdate(window, point=window.rows[-1].id if window.rows else None)

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
            window = pages.around(key)
            nearest = next((row for row in window.rows if pages.key(row) <= key), None)
            return ListUpdate(window, point=None if nearest is None else nearest.id)

        self._load(load)

    # --- marking -------------------------------------------------------------------------------

    def action_mark(self) -> None:
        """Mark the record under the cursor, or no longer, and go to the next."""
        self.table.toggle_mark()
        self.table.move(1)
        self.foot()

    def action_mark_all(self) -> None:
        """Mark what passes the filter, the newest first."""
        pages = self.pages()
        self.fetch("marks", lambda: pages.page(limit=MARKED_MOST))

    def show_fetched(self, what: str, value: Any) -> None:
        """Mark what was read for it; show everything else."""
        if what != "marks":
            super().show_fetched(what, value)
            return
        self.table.mark(value.rows)
        self.foot()
        if value.more:
            self.say(f"the newest {len(value.rows):,} are marked; more pass the filter")

    def marked(self) -> tuple[Selection, ...]:
        """Return what is marked, in the order of the list's marks."""
        return tuple(map(self.definition.selection, self.table.marked.values()))

    def selection(self) -> Selection | None:
        """Return what the cursor points at."""
        return None if self.table.row is None else self.definition.selection(self.table.row)

    def copy_marked(self) -> bool:
        """Copy the references of what is marked, a line each; tell whether anything is."""
        marked = self.marked()
        if marked:
            text = "\n".join(one.copied or one.name for one in marked)
            self.post_message(CopyRequested(f"{len(marked):,} references", text))
        return bool(marked)

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
        self._load(lambda: ListUpdate(pages.around(key), point=row_id))

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
        """Unmark what is marked, or else clear the filter; the cursor stays on its record."""
        self._leave_box()
        if self.table.marked:
            self.table.unmark_all()
            self.foot()
        elif self.filter:
            self.set_filter(Filter())

    def action_save_view(self) -> None:
        """Save the filter under a name, for everybody who works on the store."""
        operator, of, text = self.context.operator, self.NAME, describe(self.filter)
        if operator is None:
            self.say(self.context.action_disabled_reason)
        elif not self.filter:
            self.say("there is no filter to save: / narrows the list first")
        else:

            def save(name: str | None) -> None:
                if name:
                    self.post_message(
                        ActionRequested("saving", lambda: operator.save_view(of, name, text))
                    )

            self.app.push_screen(ViewNameScreen((format_text(text, 60), ACCENT)), save)

    def apply_view(self, view: SavedView) -> None:
        """Narrow the list to what a saved view lets through."""
        try:
            query = parse(view.text, keys=self.definition.keys, whose=self.definition.records)
        except FilterError as error:
            self.say(f"@{view.name} cannot be read here: {safe(str(error), 200)}")
        else:
            self.set_filter(query)

    def delete_view(self, view: SavedView) -> None:
        """Delete a saved view for everybody."""
        operator = self.context.operator
        if operator is None:
            self.say(self.context.action_disabled_reason)
            return
        self.post_message(
            ActionRequested("deleting", lambda: operator.delete_view(view.of, view.name))
        )

    def _leave_box(self) -> None:
        self.complaint = ""
        self.remove_class("-filtering")
        self.table.focus()
        self.foot()

    def action_search_on(self) -> None:
        """Search on where a search ran out of time."""
        pages, window = self.pages(), self.table.window
        if window.reached is not None:
            self._load(lambda: ListUpdate(pages.older(window)))

    def action_export(self, form: str = Form.SHEET.name) -> None:
        """Write the rows that pass the filter to a file, on a thread."""
        chosen = Form[form]
        at = self.context.look.now.astimezone(EAT)
        name = f"kusanya-{self.context.mode.value}-{self.definition.records}-{at:%Y%m%d-%H%M%S}"
        pages, fields = self.pages(), self.definition.fields
        what = f"Export the {self.definition.records} that pass the filter"
        if self.table.marked:
            rows = tuple(sorted(self.table.marked.values(), key=pages.key, reverse=True))
            pages = pages.of_rows(rows)
            what = f"Export the {len(rows):,} marked {self.definition.records}"

        def write(target: Path | None) -> None:
            if target is None:
                return

            def export() -> ActionResult:
                worker = get_current_worker()
                return write_list(
                    pages, fields, target, form=chosen, stopped=lambda: worker.is_cancelled
                )

            self.post_message(ActionRequested("exporting", export))

        suggested = self.context.folder / f"{name}{chosen.value}"
        self.ask_where(what, suggested, write, keys="esc writes none")

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
            self._load(lambda: ListUpdate(pages.older(window) if older else pages.newer(window)))

    def on_record_table_moved(self) -> None:
        """Say that following has ended, and where the list stands now."""
        self.foot()
        self.rail()

    def on_record_table_opened(self) -> None:
        """Open what was double-clicked."""
        self.action_open()
