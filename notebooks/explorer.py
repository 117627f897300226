"""The explorer: collections of the days you choose, and what happened to the one you click.

The dates ask the store again, so that what is shown is all that it holds of these days; the other
filters narrow that down.

One class with public widgets, so that a test drives it without a kernel and a person with a mouse.
Outside text is shown in a Label or a table that escapes, never as HTML.
"""

import os
from collections.abc import Callable
from numbers import Integral
from pathlib import Path
from typing import Any, Final

import ipywidgets as widgets  # type: ignore[import-untyped] # it ships no types
import pandas as pd
from itables.widget import ITable

from kusanya.domain.business_day import EAT
from kusanya.domain.status import PAID
from kusanya.errors import KusanyaError
from kusanya.text import safe
from kusanya_books import columns
from kusanya_books.pack.tables import to_csv
from kusanya_books.read.load import MODE_VARIABLE
from kusanya_books.request.report_inputs import Inputs

ROWS: Final = 500
"""Rows in the table; the summary says how many there are in all."""
_WRAPPED: Final = "kusanya-wrapped"
_STYLE: Final = f"<style>.jupyter-widgets.{_WRAPPED} {{white-space: normal; height: auto}}</style>"
"""A label is one line that is cut at its end; a sentence goes on in the next line."""
BY_COMPLETION: Final = "completion"
BY_CREATION: Final = "creation"
SHOWN: Final = (
    "created_at",
    "completed_at",
    "reference",
    "status",
    "amount",
    "fee",
    "currency",
    "channel",
    "failure_code",
    "phone_masked",
    "id",
)
Load = Callable[..., Inputs]
"""Called with a mode, and with a period by its name once a date was chosen."""
Timeline = Callable[[Inputs, str], pd.DataFrame]


