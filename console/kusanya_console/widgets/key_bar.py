"""The last line of every screen: where one can go, and the keys that matter here."""

from collections.abc import Callable

from rich.cells import cell_len
from textual import events

from kusanya_console.commands import Command
from kusanya_console.ui.format import Line
from kusanya_console.ui.language import translate
from kusanya_console.ui.vocabulary import ACCENT, MUTED, PLAIN, STRONG, Run
from kusanya_console.widgets.sheet import Sheet

_GAP = 2


class KeyBar(Sheet):
    """Keys and labels; a click runs the command."""

    def __init__(
        self, commands: tuple[Command, ...], *, here: str, shown: Callable[[Command], str]
    ) -> None:
        super().__init__()
        self._commands = commands
        self._shown = shown
        self._here = here
        self._places: list[tuple[int, int, str]] = []
        self.show(self._bar)

    async def on_click(self, event: events.Click) -> None:
        """Run the command whose label was clicked."""
        for begin, end, action in self._places:
            if begin <= event.x < end:
                await self.screen.run_action(action)

    def _bar(self, width: int) -> list[Line]:
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
        here = command.id == f"go.{self._here}"
        line += [
            (self._shown(command), ACCENT),
            (f" {translate(command.label)}", STRONG if here else MUTED),
            (" " * _GAP, PLAIN),
        ]
        end = at + self._wide(command)
        self._places.append((at, end, command.action))
        return end + _GAP

    def _wide(self, command: Command) -> int:
        return cell_len(self._shown(command)) + 1 + cell_len(translate(command.label))
