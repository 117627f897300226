"""What goes down the line to the terminal: the same picture in fewer bytes."""

import random
import re
from typing import Any

import pytest
from rich.color import ColorSystem
from rich.segment import Segment
from rich.style import Style
from textual.strip import Strip

from kusanya_console.ui.compaction import compact
from kusanya_console.widgets.repainting import changed_cells

_TOKEN = re.compile(r"\x1b\[([0-9;]*)([mH])|([^\x1b]|\x1b(?!\[[0-9;]*[mH]))", re.DOTALL)
_STYLES = (
    "", "bold", "underline red", "#7d878e on #111518", "#d5d8da on #111518", "bold #f0727b",
    "color(9) on color(200)", "reverse", "dim italic", "bright_black", "on bright_red",
)  # fmt: skip


class _Terminal:
    """Draws letters, each with every attribute that it was told since the last reset."""

    def __init__(self) -> None:
        self.style: dict[str, str] = {}
        self.drawn: list[tuple[str, tuple[tuple[str, str], ...]]] = []

    def take(self, text: str) -> None:
        for numbers, kind, letter in _TOKEN.findall(text):
            if kind == "m":
                self._set(numbers or "0")
            else:
                told = tuple(sorted(self.style.items()))
                self.drawn.append((f"go {numbers}", ()) if kind else (letter, told))

    def _set(self, numbers: str) -> None:
        parts = re.findall(r"[34]8;(?:5;\d+|2;\d+;\d+;\d+)|\d+", numbers)
        for part in parts:
            number = int(part.partition(";")[0])
            if number == 0:
                self.style.clear()
            elif number in {39, 49}:
                self.style.pop(f"{number - 39}", None)
            elif 30 <= number < 40 or 90 <= number < 98:
                self.style["0"] = part
            elif 40 <= number < 50 or 100 <= number < 108:
                self.style["10"] = part
            else:
                self.style[f"a{number}"] = ""


def _drawn(*texts: str) -> list[Any]:
    terminal = _Terminal()
    for text in texts:
        terminal.take(text)
    return terminal.drawn


def _written(rng: random.Random) -> str:
    parts = []
    for _ in range(rng.randrange(1, 30)):
        style = Style.parse(rng.choice(_STYLES))
        word = rng.choice(
            ["", "x", "INV-48 ", "漢字", "\x1b[?2026h", "\r\n", "\x1b]22;default\x07"]
        )
        parts.append(style.render(word, color_system=ColorSystem.TRUECOLOR))
        if rng.random() < 0.3:
            parts.append(f"\x1b[{rng.randrange(1, 40)};{rng.randrange(1, 120)}H")
        if rng.random() < 0.05:
            parts.append(rng.choice(["\x1b[7m", "\x1b[0m", "\x1b[38;5;9m", "\x1b[22m", "\x1b[m"]))
    return "".join(parts)


@pytest.mark.parametrize("seed", range(40))
def test_every_letter_keeps_its_style_whatever_was_written_before(seed: int) -> None:
    rng = random.Random(seed)  # noqa: S311 - chance for a test
    written = [_written(rng) for _ in range(6)]
    assert _drawn(*map(compact, written)) == _drawn(*written)


def test_a_line_of_a_list_costs_less_than_half() -> None:
    muted, plain = Style.parse("#7d878e on #111518"), Style.parse("#d5d8da on #111518")
    said = ("15:23:34 ", "INV-482928", "M-Pesa      ", "    25,000", "   325", "○ created   ")
    cells = [(text, muted if place in {0, 4, 5} else plain) for place, text in enumerate(said)]
    pieces = [piece for text, style in cells for piece in ((text, style), ("  ", plain))]
    line = "".join(style.render(text, color_system=ColorSystem.TRUECOLOR) for text, style in pieces)
    assert len(compact(line)) < len(line) / 2


def _strip(*pieces: tuple[str, str]) -> Strip:
    return Strip([Segment(text, Style.parse(style)) for text, style in pieces])


def test_only_the_cells_that_differ_are_drawn_again() -> None:
    before = _strip(("15:23:34  ", "dim"), ("INV-482928  ", ""), ("succeeded", ""))
    assert changed_cells(before, before) is None
    second = _strip(("15:23:35  ", "dim"), ("INV-482928  ", ""), ("succeeded", ""))
    assert changed_cells(before, second) == (7, 8)
    both = _strip(("15:23:35  ", "dim"), ("ING-482928  ", ""), ("succeeded", ""))
    assert changed_cells(before, both) == (7, 13)
    red = _strip(("15:23:34  ", "dim"), ("INV-482928  ", ""), ("succeeded", "red"))
    assert changed_cells(before, red) == (22, 31)


def test_letters_of_two_cells_count_as_two() -> None:
    before, after = _strip(("漢字ab" + " " * 20 + "x", "")), _strip(("漢字ac" + " " * 20 + "y", ""))
    assert changed_cells(before, after) == (5, 27)
