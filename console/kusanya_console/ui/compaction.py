"""Fewer bytes to the terminal for the same picture: of a style only what changes is sent.

Rich writes every piece of text with its whole style before it and a reset behind it, Textual every
line with an end of its own although a move follows. On a screen of a hundred pieces that is four
fifths of what goes down the line.
"""

import re
from functools import lru_cache
from typing import Final

import msgspec

_PARTS: Final = re.compile(r"(\x1b\[[0-9;]*[mH])")
"""Styles and moves of the cursor; between them stands what is drawn in the style."""
_IDLE: Final = re.compile(r"(?:\n|\x1b\[[0-9;]*H)(?=(?:\x1b\[[0-9;]*m)*\x1b\[[0-9]+;[0-9]+H)")
"""The end of a line, or a move, right before a move: nothing is drawn between them."""
_NUMBERS: Final = re.compile(r"[34]8;5;[0-9]+|[34]8;2;[0-9]+;[0-9]+;[0-9]+|[0-9]+")
_LETTERS: Final = re.compile(r"38;.*|3[0-79]|9[0-7]")
_BEHIND: Final = re.compile(r"48;.*|4[0-79]|10[0-7]")
_ATTRIBUTES: Final = frozenset("123456789") | {"21", "51", "52", "53"}
_SEEN: Final = 1_024
"""So many styles are remembered; a theme has some dozens."""


class _Style(msgspec.Struct, frozen=True):
    letters: str = ""
    behind: str = ""
    attributes: frozenset[str] = frozenset()


_PLAIN: Final = _Style()


def compact(text: str) -> str:
    """Return what draws the same picture, whatever style the terminal has when it comes."""
    written: list[str] = []
    sent: _Style | None = None  # None where the terminal's own style is not known
    wanted: _Style | None = None
    for place, part in enumerate(_PARTS.split(_IDLE.sub("", text))):
        if place % 2 == 0:
            if part and wanted is not None and not _looks_alike(part, sent, wanted):
                written.append(_change(sent, wanted))
                sent = wanted
            written.append(part)
        elif part.endswith("H"):
            written.append(part)  # a move draws nothing
        else:
            numbers = part[2:-1]
            style = _PLAIN if numbers in {"", "0"} else _added(wanted, numbers)
            if style is None:  # it adds to what is not known, or says what is not known here
                if wanted is not None and wanted != sent:
                    written.append(_change(sent, wanted))
                written.append(part)
                sent = None
            wanted = style
    if wanted is not None and wanted != sent:
        written.append(_change(sent, wanted))
    return "".join(written)


def _looks_alike(part: str, sent: _Style | None, wanted: _Style) -> bool:
    """Say whether a piece looks the same in both styles: in blanks no colour of letters shows."""
    if sent is None or sent == wanted:
        return sent is not None
    plain = not sent.attributes and not wanted.attributes
    return plain and sent.behind == wanted.behind and not part.strip(" ")


@lru_cache(_SEEN)
def _added(style: _Style | None, numbers: str) -> _Style | None:
    """Return a style with the numbers of a sequence added; None where that is not known."""
    if style is None:
        return None
    letters, behind, attributes = style.letters, style.behind, style.attributes
    found: list[str] = _NUMBERS.findall(numbers)
    if ";".join(found) != numbers:
        return None
    for number in found:
        if _LETTERS.fullmatch(number):
            letters = "" if number == "39" else number
        elif _BEHIND.fullmatch(number):
            behind = "" if number == "49" else number
        elif number in _ATTRIBUTES:
            attributes |= {number}
        else:
            return None
    return _Style(letters, behind, attributes)


@lru_cache(_SEEN)
def _change(sent: _Style | None, wanted: _Style) -> str:
    """Return the shortest sequence known here that goes from one style to another."""
    anew = sent is None or not sent.attributes <= wanted.attributes
    before = _PLAIN if sent is None or anew else sent
    numbers = ["0"] if anew else []
    numbers += sorted(wanted.attributes - before.attributes)
    if wanted.letters != before.letters:
        numbers.append(wanted.letters or "39")
    if wanted.behind != before.behind:
        numbers.append(wanted.behind or "49")
    return f"\x1b[{';'.join(numbers)}m"
