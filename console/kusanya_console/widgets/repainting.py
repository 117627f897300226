"""Which cells of a line differ from what stands on the terminal: nothing else is drawn again."""

from collections.abc import Iterator

from rich.cells import cell_len
from rich.style import Style
from textual.strip import Strip


def changed_cells(before: Strip, after: Strip) -> tuple[int, int] | None:
    """Return the first cell in which two lines of one width differ and the one behind the last.

    One stretch a line: of several Textual writes what stands before each of them again.
    """
    differing = [
        place
        for place, (old, new) in enumerate(zip(_cells(before), _cells(after), strict=False))
        if old != new
    ]
    return (differing[0], differing[-1] + 1) if differing else None


def _cells(strip: Strip) -> Iterator[tuple[str, Style | None]]:
    """Yield what stands in each cell; a letter of two cells stands in the first of them."""
    for segment in strip:
        if segment.text.isascii():
            for letter in segment.text:
                yield letter, segment.style
            continue
        for letter in segment.text:
            wide = cell_len(letter)
            if wide:
                yield letter, segment.style
            yield from ((("", segment.style),) * (wide - 1))
