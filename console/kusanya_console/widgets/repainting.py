"""Which cells of a line differ from what stands on the terminal: nothing else is drawn again."""

from collections.abc import Iterable, Iterator
from itertools import zip_longest

from rich.cells import cell_len


def changed_cells(
    before: Iterable[tuple[object, ...]], after: Iterable[tuple[object, ...]]
) -> tuple[int, int] | None:
    """Return the first cell in which two lines differ and the one behind the last.

    A line is pieces of text, each with its style or role. One stretch a line: of several Textual
    writes what stands before each of them again.
    """
    differing = [
        place
        for place, (old, new) in enumerate(zip_longest(_cells(before), _cells(after)))
        if old != new
    ]
    return (differing[0], differing[-1] + 1) if differing else None


def _cells(line: Iterable[tuple[object, ...]]) -> Iterator[tuple[str, object]]:
    """Yield what stands in each cell; a letter of two cells stands in the first of them."""
    for said, style, *_ in line:
        text = str(said)
        if text.isascii():
            for letter in text:
                yield letter, style
            continue
        for letter in text:
            wide = cell_len(letter)
            if wide:
                yield letter, style
            yield from ((("", style),) * (wide - 1))
