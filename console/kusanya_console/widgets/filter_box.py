"""The line in which a list is narrowed: says at once what it cannot read."""

from collections.abc import Callable

from textual.message import Message
from textual.widgets import Input

from kusanya.filters import Filter, FilterError, describe, parse
from kusanya.text import safe
from kusanya_console.widgets.box import Box

_LONGEST = 300


class FilterBox(Box):
    """Posts the filter of each finished word, and what is wrong with one that is none.

    `check` raises FilterError for a key that the list does not have.
    """

    class Narrowed(Message):
        """The text is a filter; `done` tells that the person is done with the box."""

        def __init__(self, narrowed: Filter, *, done: bool) -> None:
            super().__init__()
            self.narrowed = narrowed
            self.done = done

    class Complained(Message):
        """What is wrong with the text, or nothing."""

        def __init__(self, sentence: str) -> None:
            super().__init__()
            self.sentence = sentence

    def __init__(self, *, check: Callable[[Filter], object], id: str | None = None) -> None:  # noqa: A002
        super().__init__(id=id, max_length=_LONGEST)
        self.cursor_blink = False
        self._check = check

    def begin(self, held: Filter) -> None:
        """Open with what the list is narrowed to."""
        self.value = describe(held)
        self.take_focus()

    def on_input_changed(self, message: Input.Changed) -> None:
        """Narrow the list by a finished word."""
        message.stop()
        narrowed = self._read(self.meant)
        if narrowed is not None and (not message.value or message.value.endswith(" ")):
            self.post_message(self.Narrowed(narrowed, done=False))

    def on_input_submitted(self, message: Input.Submitted) -> None:
        """Narrow the list and leave; with a bad word in it the last good filter stays."""
        message.stop()
        narrowed = self._read(self.meant)
        if narrowed is not None:
            self.post_message(self.Narrowed(narrowed, done=True))

    def _read(self, text: str) -> Filter | None:
        try:
            narrowed = parse(text)
            self._check(narrowed)
        except FilterError as error:
            self.post_message(self.Complained(safe(str(error), 200)))
            return None
        self.post_message(self.Complained(""))
        return narrowed
