"""The break desk: what a pack left open, and what you say about it: owner, note, status.

What you save goes to the store as a fact with your name; the pack stays as it is, and the next run
shows it. Outside text is shown in a Label or a table that escapes, never as HTML.
"""

import os
from pathlib import Path
from typing import Any, Final

import ipywidgets as widgets  # type: ignore[import-untyped] # it ships no types
import pandas as pd
from itables.widget import ITable

from kusanya.errors import KusanyaError
from kusanya.store import Store
from kusanya.text import safe
from kusanya_books import columns
from kusanya_books.pack import decisions
from kusanya_books.read.load import STORE_VARIABLE

ROWS: Final = 500
SHOWN: Final = (
    "break_id",
    "break_code",
    "reference",
    "currency",
    "amount",
    "age_days",
    "status",
    "owner",
    "note",
)
STATUSES: Final = ("open", "explained", "accepted", "to_be_booked")
_SAME: Final = ("(as it is)", "")


class BreakDesk:
    """A table of open breaks, and a form for the chosen one.

    `pack` is the folder of a pack, `store` the address of the store that it was made from, else
    KUSANYA_STORE. `view` is what a notebook shows; every widget is an attribute of its own name.
    """

    def __init__(self, pack: str | Path | None, store: str = "") -> None:
        self._pack = pack
        self._store = store or os.environ.get(STORE_VARIABLE, "")
        self._items: decisions.OpenItems | None = None
        self.table = ITable(
            _texts(columns.empty(columns.ITEMS)), select="single", maxBytes=0, showIndex=False
        )
        self.owner = widgets.Text(description="Owner", placeholder="as it is")
        self.status = widgets.Dropdown(
            options=[_SAME, *((name.replace("_", " "), name) for name in STATUSES)],
            description="Status",
        )
        self.note = widgets.Textarea(description="Note", placeholder="what you know, or the reason")
        self.save = widgets.Button(description="Save")
        self.said = widgets.Label()
        self.save.on_click(lambda _: self.write())
        self.view = widgets.VBox(
            [self.table, widgets.HBox([self.owner, self.status, self.save]), self.note, self.said]
        )
        self._read()

    def selected(self) -> str | None:
        """Return the id of the break that is chosen in the table, or None."""
        rows = [row for row in self.table.selected_rows if row < len(self._frame().head(ROWS))]
        return str(self._frame()["break_id"].iloc[rows[0]]) if rows else None

    def write(self) -> bool:
        """Save what the form says about the chosen break; tell whether that was done.

        The reason why not is on screen.
        """
        chosen = self.selected()
        if chosen is None or self._items is None:
            self.said.value = "Choose a break in the table first."
            return False
        try:
            with Store.open(self._store, create=False) as opened:
                fact = decisions.record(
                    opened,
                    self._items,
                    chosen,
                    status=self.status.value or None,
                    owner=self.owner.value or None,
                    note=self.note.value or None,
                )
        except KusanyaError as error:
            self.said.value = safe(str(error))
            return False
        self.owner.value = self.note.value = ""
        self.status.value = ""
        self._read()
        self.said.value = safe(f"saved: {fact.subject.break_id}, by {fact.actor}")
        return True

    def _frame(self) -> pd.DataFrame:
        return columns.empty(columns.ITEMS) if self._items is None else self._items.frame

    def _read(self) -> None:
        if self._pack is None or not self._store:
            self.save.disabled = True
            self.said.value = "What people say is kept in a store: name one, and its pack."
            return
        try:
            with Store.open(self._store, create=False, read_only=True) as opened:
                self._items = decisions.load(opened, self._pack)
        except KusanyaError as error:
            self.save.disabled = True
            self.said.value = safe(str(error))
            return
        frame = self._frame()
        self.said.value = f"{len(frame):,} open" + (
            f", the first {ROWS:,} are shown" if len(frame) > ROWS else ""
        )
        self.table.update(_texts(frame.head(ROWS)), selected_rows=[])


def _texts(frame: pd.DataFrame) -> pd.DataFrame:
    # As text: the table would print <NA>, and reads numbers as it likes.
    return pd.DataFrame(
        {name.replace("_", " "): [_text(value) for value in frame[name]] for name in SHOWN},
        dtype="object",
    )


def _text(value: Any) -> str:
    if pd.isna(value):
        return ""
    return f"{value:,}" if isinstance(value, int) else safe(str(value), 120)
