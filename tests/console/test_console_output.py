"""What goes down the line to the terminal: the same picture in fewer bytes."""

import random
import re
from typing import Any

import pytest
from rich.color import ColorSystem
from rich.segment import Segment
from rich.style import Style
from tests.console.looking import shown, ticked
from textual._compositor import Compositor
from textual.app import App, ComposeResult
from textual.geometry import Region
from textual.strip import Strip
from textual.widget import Widget

from kusanya_console.ui.compaction import compact
from kusanya_console.ui.format import Line
from kusanya_console.widgets.repainting import changed_cells
from kusanya_console.widgets.sheet import Draw, Sheet

_TOKEN = re.compile(r"(\x1b\[([0-9;]*)([mH])|\x1b\[\?[0-9]+[hl]|\x1b\][^\x07]*\x07|.)", re.DOTALL)
_STYLES = (
    "", "bold", "underline red", "#8f999f on #111518", "#d5d8da on #111518", "bold #f0727b",
    "color(9) on color(200)", "reverse", "dim italic", "bright_black", "on bright_red",
)  # fmt: skip


class _Terminal:
    """Draws letters where the cursor stands, each in the style that was told before it."""

    def __init__(self) -> None:
        self.style: dict[str, str] = {}
        self.at = (1, 1)
        self.picture: dict[tuple[int, int], tuple[str, tuple[tuple[str, str], ...]]] = {}
        self.obeyed: list[str] = []

    def take(self, text: str) -> None:
        for whole, numbers, kind in _TOKEN.findall(text):
            if kind == "m":
                self._set(numbers or "0")
            elif kind == "H":
                line, _, column = numbers.partition(";")
                self.at = int(line), int(column)
            elif whole == "\n":
                self.at = self.at[0] + 1, 1
            elif len(whole) > 1:
                self.obeyed.append(whole)
            else:
                self._draw(whole)

    def _draw(self, letter: str) -> None:
        # The colour of letters is not seen in a blank, unless something is drawn with it there.
        unseen = letter == " " and not any(name.startswith("a") for name in self.style)
        style = {name: said for name, said in self.style.items() if not (unseen and name == "0")}
        self.picture[self.at] = letter, tuple(sorted(style.items()))
        self.at = self.at[0], self.at[1] + 1

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


def _drawn(*texts: str) -> Any:
    terminal = _Terminal()
    for text in texts:
        terminal.take(text)
    return terminal.picture, terminal.obeyed


def _written(rng: random.Random) -> str:
    parts = []
    for _ in range(rng.randrange(1, 30)):
        style = Style.parse(rng.choice(_STYLES))
        word = rng.choice(
            ["", "x", "INV-48 ", "  ", "漢字", "\x1b[?2026h", "\n", "\x1b]22;default\x07"]
        )
        parts.append(style.render(word, color_system=ColorSystem.TRUECOLOR))
        if rng.random() < 0.3:
            parts.append(f"\x1b[{rng.randrange(1, 40)};{rng.randrange(1, 120)}H")
        if rng.random() < 0.05:
            parts.append(rng.choice(["\x1b[7m", "\x1b[0m", "\x1b[38;5;9m", "\x1b[22m", "\x1b[m"]))
    return "".join(parts)


@pytest.mark.parametrize("seed", range(40))
def test_every_letter_keeps_its_place_and_style_whatever_was_written_before(seed: int) -> None:
    rng = random.Random(seed)  # noqa: S311 - chance for a test
    written = [_written(rng) for _ in range(6)]
    assert _drawn(*map(compact, written)) == _drawn(*written)


def test_a_line_of_a_list_costs_less_than_half() -> None:
    muted, plain = Style.parse("#8f999f on #111518"), Style.parse("#d5d8da on #111518")
    said = ("15:23:34 ", "INV-482928", "M-Pesa      ", "    25,000", "   325", "○ created   ")
    cells = [(text, muted if place in {0, 4, 5} else plain) for place, text in enumerate(said)]
    pieces = [piece for text, style in cells for piece in ((text, style), ("  ", plain))]
    line = "".join(style.render(text, color_system=ColorSystem.TRUECOLOR) for text, style in pieces)
    assert len(compact(line)) < len(line) / 2


def test_an_end_of_a_line_and_a_move_before_a_move_are_not_sent() -> None:
    written = "\x1b[3;1Hone\n\x1b[9;9H\x1b[4;1Htwo\n"
    assert compact(written) == "\x1b[3;1Hone\x1b[4;1Htwo\n"


