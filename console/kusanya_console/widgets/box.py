"""A line to type into that draws nothing a terminal would act on.

What is put or pasted into it may come from outside. The box holds the visible form; `meant` gives
the exact text back for as long as nobody changes that form.
"""

from textual.widgets import Input

from kusanya.text import safe


class Box(Input):
    """An input line; read `meant`, not `value`."""

    _given: tuple[str, str] = ("", "")

    def validate_value(self, value: str) -> str:
        """Make visible what is invisible or active, and remember what it stands for."""
        shown = safe(value, self.max_length or len(value) + 1)
        if shown != value:
            self._given = (shown, value)
        return shown

    @property
    def meant(self) -> str:
        """Return the exact text that was given, or what was typed."""
        shown, given = self._given
        return given if self.value == shown else self.value

    def take_focus(self) -> None:
        """Have the focus at once: the next key, however fast it comes, is typed here."""
        self.screen.set_focus(self)
