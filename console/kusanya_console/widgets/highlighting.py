"""What a filter or a search has met in a cell: where it stands in the text that is shown."""

import re
from collections.abc import Mapping, Sequence
from typing import Final

import msgspec

from kusanya_console.ui.vocabulary import MATCH, Run

_CUT: Final = "…"


class Needle(msgspec.Struct, frozen=True):
    """A text that is looked for, in any case; of a phone only its end is shown and can be met."""

    text: str
    at_end: bool = False


Needles = Mapping[str, Sequence[Needle]]
"""What is looked for, by the filter's keys."""


def split(shown: str, whole: str, role: str, needles: Sequence[Needle]) -> list[Run]:
    """Return a cell in pieces, those that were met with the role of a match beside their own.

    `shown` is `whole` as it fits: the mark of a cut stands for what was met and is cut away.
    """
    marked = sorted(span for needle in needles for span in _spans(shown, whole, needle))
    pieces: list[Run] = []
    at = 0
    for begin, end in marked:
        if begin >= at:
            pieces += [(shown[at:begin], role), (shown[begin:end], f"{role} {MATCH}".strip())]
            at = end
    pieces.append((shown[at:], role))
    return [piece for piece in pieces if piece[0]]


def _spans(shown: str, whole: str, needle: Needle) -> list[tuple[int, int]]:
    if not needle.text:
        return []
    if needle.at_end:
        end = len(shown.rstrip())
        begin = end - len(needle.text)
        return [(begin, end)] if shown[begin:end] == needle.text else []
    found = [one.span() for one in re.finditer(re.escape(needle.text), shown, re.IGNORECASE)]
    if found or not re.search(re.escape(needle.text), whole, re.IGNORECASE):
        return found
    cut = shown.find(_CUT)
    return [(cut, cut + 1)] if cut >= 0 else []