def test_blanks_need_their_ground_and_no_colour_of_letters() -> None:
    muted, plain, loud = "38;5;8;48;5;16", "38;5;7;48;5;16", "38;5;7;48;5;9"
    word = f"\x1b[0m\x1b[{muted}ma\x1b[0m"
    assert compact(f"{word}\x1b[{plain}m  \x1b[0m\x1b[{muted}mb") == f"\x1b[0;{muted}ma  b"
    assert compact(f"{word}\x1b[{loud}m  ") == f"\x1b[0;{muted}ma\x1b[38;5;7;48;5;9m  "
    underlined = compact(f"{word}\x1b[4;{muted}m  ")
    assert underlined == f"\x1b[0;{muted}ma\x1b[4m  ", "a line under blanks is seen"


class _Sheets(App[None]):
    CSS = "Sheet { height: auto; text-wrap: nowrap; text-overflow: ellipsis; }"

    def compose(self) -> ComposeResult:
        yield Sheet()


def _any_line(rng: random.Random) -> Line:
    words = ("INV-482928", "succeeded ", "", " ", "漢字", "Z\u0301", "x" * 25)
    return tuple((rng.choice(words), rng.choice(["", "bold"])) for _ in range(rng.randrange(4)))


def _drawing(lines: list[Line]) -> Draw:
    return lambda _width: lines


def _stands(app: App[None]) -> list[list[tuple[str, bool]]]:
    return [
        [(letter, bool(letter != " " and piece.style and piece.style.bold))
         for piece in line for letter in piece.text]
        for line in app.screen._compositor.render_strips()
    ]  # fmt: skip


@pytest.mark.anyio
@pytest.mark.parametrize("seed", range(5))
async def test_a_sheet_that_draws_only_what_changes_shows_all_of_it(seed: int) -> None:
    rng = random.Random(seed)  # noqa: S311 - chance for a test
    lines: list[Line] = [_any_line(rng) for _ in range(4)]
    app = _Sheets()
    async with app.run_test(size=(30, 8)) as pilot:
        sheet = app.query_one(Sheet)
        for _ in range(30):
            lines = [line if rng.random() < 0.7 else _any_line(rng) for line in lines]
            lines = [*lines, ()][: rng.randrange(3, 6)]
            sheet.show(_drawing(lines))
            await pilot.pause()
            changed = _stands(app)
            sheet.refresh(layout=True)
            await pilot.pause()
            assert changed == _stands(app)


@pytest.mark.anyio
async def test_a_sheet_draws_no_line_again_that_stands_there(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    app, drawn = _Sheets(), []
    async with app.run_test(size=(30, 8)) as pilot:
        sheet = app.query_one(Sheet)
        sheet.show(lambda _width: [(("first", ""),), (("count 1", ""),)])
        await pilot.pause()
        _stands(app)
        refresh = Widget.refresh

        def noted(self: Widget, *regions: Any, **how: Any) -> Widget:
            drawn.extend([regions, *how] if self is sheet else [])
            return refresh(self, *regions, **how)

        monkeypatch.setattr(Widget, "refresh", noted)
        sheet.show(lambda _width: [(("first", ""),), (("count 2", ""),)])
        assert drawn == [((0, 1, 7, 1),)]


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


@pytest.mark.anyio
async def test_what_a_notice_covered_is_drawn_again_when_it_has_gone(
    opened: Any, seed: Any, at_rest: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    seed.busy(5)
    draw = Compositor.render_update
    drawn: list[Region] = []

    def drawing(compositor: Compositor, full: bool = False, **how: Any) -> Any:
        if not full:  # a test draws all of it at its end, a terminal does not
            drawn.extend(compositor._dirty_regions)
        return draw(compositor, full=full, **how)

    monkeypatch.setattr(Compositor, "render_update", drawing)
    async with opened("5", size=(80, 24), notifications=True) as (app, pilot):
        await pilot.press("q")
        await ticked(pilot, at_rest)
        notice = app.screen.query_one("Toast")
        covered = notice.region
        assert "once more leaves the console" in shown(app)
        drawn.clear()
        # Only where a widget in a hidden pane changes in the same turn was its place forgotten.
        app.screen.query_one("#card").refresh()
        notice.parent.remove()
        await ticked(pilot, at_rest)
        await ticked(pilot, at_rest)
        assert not app.screen.query("Toast")
        assert any(one.contains_region(covered) for one in drawn)
