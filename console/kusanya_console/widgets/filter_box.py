"""The line in which a list is narrowed: says at once what it cannot read."""

from collections.abc import Callable, Collection, Mapping

from textual.message import Message
from textual.widgets import Input

from kusanya.filters import Filter, FilterError, describe, expand, parse
from kusanya.text import safe
from kusanya_console.widgets.box import Box

_LONGEST = 300
_WRONG_LONGEST = 400
"""What is wrong names every key of the list."""


class FilterBox(Box):
    """Posts the filter of each finished word, and what is wrong with one that is none.

    `keys` are those that the list's records have, `whose` names the records, and `views` returns
    the saved filters that @name stands for.
    """

    ENTER = "filter by it"
    ESCAPE = "clear it"

    class Chosen(Message):
        """The text is a filter; `done` tells that the person is done with the box."""

        def __init__(self, query: Filter, *, done: bool) -> None:
            super().__init__()
            self.query = query
            self.done = done

    class Refused(Message):
        """What is wrong with the text, or nothing."""

        def __init__(self, sentence: str) -> None:
            super().__init__()
            self.sentence = sentence

    def __init__(
        self,
        *,
        keys: Collection[str],
        whose: str,
        views: Callable[[], Mapping[str, str]] = dict,
        id: str | None = None,  # noqa: A002
    ) -> None:
        super().__init__(id=id, max_length=_LONGEST)
        self._views = views
        self.cursor_blink = False
        self._keys = keys
        self._whose = whose

    def begin(self, held: Filter) -> None:
        """Open with what the list is narrowed to."""
        self.value = describe(held)
        self.take_focus()

    def on_input_changed(self, message: Input.Changed) -> None:
        """Narrow the list by a finished word."""
        message.stop()
        query = self._read(self.meant)
        if query is not None and (not message.value or message.value.endswith(" ")):
            self.post_message(self.Chosen(query, done=False))

    def on_input_submitted(self, message: Input.Submitted) -> None:
        """Narrow the list and leave; with a bad word in it the last good filter stays."""
        message.stop()
        query = self._read(self.meant)
        if query is not None:
            self.post_message(self.Chosen(query, done=True))

    def _read(self, text: str) -> Filter | None:
        try:
            query = parse(expand(text, self._views()), keys=self._keys, whose=self._whose)
        except FilterError as error:
            self.post_message(self.Refused(safe(str(error), _WRONG_LONGEST)))
            return None
        self.post_message(self.Refused(""))
        return query
