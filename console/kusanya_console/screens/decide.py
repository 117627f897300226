"""The dialog of a decision: what became of a creation, and how the person knows.

The intent was fixed when the dialog opened. A decision names a collection or says that nothing was
created; it needs a reason, and in LIVE MODE the word `live`.
"""

import msgspec
from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Button, Input

from kusanya.wire import Mode, is_collection_id
from kusanya_console.present import Line, labelled, wrapped
from kusanya_console.widgets.box import Box
from kusanya_console.widgets.sheet import Sheet
from kusanya_console.words import MUTED, STRONG, WARN, Run, mode_words

_NOTHING = "nothing"
_WORD = "live"
_WHY_LONGEST = 300
_ID_LONGEST = 120
_WARNING = (
    "Nothing is sent to the service. The creation counts as settled from now on, under your name: "
    "compare the network's statement first."
)


class Decided(msgspec.Struct, frozen=True):
    """What a person found out."""

    collection_id: str | None
    """None says that nothing was created."""
    why: str


class DecideScreen(ModalScreen[Decided]):
    """Asks what became of a creation; dismissed with None it decides nothing."""

    BINDINGS = [("escape", "dismiss(None)", "Cancel.")]  # noqa: RUF012 - Textual reads it

    def __init__(self, facts: tuple[tuple[str, Run], ...], *, mode: Mode) -> None:
        super().__init__()
        self._facts = facts
        self._mode = mode

    def compose(self) -> ComposeResult:
        """Lay out the record, the questions, and the two ways out."""
        with Vertical(classes="dialog"):
            yield Sheet(id="record")
            yield self._box("became", "col_… that it became, or the word nothing", _ID_LONGEST)
            yield self._box("why", "what you saw, and where", _WHY_LONGEST)
            if self._mode is Mode.LIVE:
                yield self._box("word", "type live", len(_WORD))
            with Horizontal():
                yield Button(Content("Cancel"), id="cancel")
                yield Button(Content("Decide"), id="do", disabled=True, variant="warning")

    def _box(self, name: str, placeholder: str, longest: int) -> Input:
        box = Box(id=name, placeholder=placeholder, max_length=longest, select_on_focus=False)
        box.cursor_blink = False
        return box

    def on_mount(self) -> None:
        """Begin with what it became."""
        self.query_one("#record", Sheet).show(self._lines)
        self.query_one("#became", Input).focus()

    def _lines(self, width: int) -> list[Line]:
        word, role = mode_words(self._mode)
        lines: list[Line] = [
            (("Decide this creation", STRONG),),
            (),
            labelled("mode", (word, role)),
        ]
        lines += [labelled(label, run) for label, run in self._facts]
        lines += [(), *wrapped(_WARNING, width, role=WARN), ()]
        return [*lines, (("tab and enter go on · esc cancels", MUTED),)]

    def _said(self, name: str) -> str:
        return self.query_one(f"#{name}", Input).value.strip()

    def _decided(self) -> Decided | None:
        became, why = self._said("became"), self._said("why")
        confirmed = self._mode is not Mode.LIVE or self._said("word") == _WORD
        if not confirmed or not why or not (became == _NOTHING or is_collection_id(became)):
            return None
        return Decided(None if became == _NOTHING else became, why)

    def on_input_changed(self, message: Input.Changed) -> None:
        """Let it be decided once everything stands there."""
        message.stop()
        self.query_one("#do", Button).disabled = self._decided() is None

    def on_input_submitted(self, message: Input.Submitted) -> None:
        """Decide with the last answer, or go on to the next question."""
        message.stop()
        decided = self._decided()
        if decided is not None:
            self.dismiss(decided)
        else:
            self.focus_next(Input)

    def on_button_pressed(self, message: Button.Pressed) -> None:
        """Leave with the decision, or without."""
        message.stop()
        self.dismiss(self._decided() if message.button.id == "do" else None)
