"""A screen with a table of records: moving in it, marking, arranging and sorting its columns."""

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import ClassVar, Final, Generic, TypeVar

from textual.worker import get_current_worker

from kusanya.domain.business_day import EAT
from kusanya.errors import ConfigurationError
from kusanya.say import Said, plural
from kusanya.store.records import SortOrder
from kusanya.text import safe
from kusanya_console.actions.context import AppContext, Selection
from kusanya_console.actions.messages import ActionRequested, CopyRequested
from kusanya_console.actions.results import ActionResult
from kusanya_console.collections.screen import PaymentScreen
from kusanya_console.lists.column_dialog import ColumnDialog
from kusanya_console.lists.export import ExportFormat, Value, write_list
from kusanya_console.lists.paging import ListPages
from kusanya_console.ui.arrangement import Arrangement
from kusanya_console.ui.columns import Column, Heading
from kusanya_console.ui.excerpt import Row
from kusanya_console.ui.language import translate
from kusanya_console.widgets.record_table import RecordTable

R = TypeVar("R", bound=Row)
MARKED_MOST: Final = 1_000
"""So many records are marked at once: a person answers for each of them."""


class TableScreen(PaymentScreen, Generic[R]):
    """What can be done with the records of one table, whatever they are."""

    UNSORTED: ClassVar[str] = (
        "the store has no index of it: only the loaded page could be sorted by it"
    )
    """Why the list cannot be sorted by a column."""

    def __init__(
        self,
        context: AppContext,
        declared: tuple[Column[R], ...],
        *,
        selection_of: Callable[[R], Selection],
        table_id: str = "table",
    ) -> None:
        super().__init__(context)
        self.declared = declared
        self.orders = tuple(column.order for column in declared if column.order is not None)
        """The orders that have an index, the usual one first."""
        self.selection_of = selection_of
        """Returns what a record of this list is about."""
        self.arrangement = context.lists.of(self.NAME)
        self.heading = self.arrangement.sorting(self.orders)
        columns = self.arrangement.arrange(declared, self.heading)
        self.table: RecordTable[R] = RecordTable(columns, look=context.look, id=table_id)
        self.table.heading = self.heading

    @property
    def order(self) -> SortOrder:
        """Return what the list is sorted by."""
        return self.heading.order or SortOrder.CREATED

    # --- moving --------------------------------------------------------------------------------

    def action_move(self, by: int) -> None:
        """Move the cursor."""
        self.table.move(by)

    def stop_following(self) -> None:
        """Stay on the record under the cursor, whatever comes above it."""
        self.table.stop_following()

    def action_move_page(self, by: int) -> None:
        """Move the cursor by as many records as are visible."""
        self.table.move(by * (self.table.lines - 1))

    # --- marking -------------------------------------------------------------------------------

    def action_mark(self) -> None:
        """Mark the record under the cursor, or no longer, and go to the next."""
        self.table.toggle_mark()
        self.table.move(1)
        self.marks_changed()

    def action_mark_all(self) -> None:
        """Mark every record that is listed."""
        self.mark(self.table.excerpt.rows)

    def mark(self, rows: Iterable[R]) -> None:
        """Mark records beside those that are marked already."""
        self.table.mark(rows)
        self.marks_changed()

    def unmark_all(self) -> bool:
        """Mark no record any more; tell whether any was."""
        had = bool(self.table.marked)
        if had:
            self.table.unmark_all()
            self.marks_changed()
        return had

    def marks_changed(self) -> None:
        """Say how many are marked."""

    def marks_line(self) -> str:
        """Return how many are marked, seen or not, and which key unmarks them, or nothing."""
        if not self.table.marked:
            return ""
        count, key = f"{len(self.table.marked):,}", self.context.key("view.back")
        seen = sum(row.id in self.table.marked for row in self.table.excerpt.rows)
        if unseen := len(self.table.marked) - seen:
            said = "{count} marked, {unseen} of them not in this list, {key} unmarks"
            return translate(said, count=count, unseen=f"{unseen:,}", key=key)
        return translate("{count} marked, {key} unmarks", count=count, key=key)

    def marked(self) -> tuple[Selection, ...]:
        """Return what is marked, in the order of the list's marks."""
        return tuple(map(self.selection_of, self.table.marked.values()))

    def selection(self) -> Selection | None:
        """Return what the cursor points at."""
        return None if self.table.row is None else self.selection_of(self.table.row)

    def copy_marked(self) -> bool:
        """Copy the references of what is marked, a line each; tell whether anything is."""
        marked = self.marked()
        if marked:
            text = "\n".join(one.copied or one.name for one in marked)
            what = plural(len(marked), "1 reference", "{count} references")
            self.post_message(CopyRequested(what, text))
        return bool(marked)

    def export_rows(
        self,
        pages: ListPages[R],
        fields: Mapping[str, Callable[[R], Value]],
        *,
        records: str,
        what: str,
        form: str,
    ) -> None:
        """Ask for a file and write rows to it on a thread."""
        chosen = ExportFormat[form]
        at = self.context.look.now.astimezone(EAT)
        name = f"kusanya-{self.context.mode.value}-{records}-{at:%Y%m%d-%H%M%S}"

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
        self.ask_where(what, suggested, write, keys="enter saves it to this file, esc writes none")

    # --- columns -------------------------------------------------------------------------------

    def action_columns(self) -> None:
        """Let a person choose, move, widen and sort by columns, and keep what stands then."""
        dialog = ColumnDialog(
            self.CRUMB,
            self.declared,
            self.arrangement,
            arrange=self._arrange,
            heading=lambda: self.heading,
            cells=self._cells,
            unsorted=self.UNSORTED,
        )
        self.app.push_screen(dialog, self._keep)

    def _cells(self) -> dict[str, int]:
        titles = (column.title for column in self.table.columns)
        return dict(zip(titles, self.table.widths(), strict=True))

    def _arrange(self, arrangement: Arrangement) -> None:
        self.arrangement = arrangement
        self.sort_by(arrangement.sorting(self.orders))

    def _keep(self, arrangement: Arrangement | None) -> None:
        if arrangement is None or arrangement == self.context.lists.of(self.NAME):
            return
        try:
            self.context.lists.keep(self.NAME, arrangement)
        except ConfigurationError as error:
            self.say(
                Said("{our_why}: the columns stay until the console is left").of(
                    our_why=safe(str(error), 300)
                )
            )

    def sort_by(self, heading: Heading) -> None:
        """Sort the list, and show its columns as they are arranged."""
        again = heading != self.heading
        self.heading = heading
        self.show_columns()
        if again:
            self.sorted_anew()

    def show_columns(self) -> None:
        """Show the columns as they are arranged, an arrow above what the list is sorted by."""
        self.table.set_columns(self.arrangement.arrange(self.declared, self.heading), self.heading)

    def sorted_anew(self) -> None:
        """Read the list in its new order."""

    def on_record_table_heading_clicked(self, message: RecordTable.HeadingClicked) -> None:
        """Sort by the heading that was clicked; once more turns the order round."""
        message.stop()
        order = message.column.order
        if order is None:
            self.say(self.UNSORTED)
        else:
            turned = self.heading.is_by(message.column) and not self.heading.ascending
            self.sort_by(Heading(order, turned))
