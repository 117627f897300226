"""A widget that shows lines: what it shows is a function of its width, made by `present`."""

from collections.abc import Callable, Sequence
from typing import Final

from rich.cells import cell_len
from rich.text import Text
from textual import events
from textual.geometry import Size
from textual.message import Message
from textual.widget import Widget

from kusanya_console.ui.format import Line, text

Draw = Callable[[int], Sequence[Line]]


class Sheet(Widget):
    """Shows the lines that its last `show` describes, for whatever width it is given."""

    def __init__(self, *, id: str | None = None, classes: str | None = None) -> None:  # noqa: A002
        super().__init__(id=id, classes=classes)
        self._draw: Draw = _nothing
        self._drawn: tuple[int, Sequence[Line]] | None = None

    def show(self, draw: Draw) -> None:
        """Show what `draw` returns; nothing is redrawn when that is what stands there already."""
        before = self._drawn
        self._draw, self._drawn = draw, None
        if before is None or self._lines(before[0]) != before[1]:
            self.refresh(layout=before is None or len(self._lines(before[0])) != len(before[1]))

    def redraw(self) -> None:
        """Show what the last `show` describes, as it would be drawn now."""
        self.show(self._draw)

    def render(self) -> Text:
        """Return the lines as text that was never parsed."""
        return text(self._lines(self.content_size.width))

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


def _nothing(_width: int) -> Sequence[Line]:
    return ()
