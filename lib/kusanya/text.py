"""Text from outside, made safe to show.

Everything that came over the wire may hold terminal escapes, bidirectional overrides or invisible
characters. It is kept exactly as it came and cleaned where it is shown, by one function.
"""

import re
import unicodedata
from typing import Final

_NAMED: Final = {
    0x07: "␇",
    0x08: "␈",
    0x09: "→",
    0x0A: "⏎",
    0x0B: "␋",
    0x0C: "␌",
    0x0D: "␍",
    0x1B: "␛",
    0x7F: "␡",
}
_HIDDEN_CATEGORIES: Final = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp", "Zs"})
_BLANK: Final = frozenset(
    {0x034F, 0x115F, 0x1160, 0x17B4, 0x17B5, 0x2800, 0x3164, 0xFFA0, 0x16FE4, 0x1D159}
    | {0x180B, 0x180C, 0x180D, 0x180F, *range(0xFE00, 0xFE10), *range(0xE0100, 0xE01F0)}
)
"""Letters, marks and symbols that draw nothing: joiners, fillers, variation selectors, blanks."""
_PLAIN: Final = re.compile(r"[ -~]*")
_UNSEEN: Final = re.compile(
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f"
    "\u3164\ufe00-\ufe0f\ufeff\uffa0\U000e0000-\U000e0fff]+"
)
_BLANKS: Final = re.compile("[\u00a0\u1680\u2000-\u200a\u202f\u205f\u2800\u3000]")
_COMBINING_KEPT: Final = 2
"""More marks than this on one letter draw over the neighbouring lines."""
DEFAULT_LIMIT: Final = 256


def safe(text: str, limit: int = DEFAULT_LIMIT) -> str:
    """Return `text` with everything invisible or active made visible, cut to `limit` characters.

    Control, format, surrogate, private and unassigned characters, those that draw nothing and every
    blank but the usual space become a visible mark (␛, ⏎, or the code point as ⟨202E⟩); at most two
    combining marks stay in a row; a cut ends in …. The result is one line and holds no character
    that a terminal acts on. Markup is not this function's concern: callers never parse its result.
    """
    if _PLAIN.fullmatch(text) is not None:
        return text if len(text) <= limit else f"{text[: max(limit - 1, 0)]}…"
    shown: list[str] = []
    length = marks = 0
    for character in text[: limit + 1]:
        category = unicodedata.category(character)
        if character != " " and (category in _HIDDEN_CATEGORIES or ord(character) in _BLANK):
            piece, marks = _mark(character), 0
        elif category in {"Mn", "Me"}:
            marks += 1
            piece = character if marks <= _COMBINING_KEPT else ""
        else:
            piece, marks = character, 0
        shown.append(piece)
        length += len(piece)
        if length > limit:
            break
    result = "".join(shown)
    if length > limit or len(text) > limit:
        return f"{result[: max(limit - 1, 0)]}…"
    return result


def plain(text: str) -> str:
    """Return `text` without characters that draw nothing, and with every blank as the usual one.

    For what a person copied from elsewhere and a program compares: two texts that look alike are
    alike. What is seen of it stays as it is; tabs and ends of lines stay too.
    """
    return text if text.isascii() else _BLANKS.sub(" ", _UNSEEN.sub("", text))


def shorten(text: str, limit: int) -> str:
    """Return `text` in at most `limit` characters: its begin and its end, … for what is between."""
    if len(text) <= limit:
        return text
    end = (limit - 1) // 2
    return f"{text[: limit - 1 - end]}…{text[len(text) - end :]}"


def _mark(character: str) -> str:
    code = ord(character)
    return _NAMED.get(code) or f"⟨{code:04X}⟩"


def claimed(text: str, *, who: str, actor: str) -> str:
    """Return a text with the name that a caller gave itself, where the store knows another."""
    return text if actor.strip() in {"", who} else f"{text} (as {actor})".lstrip()
