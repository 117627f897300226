"""Dialogs: confirm one act by its own typed record, and write a note.

The record was fixed when the dialog opened. Focus begins on Cancel; in LIVE MODE the word `live`
is typed before anything can be sent, and so is the word or the count of an act that names one.
"""

from collections.abc import Callable
from typing import Generic, TypeVar

from textual import events
from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Button, Input

from kusanya.store.records import Note
from kusanya.wire import Mode
from kusanya_console.ui.format import Line, labelled, wrapped
from kusanya_console.ui.language import translate
from kusanya_console.ui.vocabulary import MUTED, STRONG, WARN, Run, mode_words
from kusanya_console.widgets.box import Box
from kusanya_console.widgets.sheet import Sheet

_WORD = "live"
_NOTE_LONGEST = 500


R = TypeVar("R")


class ConfirmScreen(ModalScreen[bool]):
    """Names what would be done to what; True once a person has confirmed it."""

    BINDINGS = [("escape", "dismiss(False)", "Cancel.")]  # noqa: RUF012 - Textual reads it
    AUTO_FOCUS = "#cancel"

    def __init__(
        self,
        act: str,
        facts: tuple[tuple[str, Run], ...],
        *,
        mode: Mode,
        warning: str,
        word: str = "",
        live_word: str = "",
    ) -> None:
        super().__init__()
        self._act = translate(act)
        self._facts = facts
        self._mode = mode
        self._warning = warning
        self._word = (live_word or _WORD) if mode is Mode.LIVE else word

    def compose(self) -> ComposeResult:
        """Lay out the record, the word to type in LIVE MODE, and the two ways out."""
        with Vertical(classes="dialog"):
            yield Sheet(id="record")
            if self._word:
                # Selecting on focus would let the second letter replace the first.
                word = Input(
                    id="word",
                    max_length=len(self._word),
                    placeholder=translate("type {word}", word=self._word),
                    select_on_focus=False,
                )
                word.cursor_blink = False
                yield word
            with Horizontal():
                yield Button(Content(translate("Cancel")), id="cancel")
                yield Button(
                    Content(self._act), id="do", disabled=bool(self._word), variant="warning"
                )

    def on_mount(self) -> None:
        """Show the record."""
        self.query_one("#record", Sheet).show(self._lines)

    def _lines(self, width: int) -> list[Line]:
        word, role = mode_words(self._mode)
        lines: list[Line] = [((self._act, STRONG),), (), labelled("mode", (word, role))]
        lines += [labelled(label, run) for label, run in self._facts]
        lines += [(), *wrapped(translate(self._warning), width, role=WARN), ()]
        how = "tab, then enter confirms · esc cancels"
        if self._word:
            how = "type {word}, then enter confirms · esc cancels"
        return [*lines, ((translate(how, word=self._word), MUTED),)]

    def on_key(self, event: events.Key) -> None:
        """Take letters for the word wherever the focus is."""
        if self._word and event.is_printable and event.character:
            word = self.query_one("#word", Input)
            if not word.has_focus:
                word.focus()
                word.insert_text_at_cursor(event.character)
                event.stop()

    def on_input_changed(self, message: Input.Changed) -> None:
        """Let the act be confirmed once the word stands there."""
        message.stop()
        self.query_one("#do", Button).disabled = message.value != self._word

    def on_input_submitted(self, message: Input.Submitted) -> None:
        """Confirm with the word."""
        message.stop()
        if message.value == self._word:
            self.dismiss(True)

    def on_button_pressed(self, message: Button.Pressed) -> None:
        """Leave with the answer."""
        message.stop()
        self.dismiss(message.button.id == "do")


class LineScreen(ModalScreen[R], Generic[R]):
    """One line of text about a record; left without one it returns None.

    `known` is what a person must read before they write, such as who looks after it already; `keep`
    makes of the line what is returned.
    """

    BINDINGS = [("escape", "dismiss", "Cancel.")]  # noqa: RUF012 - Textual reads it

    def __init__(
        self, about: Run, text: str = "", *, keep: Callable[[str], R], known: str = ""
    ) -> None:
        super().__init__()
        self._keep = keep
        self._about = about
        self._text = text
        self._known = known

    def compose(self) -> ComposeResult:
        """Lay out what it is about and the box."""
        with Vertical(classes="dialog"):
            yield Sheet(id="record")
            box = Box(self._text, id="note", max_length=_NOTE_LONGEST, select_on_focus=False)
            box.cursor_blink = False
            yield box

    def on_mount(self) -> None:
        """Begin in the box."""
        self.query_one("#record", Sheet).show(self._lines)
        self.query_one("#note", Input).focus()

    def _lines(self, width: int) -> list[Line]:
        return [
            ((f"{translate('Note on')} ", STRONG), self._about),
            *(wrapped(self._known, width, role=WARN) if self._known else ()),
            ((translate("enter keeps it under your name, esc cancels"), MUTED),),
            (),
        ]

    def on_input_submitted(self, message: Input.Submitted) -> None:
        """Keep what was written."""
        message.stop()
        text = self.query_one("#note", Box).meant.strip()
        self.dismiss(self._keep(text) if text else None)


class NoteScreen(LineScreen[Note]):
    """A note on a payment or an intent, or on what somebody looks after."""

    def __init__(self, about: Run, draft: Note | None = None, *, known: str = "") -> None:
        super().__init__(about, "" if draft is None else draft.text, keep=Note, known=known)


class ViewNameScreen(LineScreen[str]):
    """The name under which a filter is saved for everybody; None where none is saved."""

    def __init__(self, about: Run) -> None:
        super().__init__(about, keep=str)

    def _lines(self, width: int) -> list[Line]:
        how = (
            "type a name such as fraud; @fraud in the filter's box then stands for it, for all who "
            "work on this store"
        )
        return [
            ((f"{translate('Save this filter as')} ", STRONG), self._about),
            *wrapped(translate(how), width, role=MUTED),
            ((translate("enter saves it under your name, esc cancels"), MUTED),),
            (),
        ]
