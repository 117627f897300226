"""Two dialogs of the Service screen: one line to type, and a secret that is shown once."""

from collections.abc import Callable
from typing import ClassVar

from textual.app import ComposeResult
from textual.containers import Vertical
from textual.screen import ModalScreen
from textual.widgets import Input

from kusanya.text import safe
from kusanya_console.actions.messages import CopyRequested
from kusanya_console.actions.results import NewSecret
from kusanya_console.ui.format import Line, wrapped
from kusanya_console.ui.language import translate
from kusanya_console.ui.vocabulary import ACCENT, MUTED, PLAIN, STRONG, WARN, Run
from kusanya_console.widgets.box import Box
from kusanya_console.widgets.sheet import Sheet

_LONGEST = 300


class AskScreen(ModalScreen[str]):
    """One line of text; `check` raises ValueError with what is wrong about it.

    Dismissed with nothing it asks for nothing.
    """

    BINDINGS = [("escape", "dismiss('')", "Cancel.")]  # noqa: RUF012 - Textual reads it

    def __init__(
        self, title: Run, hint: str, *, check: Callable[[str], object], value: str = ""
    ) -> None:
        super().__init__()
        self._headline = title
        self._hint = hint
        self._check = check
        self._value = value
        self._complaint = ""

    def compose(self) -> ComposeResult:
        """Lay out what is asked and the box."""
        with Vertical(classes="dialog"):
            yield Sheet(id="record")
            box = Box(self._value, id="note", max_length=_LONGEST, select_on_focus=False)
            box.cursor_blink = False
            yield box
            yield Sheet(id="complaint")

    def on_mount(self) -> None:
        """Begin in the box."""
        self.query_one("#record", Sheet).show(self._lines)
        self.query_one("#note", Input).focus()

    def _lines(self, width: int) -> list[Line]:
        return [
            ((translate(self._headline[0]), STRONG),),
            *wrapped(translate(self._hint), width, role=MUTED),
            ((translate("enter goes on, esc cancels"), MUTED),),
            (),
        ]

    def on_input_changed(self, message: Input.Changed) -> None:
        """Take back the complaint about what stood there before."""
        message.stop()
        self._complain("")

    def on_input_submitted(self, message: Input.Submitted) -> None:
        """Go on with what was written, or say what is wrong about it."""
        message.stop()
        text = message.value.strip()
        try:
            self._check(text)
        except ValueError as error:
            self._complain(str(error))
        else:
            self.dismiss(text)

    def _complain(self, sentence: str) -> None:
        said = safe(translate(sentence), 200)
        self.query_one("#complaint", Sheet).show(
            lambda width: [(), *wrapped(said, width, role=WARN)] if said else []
        )


class _SecretSheet(Sheet):
    """Its text cannot be selected with the mouse: copying is one key, and leaves no highlight."""

    ALLOW_SELECT: ClassVar[bool] = False


class SecretScreen(ModalScreen[None]):
    """Shows a new secret; nothing of it is kept once the dialog is closed."""

    BINDINGS = [  # noqa: RUF012 - Textual reads it
        ("escape,enter", "dismiss", "Close; the secret is not shown again."),
        ("y", "copy", "Copy the secret."),
    ]

    def __init__(self, new: NewSecret) -> None:
        super().__init__()
        self._secret = new

    def compose(self) -> ComposeResult:
        """Lay out the secret."""
        with Vertical(classes="dialog"):
            yield _SecretSheet(id="record")

    def on_mount(self) -> None:
        """Show it."""
        self.query_one("#record", Sheet).show(self._lines)

    def _lines(self, width: int) -> list[Line]:
        shown = safe(self._secret.secret.reveal(), _LONGEST)
        kept = (
            "It is shown this once and kept nowhere here: put it where the receiver or the program "
            "that needs it reads its secrets."
        )
        return [
            *wrapped(safe(translate(self._secret.label), _LONGEST), width, role=STRONG),
            (),
            *wrapped(shown, width, role=ACCENT),
            (),
            *wrapped(translate(kept), width, role=PLAIN),
            (),
            ((translate("y copies it · esc closes"), MUTED),),
        ]

    def action_copy(self) -> None:
        """Copy the secret."""
        self.post_message(CopyRequested("the secret", self._secret.secret.reveal(), secret=True))
