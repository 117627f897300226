"""The dialog of a decision: what became of a creation, and how the person knows.

The intent was fixed when the dialog opened. A decision names a collection or says that nothing was
created, and needs a reason. Nothing is decided here: what was said is compared and confirmed first.
"""

import msgspec
from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Button, Input, Label

from kusanya.say import Said
from kusanya.wire import Mode, is_collection_id
from kusanya_console.ui.format import Line, format_text, labelled, wrapped
from kusanya_console.ui.language import translate
from kusanya_console.ui.vocabulary import FAILED, MUTED, STRONG, Run, mode_words
from kusanya_console.widgets.box import Box
from kusanya_console.widgets.sheet import Sheet

_NOTHING = "nothing"
_WHY_LONGEST = 300
_ID_LONGEST = 120


class DecisionInput(msgspec.Struct, frozen=True):
    """What a person found out."""

    collection_id: str | None
    """None says that nothing was created."""
    why: str


class DecideScreen(ModalScreen[DecisionInput]):
    """Asks what became of a creation; dismissed with None it asks for nothing."""

    BINDINGS = [("escape", "dismiss(None)", "Cancel.")]  # noqa: RUF012 - Textual reads it

    def __init__(self, facts: tuple[tuple[str, Run], ...], *, mode: Mode) -> None:
        super().__init__()
        self._facts = facts
        self._mode = mode

    def compose(self) -> ComposeResult:
        """Lay out the record, the questions under their labels, and the two ways out."""
        with Vertical(classes="dialog"):
            yield Sheet(id="record")
            yield Label(Content(translate("It became: the id col_…, or the word nothing")))
            yield self._box("became", "col_… or nothing", _ID_LONGEST)
            yield Label(Content(translate("How you know: what you saw, and where")))
            yield self._box("why", "as in: statement of 4 March, line 12", _WHY_LONGEST)
            yield Sheet(id="wrong")
            with Horizontal():
                yield Button(Content(translate("Cancel")), id="cancel")
                yield Button(Content(translate("Compare")), id="do", variant="warning")

    def _box(self, name: str, placeholder: str, longest: int) -> Input:
        hint = translate(placeholder)
        box = Box(id=name, placeholder=hint, max_length=longest, select_on_focus=False)
        box.cursor_blink = False
        return box

    def on_mount(self) -> None:
        """Begin with what it became."""
        self.query_one("#record", Sheet).show(self._lines)
        self._complain("")
        self.query_one("#became", Input).focus()

    def _lines(self, width: int) -> list[Line]:
        word, role = mode_words(self._mode)
        lines: list[Line] = [
            ((translate("Decide this creation"), STRONG),),
            (),
            labelled("mode", (word, role)),
        ]
        lines += [labelled(label, run) for label, run in self._facts]
        said = "enter goes on · esc cancels · nothing counts before you confirm it"
        return [*lines, (), *wrapped(translate(said), width, role=MUTED), ()]

    def _said(self, name: str) -> str:
        return self.query_one(f"#{name}", Input).value.strip()

    def _wrong(self, *names: str) -> str:
        """Return what is wrong with the answers that are named, or nothing."""
        became = self._said("became")
        if "became" in names and not (became == _NOTHING or is_collection_id(became)):
            if not became:
                return "say what it became: an id that begins with col_, or the word nothing"
            said = format_text(became, 40)
            return Said("{said} is neither an id that begins with col_ nor the word nothing").of(
                said=said
            )
        if "why" in names and not self._said("why"):
            return "say how you know: it is kept under your name"
        return ""

    def _complain(self, sentence: str) -> None:
        self.query_one("#wrong", Sheet).show(
            lambda width: wrapped(translate(sentence), width, role=FAILED) if sentence else [()]
        )

    def on_input_changed(self, message: Input.Changed) -> None:
        """Take back the complaint while a person corrects it."""
        message.stop()
        self._complain("")

    def on_input_submitted(self, message: Input.Submitted) -> None:
        """Go on to the next question, or compare after the last."""
        message.stop()
        wrong = self._wrong(message.input.id or "")
        if wrong:
            self._complain(wrong)
        elif message.input.id == "became":
            self.query_one("#why", Input).focus()
        else:
            self._finish()

    def on_button_pressed(self, message: Button.Pressed) -> None:
        """Leave with what was said, or without."""
        message.stop()
        if message.button.id == "do":
            self._finish()
        else:
            self.dismiss(None)

    def _finish(self) -> None:
        wrong = self._wrong("became", "why")
        if wrong:
            self._complain(wrong)
            return
        became = self._said("became")
        self.dismiss(DecisionInput(None if became == _NOTHING else became, self._said("why")))
