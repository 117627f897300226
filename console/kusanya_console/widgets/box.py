"""A line to type into that draws nothing a terminal would act on.

What is put or pasted into it may come from outside. The box holds the visible form; `meant` gives
the exact text back for as long as nobody changes that form.
"""

from typing import ClassVar

from textual import events
from textual.widgets import Input

from kusanya.text import safe


class Box(Input):
    """An input line; read `meant`, not `value`."""

    ENTER: ClassVar[str] = ""
    ESCAPE: ClassVar[str] = ""
    """What the two keys do here that are not typed into it, as the key bar says it."""

    _original: tuple[str, str] = ("", "")

    def validate_value(self, value: str) -> str:
        """Make visible what is invisible or active, and remember what it stands for."""
        shown = safe(value, self.max_length or len(value) + 1)
        if shown != value:
            self._original = (shown, value)
        return shown

    @property
    def meant(self) -> str:
        """Return the exact text that was given, or what was typed."""
        shown, original = self._original
        return original if self.value == shown else self.value

    async def on_key(self, event: events.Key) -> None:
        """Take a key of the box's own in its turn.

        Its bindings would be looked up once the key has come to the application, and a letter typed
        behind it is inserted before: ctrl+u and a word at once would leave nothing of the word.
        """
        for binding in self._bindings.key_to_bindings.get(event.key, ()):
            if await self.app.run_action(binding.action, self):
                event.stop()
                event.prevent_default()
                return

    def fill(self, text: str) -> None:
        """Hold `text` in place of what was there, the cursor behind it."""
        self.value = text[: self.max_length]
        self.cursor_position = len(self.value)

    def take_focus(self) -> None:
        """Have the focus at once: the next key, however fast it comes, is typed here."""
        self.screen.set_focus(self)


class PasteBox(Box):
    """A box for one whole thing: what is pasted takes the place of what stood there."""

    ENTER = "leave the box"
    ESCAPE = "empty it"

    def on_paste(self, event: events.Paste) -> None:
        """Hold what was pasted, its lines joined."""
        event.stop()
        event.prevent_default()
        self.fill(" ".join(event.text.split()))
