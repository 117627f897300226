"""The columns of a list: a person chooses, moves and widens them, and the list follows at once."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, Final

from msgspec.structs import replace
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical
from textual.screen import ModalScreen

from kusanya_console.ui.arrangement import (
    NARROWEST,
    WIDEST,
    Arrange,
    Arrangement,
    ColumnChoice,
)
from kusanya_console.ui.columns import Column, Heading
from kusanya_console.ui.format import Line, fit
from kusanya_console.ui.language import translate
from kusanya_console.ui.vocabulary import ACCENT, MUTED, PLAIN, STRONG, WARN
from kusanya_console.widgets.sheet import LineSheet, Sheet

_TITLE: Final = 26
_KEYS: Final = (
    ("space", "shows or hides"),
    ("- +", "width"),
    ("J K", "moves"),
    ("o", "sorts"),
    ("0", "as usual"),
    ("esc", "done"),
)


class ColumnDialog(ModalScreen[Arrangement]):
    """Lists every column of a list; dismissed with the arrangement that stands at the end."""

    BINDINGS: ClassVar[list[BindingType]] = [
        ("escape,enter,C", "done", "Close the dialog; the columns stay."),
        ("j,down", "point(1)", "Go to the next column."),
        ("k,up", "point(-1)", "Go to the previous column."),
        ("space", "show", "Show or hide the column."),
        ("minus", "widen(-1)", "Make the column narrower."),
        ("plus,equals_sign", "widen(1)", "Make the column wider."),
        ("J,shift+down", "place(1)", "Move the column one place to the right."),
        ("K,shift+up", "place(-1)", "Move the column one place to the left."),
        ("o", "sort", "Sort by the column; once more turns the order round."),
        ("0", "usual", "Put every column back as it usually is."),
    ]

    def __init__(
        self,
        title: str,
        declared: Sequence[Column[Any]],
        arrangement: Arrangement,
        *,
        arrange: Arrange,
        heading: Callable[[], Heading],
        cells: Callable[[], Mapping[str, int]],
        unsorted: str,
    ) -> None:
        """`cells` tells how wide each column stands in the list now, by their titles.

        `unsorted` says why the list cannot be sorted by a column that has no order.
        """
        super().__init__()
        self._title = title
        self._declared = {column.title: column for column in declared}
        self._choices = list(arrangement.choices(declared))
        self._arrange = arrange
        self._heading = heading
        self._cells = cells
        self._unsorted = unsorted
        self._at = 0
        self._complaint = ""

    def compose(self) -> ComposeResult:
        """Lay out the keys and the columns."""
        with Vertical(classes="dialog"):
            yield Sheet(id="record")
            yield LineSheet(id="columns")

    def on_mount(self) -> None:
        """Show the columns as they stand."""
        self.query_one("#record", Sheet).show(self._head)
        self._show()

    def _head(self, width: int) -> list[Line]:
        title = translate("Columns of {screen}", screen=translate(self._title))
        lines: list[Line] = [((title, STRONG),), ()]
        line: Line = ()
        for keys, said in _KEYS:
            piece: Line = ((f"{keys} ", ACCENT), (f"{translate(said)}   ", MUTED))
            if sum(len(text) for text, _ in (*line, *piece)) > width + 3:
                lines.append(line)
                line = ()
            line = (*line, *piece)
        return [*lines, line, ()]

    def _show(self) -> None:
        cells, heading = self._cells(), self._heading()
        lines = [self._line(place, one, cells, heading) for place, one in enumerate(self._choices)]
        if self._complaint:
            lines += [(), ((self._complaint, WARN),)]
        self.query_one("#columns", LineSheet).show(lambda _width: lines)

    def _line(
        self, place: int, one: ColumnChoice, cells: Mapping[str, int], heading: Heading
    ) -> Line:
        column, wide = self._declared[one.title], cells.get(one.title)
        said = ""
        if wide is None:
            said = translate("hidden")
        elif wide == 0:
            said = translate("no room now")
        else:
            said = translate("{count} cells", count=f"{wide}")
        return (
            (">" if place == self._at else " ", ACCENT),
            (" • " if wide is not None else "   ", ACCENT),
            (fit(heading.of(column), _TITLE), MUTED if wide is None else PLAIN),
            (fit(said, 16), MUTED),
            (translate("can be sorted by") if column.order is not None else "", MUTED),
        )

    def on_line_sheet_clicked(self, message: LineSheet.Clicked) -> None:
        """Show or hide the column under the mouse."""
        message.stop()
        if message.line < len(self._choices):
            self._at = message.line
            self.action_show()

    def action_done(self) -> None:
        """Close the dialog; what stands is kept."""
        self.dismiss(self._arrangement())

    def action_point(self, by: int) -> None:
        """Go to another column."""
        self._at = min(max(self._at + by, 0), len(self._choices) - 1)
        self._complaint = ""
        self._show()

    def action_show(self) -> None:
        """Show or hide the column; the last one stays, and so does what the list is sorted by."""
        one = self._choices[self._at]
        column, heading = self._declared[one.title], self._heading()
        if one.shown and not any(self._stands(other) for other in self._choices if other != one):
            self._complaint = translate("a list needs one column")
            self._show()
        elif heading.is_by(column):
            self._complaint = translate("the list is sorted by it: it stays")
            self._show()
        else:
            self._change(replace(one, shown=not one.shown))

    def _stands(self, one: ColumnChoice) -> bool:
        return one.shown or self._heading().is_by(self._declared[one.title])

    def action_widen(self, by: int) -> None:
        """Make the column wider or narrower by a cell."""
        one = self._choices[self._at]
        wide = self._cells().get(one.title) or one.width or self._declared[one.title].width
        self._change(replace(one, shown=True, width=min(max(wide + by, NARROWEST), WIDEST)))

    def action_place(self, by: int) -> None:
        """Move the column among the others."""
        to = self._at + by
        if 0 <= to < len(self._choices):
            self._choices.insert(to, self._choices.pop(self._at))
            self._at = to
            self._apply()

    def action_sort(self) -> None:
        """Sort by the column where the store has an index for it; once more turns it round."""
        column, heading = self._declared[self._choices[self._at].title], self._heading()
        if column.order is None:
            self._complaint = translate(self._unsorted)
            self._show()
            return
        turned = heading.is_by(column) and not heading.ascending
        self._apply(Heading(column.order, turned))

    def action_usual(self) -> None:
        """Put every column back as it is declared, in the usual order."""
        usual = Arrangement()
        declared = tuple(self._declared.values())
        self._choices, self._complaint = list(usual.choices(declared)), ""
        self._arrange(usual)
        self._show()

    def _change(self, one: ColumnChoice) -> None:
        self._choices[self._at] = one
        self._apply()

    def _apply(self, heading: Heading | None = None) -> None:
        self._complaint = ""
        self._arrange(self._arrangement(heading))
        self._show()

    def _arrangement(self, heading: Heading | None = None) -> Arrangement:
        sorting = heading or self._heading()
        return Arrangement(tuple(self._choices), sorting.order, sorting.ascending)
