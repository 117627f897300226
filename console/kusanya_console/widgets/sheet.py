"""A widget that shows lines: what it shows is a function of its width."""

from collections.abc import Callable, Sequence
from itertools import zip_longest
from typing import Final

from rich.cells import cell_len
from rich.text import Text
from textual import events
from textual.geometry import Region, Size
from textual.message import Message
from textual.widget import Widget

from kusanya_console.ui.format import Line, text
from kusanya_console.ui.vocabulary import MUTED, RULE
from kusanya_console.widgets.repainting import changed_cells

Draw = Callable[[int], Sequence[Line]]
PAST: Final = "-past"
"""The class of widgets that show what was read of a store that is lost."""


class Sheet(Widget):
    """Shows the lines that its last `show` describes, for whatever width it is given."""

    def __init__(self, *, id: str | None = None, classes: str | None = None) -> None:  # noqa: A002
        super().__init__(id=id, classes=classes)
        self._draw: Draw = _nothing
        self._drawn: tuple[int, Sequence[Line]] | None = None
        self._standing: tuple[int, Sequence[Line]] | None = None
        """The lines as they stand on the terminal, and for which width they were made."""

    def show(self, draw: Draw) -> None:
        """Show what `draw` returns; of what stands there already nothing is drawn again."""
        self._draw, self._drawn = draw, None
        width = self.content_size.width
        if self._standing is None or self._standing[0] != width:
            self.refresh(layout=True)
            return
        before, after = self._standing[1], self._lines(width)
        if len(before) != len(after):
            self.refresh(layout=True, repaint=False)
        for y, (was, now) in enumerate(zip_longest(before, after, fillvalue=())):
            if was != now:
                changed = changed_cells(was, now)
                end = width if changed is None else min(changed[1], width)
                self.refresh(Region(0, y, end, 1))

    def redraw(self) -> None:
        """Show what the last `show` describes, as it would be drawn now."""
        self.show(self._draw)

    def render(self) -> Text:
        """Return the lines as text that was never parsed."""
        width = self.content_size.width
        self._standing = width, self._lines(width)
        lines = self._standing[1]
        if self.has_class(PAST):
            lines = [tuple((said, as_past(role)) for said, role in line) for line in lines]
        return text(lines)

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:  # noqa: ARG002 - Textual's signature
        """Return how many lines there are at `width`."""
        return len(self._lines(width))

    def _lines(self, width: int) -> Sequence[Line]:
        if self._drawn is None or self._drawn[0] != width:
            self._drawn = (width, self._draw(width))
        return self._drawn[1]


class LineSheet(Sheet):
    """A sheet whose lines can be clicked."""

    class Clicked(Message):
        """A line was clicked; `twice` tells a double click."""

        def __init__(self, line: int, *, twice: bool) -> None:
            super().__init__()
            self.line = line
            self.twice = twice

    def on_click(self, event: events.Click) -> None:
        """Tell which line is under the mouse."""
        event.stop()
        self.post_message(self.Clicked(event.y, twice=event.chain > 1))


class PartSheet(Sheet):
    """A sheet with a line that names its parts, each a piece of its own; a click shows a part."""

    SHOWN: Final = "▸"
    """Stands before the name of the part that is shown."""

    class PartClicked(Message):
        """The name of a part was clicked; `shown` is the place of the one that is shown."""

        def __init__(self, part: int, *, shown: int) -> None:
            super().__init__()
            self.part = part
            self.shown = shown

    def on_click(self, event: events.Click) -> None:
        """Tell which part's name is under the mouse, if any."""
        lines = self._lines(self.content_size.width)
        if event.y >= len(lines):
            return
        pieces = [piece for piece, _ in lines[event.y]]
        shown = [place for place, piece in enumerate(pieces) if piece.startswith(self.SHOWN)]
        begin = 0
        for place, piece in enumerate(pieces):
            end = begin + cell_len(piece)
            if len(shown) == 1 and begin <= event.x < end:
                event.stop()
                self.post_message(self.PartClicked(place, shown=shown[0]))
            begin = end


def as_past(role: str) -> str:
    """Return the role in which what has `role` is shown of the past: no colour tells of now."""
    return role if role == RULE else MUTED


def _nothing(_width: int) -> Sequence[Line]:
    return ()
