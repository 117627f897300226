"""The last line of every screen: where one can go, and the keys that matter here."""

from collections.abc import Callable

from rich.cells import cell_len
from textual import events

from kusanya_console.commands import Command
from kusanya_console.ui.format import Line, spread
from kusanya_console.ui.language import translate
from kusanya_console.ui.vocabulary import ACCENT, MUTED, PLAIN, STRONG, Run
from kusanya_console.widgets.box import Box
from kusanya_console.widgets.sheet import Sheet

_GAP = 2


class KeyBar(Sheet):
    """Keys and labels; a click runs the command.

    While a box is typed into it names the keys that are not typed, and the screens for the mouse.
    """

    def __init__(
        self, commands: tuple[Command, ...], *, here: str, shown: Callable[[Command], str]
    ) -> None:
        super().__init__()
        self._commands = commands
        self._shown = shown
        self._here = here
        self._places: list[tuple[int, int, str]] = []
        self.show(self._bar)

    def on_mount(self) -> None:
        """Name other keys where the focus goes into a box or leaves it."""
        self.watch(self.screen, "focused", self.redraw, init=False)

    async def on_click(self, event: events.Click) -> None:
        """Run the command whose label was clicked."""
        for begin, end, action in self._places:
            if begin <= event.x < end:
                await self.screen.run_action(action)

    def _bar(self, width: int) -> list[Line]:
        box = self.screen.focused
        return self._typing(box, width) if isinstance(box, Box) else self._free(width)

    def _typing(self, box: Box, width: int) -> list[Line]:
        by_id = {command.id: command for command in self._commands}
        leave, palette = by_id["view.back"], by_id["view.palette"]
        works = [
            f"enter {translate(box.ENTER)}",
            f"{self._shown(leave)} {translate(box.ESCAPE)}",
            f"{self._shown(palette)} {translate(palette.label)}",
        ]
        screens = [command for command in self._commands if command.id.startswith("go.")]
        named = sum(cell_len(translate(one.label)) + _GAP for one in screens) + 1
        if named + sum(cell_len(said) + _GAP for said in works) > width:
            works.pop()
        self._places = []
        line: list[Run] = [(" ", PLAIN)]
        at, most = 1, width - sum(cell_len(said) + _GAP for said in works)
        for command in screens:
            label = translate(command.label)
            end = at + cell_len(label)
            if end < most:
                line += [(label, self._role(command)), (" " * _GAP, PLAIN)]
                self._places.append((at, end, command.action))
                at = end + _GAP
        right: list[Run] = []
        for said in works:
            key, _, does = said.partition(" ")
            right += [(key, ACCENT), (f" {does}", MUTED), (" " * _GAP, PLAIN)]
        return [spread(line, right[:-1], width - 1)]

    def _role(self, command: Command) -> str:
        return STRONG if command.id == f"go.{self._here}" else MUTED

    def _free(self, width: int) -> list[Line]:
        screens = [command for command in self._commands if command.id.startswith("go.")]
        named = (command for command in self._commands if command.in_bar(self._here))
        ranked = sorted(named, key=lambda command: command.bar)
        shown = list(screens)
        for command in [*ranked[-2:], *ranked[:-2]]:  # help and palette before the rest
            if sum(self._wide(one) + _GAP for one in [*shown, command]) + 3 <= width:
                shown.append(command)
        right = [command for command in ranked if command in shown]
        self._places = []
        line: list[Run] = [(" ", PLAIN)]
        at = 1
        for command in screens:
            at = self._put(line, command, at)
        room = width - at - sum(self._wide(command) + _GAP for command in right) + _GAP - 2
        line.append((" " * max(room, 0), PLAIN))
        at += max(room, 0)
        for command in right:
            at = self._put(line, command, at)
        return [tuple(line)]

    def _put(self, line: list[Run], command: Command, at: int) -> int:
        line += [
            (self._shown(command), ACCENT),
            (f" {translate(command.label)}", self._role(command)),
            (" " * _GAP, PLAIN),
        ]
        end = at + self._wide(command)
        self._places.append((at, end, command.action))
        return end + _GAP

    def _wide(self, command: Command) -> int:
        return cell_len(self._shown(command)) + 1 + cell_len(translate(command.label))
