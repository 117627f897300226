"""What happened to each payment that is open: the facts of all sides in the order of their time."""

import html
import re
from collections import defaultdict
from collections.abc import Iterator
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final

import msgspec
import pandas as pd

from kusanya.domain.business_day import EAT
from kusanya.text import safe
from kusanya_books import columns
from kusanya_books.columns import COLLECTIONS, KEYS
from kusanya_books.engine.engines import open_engine
from kusanya_books.match import breaks

if TYPE_CHECKING:  # the report draws its pages by the modules beside this one
    from kusanya_books.judge.report import Report

MOST: Final = 300
"""Stories on a page: those of the most money."""
_ANCHOR: Final = re.compile(r"[^A-Za-z0-9_-]")
_EXPLORER: Final = (
    '<p>More of one: paste its id into <a href="10_explorer.ipynb">10_explorer</a>, '
    "as Collection.</p>"
)
"""A notebook alone links to another one; a pack is handed on without them."""
_OPEN: Final = "SELECT * FROM collections SEMI JOIN keys USING (id) ORDER BY created_at, id"
Fact = tuple[datetime | None, str, str]
"""When, what, and more; what has no time stands at the end."""


class Stories(msgspec.Struct, frozen=True):
    """The facts of each payment, by its collection's id."""

    facts: dict[str, list[Fact]]

    def __contains__(self, collection_id: object) -> bool:
        """Return whether a collection has a story here, which a table may link to."""
        return collection_id in self.facts

    def to_html(self) -> str:
        """Return one section for each payment, text escaped, to which `anchor` leads."""
        parts = "".join(_section(id_, rows) for id_, rows in self.facts.items())
        return f'<div id="stories"><h2>What happened to each</h2>{parts}</div>' if parts else ""

    def _repr_html_(self) -> str:
        if not self.facts:
            return "<p>Nothing is open of which a payment is known.</p>"
        return f"{_EXPLORER}{self.to_html()}"


def anchor(collection_id: str) -> str:
    """Return the name of a payment's section."""
    return f"story-{_ANCHOR.sub('', collection_id)}"


def of(made: "Report") -> Stories:
    """Return the stories of the payments that a report leaves open, the most money first."""
    items = made.items[made.items["collection_id"].notna()]
    ordered = items.sort_values("amount", ascending=False, kind="stable")
    ids = list(dict.fromkeys(ordered["collection_id"]))[:MOST]
    found: defaultdict[str, list[Fact]] = defaultdict(list)
    for id_, fact in (*_payments(made, ids), *_books(made, ids), *_operator(made, ids)):
        found[id_].append(fact)
    for rows in found.values():
        rows.sort(key=lambda fact: (fact[0] is None, fact[0]))
    for row in columns.records(ordered[ordered["collection_id"].isin(ids)]):
        found[row.collection_id].append(_finding(row))
    return Stories({id_: found[id_] for id_ in ids})


def _payments(made: "Report", ids: list[str]) -> Iterator[tuple[str, Fact]]:
    inputs = made.inputs
    # Of an export books and operator alone are shown: its files may be past counting.
    if inputs.is_export or not ids:
        return
    with open_engine(inputs.collections) as engine:
        engine.register("collections", inputs.collections, COLLECTIONS)
        engine.register(
            "keys", columns.frame(KEYS, {"id": ids, "reference": [None] * len(ids)}), KEYS
        )
        rows = engine.frame(_OPEN, COLLECTIONS)
    for row in columns.records(rows):
        money = f"{row.currency} {row.amount:,}, fee {row.fee:,}"
        channel = "" if pd.isna(row.channel) else f", {row.channel}"
        yield row.id, (row.created_at, "asked for", f"{money}{channel}")
        if not pd.isna(row.completed_at):
            code = "" if pd.isna(row.failure_code) else row.failure_code
            yield row.id, (row.completed_at, str(row.status), code)


def _books(made: "Report", ids: list[str]) -> Iterator[tuple[str, Fact]]:
    if made.matched is None:
        return
    rows = made.matched.rows
    for row in columns.records(rows[rows["collection_id"].isin(ids) & rows["booked_at"].notna()]):
        where = f"row {row.row_no}" if row.row_no > 0 else "a line of an earlier period"
        detail = f"{row.currency_ledger} {row.amount_ledger:,}, {row.status_ledger}, {where}"
        yield row.collection_id, (row.booked_at, "in the books", detail)


def _operator(made: "Report", ids: list[str]) -> Iterator[tuple[str, Fact]]:
    if made.operator is None:
        return
    rows = made.operator.rows
    for row in columns.records(rows[rows["collection_id"].isin(ids) & rows["at"].notna()]):
        receipt = "" if pd.isna(row.receipt) else f", receipt {row.receipt}"
        detail = f"{row.currency} {row.amount_operator:,}{receipt}, line {row.line_no}"
        yield row.collection_id, (row.at, f"{row.kind} at the operator", f"{detail} of {row.input}")


def _finding(row: Any) -> Fact:
    rule = breaks.EVERY.get(row.break_code)
    what = str(row.break_code).replace("_", " ") if rule is None else rule.meaning
    said = [row.suggested_action, *(row.note, row.owner)]
    return None, what, " · ".join(str(text) for text in said if not pd.isna(text))


def _section(collection_id: str, rows: list[Fact]) -> str:
    lines = "".join(
        "<tr>"
        + "".join(f'<td style="text-align: left">{_text(cell)}</td>' for cell in cells)
        + "</tr>"
        for cells in ((_when(at), what, detail) for at, what, detail in rows)
    )
    title = f'<caption style="text-align: left">{_text(collection_id)}</caption>'
    return f'<table class="story" id="{anchor(collection_id)}">{title}{lines}</table>'


def _when(at: datetime | None) -> str:
    return "" if at is None else f"{at.astimezone(EAT):%Y-%m-%d %H:%M:%S} EAT"


def _text(text: str) -> str:
    return html.escape(safe(text, 300))
