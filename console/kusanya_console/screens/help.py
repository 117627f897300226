"""The keys of the screen under it, with what each one does."""

from collections.abc import Callable

from textual.app import ComposeResult
from textual.containers import VerticalScroll
from textual.screen import ModalScreen

from kusanya_console.commands import Command, commands_of
from kusanya_console.present import Line, fit, wrapped
from kusanya_console.widgets.sheet import Sheet
from kusanya_console.words import ACCENT, MUTED, PLAIN, STRONG

_KEYS = 8
_LABEL = 20


class HelpScreen(ModalScreen[None]):
    """A list that any of the keys it names for leaving closes."""

    BINDINGS = [("escape,question_mark,enter", "dismiss", "Close the help.")]  # noqa: RUF012 - Textual reads it

    def __init__(self, name: str, title: str, *, why_off: Callable[[Command], str]) -> None:
        super().__init__()
        self._why_off = why_off
        self._of = name
        self._title = title

    def compose(self) -> ComposeResult:
        """Lay out the list."""
        with VerticalScroll():
            yield Sheet(id="keys")

    def on_mount(self) -> None:
        """Fill the list."""
        self.query_one("#keys", Sheet).show(self._lines)

    def _lines(self, width: int) -> list[Line]:
        lines: list[Line] = [((f"Keys of {self._title}", STRONG), ("      esc closes", MUTED)), ()]
        for command in commands_of(self._of):
            said = wrapped(command.sentence, width, indent=_KEYS + _LABEL)
            head = ((fit(command.shown, _KEYS), ACCENT), (fit(command.label, _LABEL), PLAIN))
            lines.append((*head, *said[0][1:]))
            lines += said[1:]
            why = self._why_off(command)
            if why:
                lines += wrapped(why, width, indent=_KEYS + _LABEL, role=MUTED)
        return lines
