"""Which cells of a line differ from what stands on the terminal: nothing else is sent to it."""

from collections.abc import Iterator
from typing import Final

from rich.cells import cell_len
from rich.style import Style
from textual.strip import Strip

_CLOSE: Final = 8
"""Cells between two changes that cost less than going past them does."""


def changed_spans(before: Strip, after: Strip) -> list[tuple[int, int]]:
    """Return where two lines of one width differ, as first cells and those just behind."""
    spans: list[tuple[int, int]] = []
    for place, (old, new) in enumerate(zip(_cells(before), _cells(after), strict=False)):
        if old == new:
            continue
        if spans and place - spans[-1][1] < _CLOSE:
            spans[-1] = (spans[-1][0], place + 1)
        else:
            spans.append((place, place + 1))
    return spans


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
