"""The message desk: paste a customer's confirmation, read which collection it is, or why none.

Nothing is recorded. Outside text is shown in a Label or a table that escapes, never as HTML.
"""

import os
from typing import Any, Protocol

import ipywidgets as widgets  # type: ignore[import-untyped] # it ships no types

from kusanya.errors import KusanyaError
from kusanya.lookup import messages
from kusanya.text import safe
from kusanya_books.read.load import STORE_VARIABLE


class Story(Protocol):
    """What shows the story of one collection, as the explorer does."""

    mode: Any

    def show(self, collection_id: str) -> None:
        """Show what happened to a collection."""


class MessageDesk:
    """A box to paste into, and what was found below it.

    `store` is the address of the store, else KUSANYA_STORE; `explorer` says the mode and shows the
    story of the one collection that was found. `view` is what a notebook shows; every widget is an
    attribute of its own name.
    """

    def __init__(self, explorer: Story, store: str = "") -> None:
        self._explorer = explorer
        self._store = store or os.environ.get(STORE_VARIABLE, "")
        self.text = widgets.Textarea(
            placeholder="the customer's message, as it was pasted",
            layout=widgets.Layout(width="60em", height="6em"),
        )
        self.find = widgets.Button(description="Look it up")
        self.answers = widgets.VBox([])
        self.find.on_click(lambda _: self.look())
        self.view = widgets.VBox([self.text, self.find, self.answers])

    def look(self) -> list[str]:
        """Look the text up, show what was found, and return it."""
        try:
            found = messages.look_up(
                self.text.value, mode=self._explorer.mode.value, store=self._store
            )
        except KusanyaError as error:
            said = [safe(str(error), 400)]
        else:
            said = [answer.sentence for answer in found]
            ids = [each.collection_id for each in found if each.collection_id is not None]
            if len(set(ids)) == 1:
                self._explorer.show(ids[0])
                said.append("What happened to it stands in the table below.")
        self.answers.children = tuple(widgets.Label(sentence) for sentence in said)
        return said
