"""The console in ASCII: one filter over everything that is drawn, so that no word changes.

Some glyphs are two cells wide in some terminals. Each is replaced by one ASCII character of its
own, so columns stay where they are.
"""

from typing import Final

from rich.segment import Segment
from textual.color import Color
from textual.filter import LineFilter

TABLE: Final = str.maketrans(
    {
        "○": "o", "●": "*", "✕": "x", "⊘": "-", "≠": "#", "◌": ".", "·": "~", "∅": "0",
        "↻": "r", "◐": "%", "▲": "^", "▼": "v", "▎": "+", "▌": "[", "▐": "]", "│": "|", "┃": "#",
        "─": "-", "━": "=", "╌": "-", "→": ">", "↓": "v", "↑": "^", "−": "-", "…": ".",
        "•": "x", "“": '"', "”": '"', "▁": "_", "▂": ".", "▃": ":", "▄": "-", "▅": "=",
        "▆": "+", "▇": "#", "█": "#", "╭": "+", "╮": "+", "╰": "+", "╯": "+", "—": "-", "–": "-",
        "µ": "u", "▸": ">",
    }
)  # fmt: skip


class AsciiFilter(LineFilter):
    """Replaces the console's glyphs; letters of any script in what others wrote stay."""

    def apply(self, segments: list[Segment], background: Color) -> list[Segment]:  # noqa: ARG002
        """Return the segments with each glyph replaced."""
        return [Segment(text.translate(TABLE), style, control) for text, style, control in segments]