class Explorer:
    """Filters, a table of collections, and the story of the chosen one.

    `load` returns the inputs of a mode and a period; `timeline` the facts about one collection.
    `collection` is the id of one to begin with, of whatever day it is: that of a break. `view` is
    what a notebook shows; every widget is an attribute of its own name.
    """

    def __init__(
        self, load: Load, timeline: Timeline, *, mode: str = "", collection: str = ""
    ) -> None:
        self._load, self._timeline = load, timeline
        self.inputs: Inputs | None = None
        self._filling = False
        begin = mode or os.environ.get(MODE_VARIABLE, "") or "live"
        self.mode = widgets.ToggleButtons(options=["live", "test"], value=begin, description="Mode")
        self.first = widgets.DatePicker(description="From")
        self.last = widgets.DatePicker(description="To")
        self.day = widgets.Dropdown(
            options=[BY_COMPLETION, BY_CREATION], description="By day of", value=BY_COMPLETION
        )
        self.channel = widgets.Dropdown(description="Channel")
        self.status = widgets.Dropdown(description="Status")
        self.code = widgets.Dropdown(description="Code")
        self.reference = widgets.Text(description="Reference", placeholder="begins with")
        self.collection = widgets.Text(
            description="Collection",
            placeholder="its id, of any day",
            value=collection,
            continuous_update=False,
        )
        self.summary = widgets.Label().add_class(_WRAPPED)
        self.table = ITable(
            _texts(columns.empty(columns.COLLECTIONS)),
            select="single",
            maxBytes=0,
            pageLength=10,
            lengthMenu=[10, 25, 100],
            showIndex=False,
        )
        self.story = widgets.Label("Click a row to read what happened to it.").add_class(_WRAPPED)
        self.timeline = ITable(
            _texts(columns.empty(columns.TIMELINE)), maxBytes=0, paging=False, showIndex=False
        )
        self.folder = widgets.Text(description="Folder", value="export")
        self.export = widgets.Button(description="Export as CSV")
        self.exported = widgets.Label()
        self._chosen = columns.empty(columns.COLLECTIONS)
        for name in ("day", "channel", "status", "code", "reference"):
            getattr(self, name).observe(self._filter, names="value")
        for name in ("first", "last"):
            getattr(self, name).observe(self._choose, names="value")
        self.mode.observe(self._switch, names="value")
        self.collection.observe(self._show_story, names="value")
        self.table.observe(self._show_story, names="selected_rows")
        self.export.on_click(lambda _: self.write())
        self.view = widgets.VBox(
            [
                widgets.HBox([self.mode, self.day, self.first, self.last]),
                widgets.HBox([self.channel, self.status, self.code]),
                widgets.HBox([self.reference, self.collection]),
                widgets.HTML(_STYLE),
                self.summary,
                self.table,
                self.story,
                self.timeline,
                widgets.HBox([self.folder, self.export, self.exported]),
            ]
        )
        self._read()

    def selected(self) -> str | None:
        """Return the id of the collection that is chosen in the table, or None."""
        rows = [row for row in self.table.selected_rows if row < min(len(self._chosen), ROWS)]
        return str(self._chosen["id"].iloc[rows[0]]) if rows else None

    def chosen(self) -> pd.DataFrame:
        """Return the collections that pass the filters, the newest first."""
        return self._chosen

    def write(self) -> Path | None:
        """Write the chosen collections as CSV for spreadsheets and return the path.

        Phones are masked and no cell begins like a formula. None, with the reason on screen, when
        the folder cannot be written.
        """
        folder = Path(self.folder.value or ".")
        path = folder / f"collections-{self.mode.value}.csv"
        try:
            folder.mkdir(parents=True, exist_ok=True)
            to_csv(self._chosen[list(SHOWN)], path)
        except OSError as error:
            self.exported.value = safe(f"not written: {error.strerror}")
            return None
        self.exported.value = safe(f"{len(self._chosen):,} rows in {path}")
        return path

    def _switch(self, _change: Any) -> None:
        self._read(**({} if self.inputs is None else {"period": _span(self.inputs)}))

    def _choose(self, _change: Any) -> None:
        """Ask the store for the chosen days; what was loaded for others says nothing about them."""
        if self._filling:
            return
        first, last = self.first.value, self.last.value
        if first is None or last is None:
            self._nothing("choose both days")
        elif last < first:
            self._nothing(f"the days end on {last}, before they begin on {first}")
        elif self.inputs is None or _span(self.inputs) != f"{first}..{last}":
            self._read(period=f"{first}..{last}")
        else:
            self._filter(None)

    def _read(self, **period: str) -> None:
        try:
            self.inputs = self._load(self.mode.value, **period)
        except KusanyaError as error:
            # Another mode may hold nothing yet: say so, and show nothing of the first one.
            self.inputs = None
            self._nothing(str(error))
            return
        # Each widget that is given its choices would filter anew: that is done once, at the end.
        self._filling = True
        try:
            self._fill(self.inputs)
        finally:
            self._filling = False
        self._filter(None)

    def _nothing(self, why: str) -> None:
        self._chosen = self._chosen.iloc[:0]
        self.table.update(_texts(self._chosen), selected_rows=[])
        self.summary.value = safe(why)
        self._show_story(None)

    def _fill(self, inputs: Inputs) -> None:
        self.first.value, self.last.value = inputs.period.first, inputs.period.last
        for widget, column in (
            (self.channel, "channel"),
            (self.status, "status"),
            (self.code, "failure_code"),
        ):
            before = widget.value
            values = sorted(inputs.frame[column].dropna().unique())
            # The label is safe text, the value is exact.
            widget.options = [
                (f"any {widget.description.lower()}", ""),
                *((safe(str(value), 60), value) for value in values),
            ]
            widget.value = before if before in values else ""

    def _filter(self, _change: Any) -> None:
        if self.inputs is None or self._filling:
            return
        frame, period = self.inputs.frame, self.inputs.period
        day = frame["created_day"]
        if self.day.value == BY_COMPLETION:
            day = frame["business_day"].fillna(day)
        keep = day.between(pd.Timestamp(period.first), pd.Timestamp(period.last))
        for widget, column in (
            (self.channel, "channel"),
            (self.status, "status"),
            (self.code, "failure_code"),
        ):
            if widget.value:
                keep &= (frame[column] == widget.value).fillna(False).astype(bool)
        if self.reference.value:
            keep &= frame["reference"].str.startswith(self.reference.value).fillna(False)
        self._chosen = frame[keep].sort_values(["created_at", "id"], ascending=False)
        self.summary.value = self._sentence(self.inputs)
        self.table.update(_texts(self._chosen.head(ROWS)), selected_rows=[])
        self._show_story(None)

    def _sentence(self, inputs: Inputs) -> str:
        chosen = self._chosen
        paid = chosen[chosen["status"].isin(PAID)]
        sums = paid.groupby("currency")[["amount", "fee"]].sum()
        money = "; ".join(
            f"{safe(str(row.Index), 12)} {row.amount:,} gross, {row.amount - row.fee:,} net"
            for row in columns.records(sums)
        )
        shown = f"{len(chosen):,} collections"
        if len(chosen) > ROWS:
            shown = f"the newest {ROWS:,} of {shown}"
        found = f"{shown}, {len(paid):,} succeeded{f': {money}' if money else ''}"
        days = "their creation"
        if self.day.value == BY_COMPLETION:
            days = "their completion, of what is open their creation"
        return f"{found} · by the day of {days}: {inputs.period} · {safe(inputs.source)}"

    def _show_story(self, _change: Any) -> None:
        collection_id = self.selected() or self.collection.value.strip()
        if not collection_id or self.inputs is None:
            self.story.value = "Click a row to read what happened to it."
            self.timeline.update(_texts(columns.empty(columns.TIMELINE)))
            return
        self.show(collection_id)

    def show(self, collection_id: str) -> None:
        """Show what happened to a collection, of whatever day it is."""
        if self.inputs is None:
            return
        facts = self._timeline(self.inputs, collection_id)
        known = f"What happened to {safe(collection_id)}:"
        unknown = f"No collection {safe(collection_id, 60)} in {self.mode.value} mode."
        self.story.value = unknown if facts.empty else known
        self.timeline.update(_texts(facts))


def _span(inputs: Inputs) -> str:
    return f"{inputs.period.first}..{inputs.period.last}"


def _texts(frame: pd.DataFrame) -> pd.DataFrame:
    # As text: the table would print <NA>, and reads numbers as it likes.
    shown = [name for name in frame.columns if name in {*SHOWN, *columns.TIMELINE.columns}]
    ordered = sorted(shown, key=lambda name: SHOWN.index(name) if name in SHOWN else 0)
    return pd.DataFrame(
        {name.replace("_", " "): [_text(value) for value in frame[name]] for name in ordered},
        dtype="object",
    )


def _text(value: Any) -> str:
    if pd.isna(value):
        return ""
    if isinstance(value, pd.Timestamp):
        return f"{value.astimezone(EAT):%Y-%m-%d %H:%M:%S} EAT"
    return f"{value:,}" if isinstance(value, Integral) else safe(str(value), 120)
