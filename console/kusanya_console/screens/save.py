"""Where to keep a file: a dialog with the suggested path, which a person may change."""

from pathlib import Path
from typing import Final

from textual.app import ComposeResult
from textual.containers import Vertical
from textual.screen import ModalScreen
from textual.widgets import Input

from kusanya.say import Said
from kusanya.text import safe
from kusanya_console.ui.format import Line, wrapped
from kusanya_console.ui.language import translate
from kusanya_console.ui.vocabulary import MUTED, STRONG, WARN
from kusanya_console.widgets.box import Box
from kusanya_console.widgets.sheet import Sheet

_LONGEST: Final = 4_000


class SaveScreen(ModalScreen[Path | None]):
    """Asks for the path of a new file; dismissed with None where nothing is to be written."""

    BINDINGS = [("escape", "dismiss(None)", "Write no file.")]  # noqa: RUF012 - Textual reads it

    def __init__(self, what: str, suggested: Path, *, keys: str) -> None:
        super().__init__()
        self._what = what
        self._suggested = suggested
        self._keys = keys
        self._complaint = ""

    def compose(self) -> ComposeResult:
        """Lay out what is to be saved and the path."""
        with Vertical(classes="dialog"):
            yield Sheet(id="record")
            box = Box(str(self._suggested), id="path", max_length=_LONGEST, select_on_focus=False)
            box.cursor_blink = False
            yield box

    def on_mount(self) -> None:
        """Begin at the end of the path: the file's name is what one changes."""
        self._show()
        self.query_one("#path", Input).focus()

    def _show(self) -> None:
        def lines(width: int) -> list[Line]:
            what, keys = translate(self._what), translate(self._keys)
            said: list[Line] = [((what, STRONG),), ((keys, MUTED),), ()]
            complaint = translate(self._complaint)
            return [*said, *wrapped(complaint, width, role=WARN)] if complaint else said

        self.query_one("#record", Sheet).show(lines)

    def on_input_submitted(self, message: Input.Submitted) -> None:
        """Leave with the path, or say why no file can be written there."""
        message.stop()
        written = self.query_one("#path", Box).meant.strip()
        target = self._suggested.parent / Path(written or ".").expanduser()
        if not written or target.is_dir():
            self._complaint = "name a file, not a folder"
        elif not target.parent.is_dir():
            self._complaint = Said("there is no folder {path}").of(
                path=safe(str(target.parent), 400)
            )
        else:
            self.dismiss(target)
            return
        self._show()
