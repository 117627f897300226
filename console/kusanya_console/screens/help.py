"""The keys of the screen under it, each with what it does, in the order in which one needs them."""

from collections.abc import Callable
from typing import Final

from textual.app import ComposeResult
from textual.containers import VerticalScroll
from textual.screen import ModalScreen

from kusanya_console.commands import Command, CommandKind, commands_of
from kusanya_console.screens.base import Grammar
from kusanya_console.ui.format import Line, fit, rule, wrapped
from kusanya_console.ui.language import translate
from kusanya_console.ui.vocabulary import ACCENT, MUTED, PLAIN, STRONG
from kusanya_console.widgets.sheet import Sheet

_KEYS = 8
_LABEL = 20
_BESIDE = _KEYS + _LABEL
_HEADINGS: Final = {
    "this screen": (),
    "the detail": ("pane.",),
    "copy": ("copy.",),
    "ask and act": ("ask.", "act."),
    "the console": ("view.", "app."),
    "screens": ("go.",),
}
"""What is listed under each, by how ids begin; the first has every other command."""


def _heading(command: Command) -> str:
    named = (heading for heading, prefixes in _HEADINGS.items() if command.id.startswith(prefixes))
    return next(named, "this screen")


class HelpScreen(ModalScreen[None]):
    """A list that any of the keys it names for leaving closes."""

    BINDINGS = [  # noqa: RUF012 - Textual reads it
        ("escape,question_mark,enter", "dismiss", "Close the help."),
        ("j,down", "scroll(1)", "Scroll down."),
        ("k,up", "scroll(-1)", "Scroll up."),
        ("pagedown,space", "page(1)", "Scroll a page down."),
        ("pageup", "page(-1)", "Scroll a page up."),
    ]

    def __init__(
        self,
        name: str,
        title: str,
        *,
        grammar: Grammar,
        disabled_reason: Callable[[Command], str],
        shown: Callable[[Command], str],
    ) -> None:
        super().__init__()
        self._grammar = grammar
        self._disabled_reason = disabled_reason
        self._shown = shown
        self._of = name
        self._title = title

    def compose(self) -> ComposeResult:
        """Lay out the list."""
        with VerticalScroll(can_focus=False):
            yield Sheet(id="keys")

    def on_mount(self) -> None:
        """Fill the list."""
        self.query_one("#keys", Sheet).show(self._lines)

    def action_scroll(self, by: int) -> None:
        """Scroll the list."""
        self.query_one(VerticalScroll).scroll_relative(y=by, animate=False)

    def action_page(self, by: int) -> None:
        """Scroll by as many lines as are visible, less one to read on from."""
        shown = self.query_one(VerticalScroll)
        self.action_scroll(by * max(shown.scrollable_content_region.height - 1, 1))

    def _lines(self, width: int) -> list[Line]:
        title = translate("Keys of {screen}", screen=translate(self._title))
        lines: list[Line] = [
            ((title, STRONG), (f"      {translate('j k scroll   esc closes')}", MUTED))
        ]
        mine = commands_of(self._of)
        for heading in _HEADINGS:
            named = [command for command in mine if _heading(command) == heading]
            if named:
                lines += [(), rule(heading, width)]
            for command in named:
                lines += self._command(command, width)
        if self._grammar:
            lines += [(), rule("what the filter reads", width)]
            for example, said in self._grammar:
                explained = wrapped(translate(said), width, indent=_BESIDE)
                lines += [((fit(example, _BESIDE), ACCENT), *explained[0][1:]), *explained[1:]]
        return lines

    def _command(self, command: Command, width: int) -> list[Line]:
        said = wrapped(translate(command.sentence), width, indent=_BESIDE)
        keys = self._shown(command) or "^p"
        head = ((fit(keys, _KEYS), ACCENT), (fit(translate(command.label), _LABEL), PLAIN))
        lines: list[Line] = [(*head, *said[0][1:]), *said[1:]]
        why = self._disabled_reason(command)
        if command.kind is not CommandKind.LOOK and why:
            lines += wrapped(translate(why), width, indent=_BESIDE, role=MUTED)
        return lines
