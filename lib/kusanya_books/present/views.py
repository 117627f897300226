"""Frames for people's eyes: a table that is returned, its text escaped and its invisible marked.

pandas' Styler does not escape by itself, neither cells nor headers, and a failure code becomes a
header sooner or later: this is the one place that makes tables, and it escapes both.
"""

import html
import json
import re
from collections.abc import Callable, Container
from functools import partial
from typing import TYPE_CHECKING, Any, Final

import msgspec
import pandas as pd
from pandas.io.formats.style import Styler

from kusanya.domain.business_day import EAT
from kusanya.text import safe
from kusanya_books import columns
from kusanya_books.columns import DType
from kusanya_books.match.ledger import LedgerMatch
from kusanya_books.match.legs import Leg
from kusanya_books.match.settlement import SettlementMatch
from kusanya_books.present import layout
from kusanya_books.present.stories import anchor
from kusanya_books.request import quality
from kusanya_books.request.report_inputs import Inputs

if TYPE_CHECKING:  # both write tables themselves
    from kusanya_books.judge.gap import GapAnswer
    from kusanya_books.judge.report import CloseResult, Report

ROWS: Final = 500
"""Rows that a table shows; its caption says when there are more."""
_NOTHING: Final = pd.DataFrame()
_MISSING: Final = "–"
_CELL: Final = 120
_LOOK: Final = [
    {
        "selector": "caption",
        "props": "text-align: left; font-weight: 600; padding: 0.4em 0; white-space: nowrap",
    },
    {"selector": "th", "props": "text-align: left; vertical-align: bottom; font-weight: 600"},
    {
        "selector": "td",
        "props": "text-align: left; font-variant-numeric: tabular-nums",
    },
]
_NUMBER: Final = "text-align: right; white-space: nowrap !important"
_LABELS: Final = {
    "break_code": "code",
    "row_no": "row of the books",
    "line_no": "line",
    "amount_ledger": "amount in the books",
    "amount_service": "amount of the service",
    "bridge_effect": "effect on the bridge",
    "collection_id": "collection",
    "business_day": "business day",
    "currency_service": "currency of the service",
    "net_settled": "net paid out",
    "fee_settled": "fee deducted",
    "gross_settled": "gross paid out",
    "suggested_action": "what to do",
    "suggested_match": "perhaps",
    "effective_bps": "fee in basis points",
    "bps_range": "rate in basis points",
    "fee_202": "fee answered",
    "fee_event": "fee of the event",
    "fee_get": "fee looked up",
    "few": "few attempts",
    "median_lag_s": "median lag in seconds",
    "cum_share": "share so far",
    "value_cum_share": "value share so far",
    "rate_low": "rate at least",
    "rate_high": "rate at most",
}
_NARROW: Final = (
    "<style>table.dataTable.compact > thead > tr > th, table.dataTable.compact > tbody > tr > td "
    "{padding-left: 3px !important; padding-right: 3px !important}</style>"
)
"""Twelve columns are read without moving the page on a screen of 1,280 pixels."""
_LINK: Final = """function(data, type) {
  const anchors = ANCHORS;
  if (type !== 'display' || !(data in anchors)) return data;
  return `<a href="#${anchors[data]}">${data}</a>`;
}"""
"""How a sortable table shows a collection that has a story; its cells are escaped already."""
_AGE: Final = re.compile(r"rows_(\d+_\d+|over_\d+)")
"""A column that counts rows of an age."""


def table(
    frame: pd.DataFrame,
    title: str,
    *,
    rows: int = ROWS,
    with_totals: bool = False,
    of: int | None = None,
    sums: pd.DataFrame | None = None,
    linked: Container[str] = (),
) -> Styler:
    """Return `frame` as an escaped table under `title`; the caption says when rows are left out.

    Money and counts have thousands separators, instants are East Africa Time, shares are percent,
    the total of all channels and the sums of a bridge are set off. `with_totals` adds the sums of
    all rows, also of those that are left out. Where `frame` is the beginning of a table of `of`
    rows, `sums` are theirs. A collection that is in `linked` leads to its story.
    """
    shown = frame.head(rows)
    is_sum = layout.is_sum(shown)
    if with_totals:
        found = list(layout.totals(frame)) if sums is None else layout.totals_of(sums)
        if found:
            shown = pd.concat([shown, layout.total_rows(shown, found)], ignore_index=True)
            is_sum = [*is_sum, *[True] * len(found)]
    count = len(frame) if of is None else of
    cut = "" if count <= rows else f" · the first {rows:,} of {count:,} rows"
    cells = _texts(shown)
    numbers = [str(name) for name, dtype in shown.dtypes.items() if _is_number(dtype)]
    labels = {name: label(str(name)) for name in shown.columns}
    styler = Styler(cells.rename(columns=labels), uuid=_slug(title), cell_ids=False)
    styler = styler.format(escape="html").format_index(escape="html", axis=0)
    if "collection_id" in shown:
        lead = partial(_lead, linked=linked)
        styler = styler.format(lead, subset=[labels["collection_id"]])
    styler = styler.format_index(escape="html", axis=1).hide(axis="index")
    styler = styler.set_caption(_escaped(f"{title}{cut}")).set_table_styles(_styles(cells, numbers))
    return styler.apply(_total, axis=None, rows=is_sum) if any(is_sum) else styler


def _texts(shown: pd.DataFrame) -> pd.DataFrame:
    """Return the cells of a table as they are read, not yet escaped."""
    cells = pd.DataFrame(
        {name: list(map(_form(column.dtype), column)) for name, column in shown.items()},
        index=shown.index,
        columns=shown.columns,
        dtype="object",
    )
    if "channel" in cells:
        cells["channel"] = cells["channel"].replace(layout.TOTAL, "total")
    return cells


class SortableTable(msgspec.Struct, frozen=True):
    """A table that its reader sorts and searches in a notebook, without the network."""

    frame: pd.DataFrame
    title: str
    numbers: frozenset[str]
    """Columns of numbers, by what stands above them."""
    anchors: dict[str, str] = {}
    """Collections of the table that have a story on the page, and the name of its section."""

    def _repr_html_(self) -> str:
        # Imported here: a pack is written without what notebooks need.
        from itables import JavascriptFunction, to_html_datatable

        names = list(self.frame.columns)
        columns_: list[dict[str, Any]] = [
            {"targets": [at for at, name in enumerate(names) if name in self.numbers]}
            | {"className": "dt-right dt-body-nowrap", "orderSequence": ["desc", "asc"]},
            {"targets": [at for at, name in enumerate(names) if name not in self.numbers]}
            | {"className": "dt-left"},
        ]
        if self.anchors:
            known = json.dumps(self.anchors).replace("<", "\\u003c")
            render = JavascriptFunction(_LINK.replace("ANCHORS", known))
            columns_.append({"targets": [names.index(label("collection_id"))], "render": render})
        shown = to_html_datatable(
            self.frame,
            connected=False,
            maxBytes=0,
            showIndex=False,
            order=[],
            text_in_header_can_be_selected=False,  # a click on it sorts
            pageLength=25,
            lengthMenu=[25, 100, ROWS],
            columnDefs=columns_,
            classes="display compact",
            style="table-layout:auto;width:100%",
        )
        return f"<p><b>{_escaped(self.title)}</b></p>{_NARROW}{shown}"


def sortable(
    frame: pd.DataFrame,
    title: str,
    *,
    rows: int = ROWS,
    linked: Container[str] = (),
    worst: str = "",
) -> SortableTable | Styler:
    """Return `frame` as a table to sort and to search; of an empty one, the sentence that it is.

    Cells are as in `table`, but for what is missing, which is empty and sorts as nothing. The most
    of the column `worst` stands first. Sums are left out: they would be sorted among the rows. The
    notebook loads the script once, by `itables.init_notebook_mode`, unconnected.
    """
    if frame.empty:
        return table(_NOTHING, f"{title}: none")
    frame = frame[[not is_sum for is_sum in layout.is_sum(frame)]]
    if worst:
        frame = frame.sort_values(worst, ascending=False, kind="stable")
    shown = frame.head(rows)
    cut = "" if len(frame) <= rows else f" · the first {rows:,} of {len(frame):,} rows"
    cells = {
        label(str(name)): shown[name].map(_form(shown[name].dtype)).where(shown[name].notna(), "")
        for name in shown.columns
    }
    ids = shown["collection_id"].dropna() if "collection_id" in shown else ()
    anchors = {str(id_): anchor(id_) for id_ in ids if id_ in linked}
    numbers = frozenset(label(str(name)) for name in shown.columns if _is_number(shown[name].dtype))
    return SortableTable(pd.DataFrame(cells, dtype="object"), f"{title}{cut}", numbers, anchors)


def open_rows(
    matched: LedgerMatch | SettlementMatch | Leg | None,
    title: str,
    *,
    wants: str = "ledger",
    linked: Container[str] = (),
) -> SortableTable | Styler:
    """Return the rows of a match that do not simply agree, the most money first, to be sorted.

    A collection that is in `linked` leads to its story.
    """
    if matched is None:
        return leg(None, "rows", title, wants=wants)
    return sortable(brief(differing(matched.rows)), title, linked=linked)


def heading(inputs: Inputs, *, basis: str = "business day of completion") -> Styler:
    """Return what every page begins with: where it comes from, which days, how they are counted."""
    said = {
        "source": inputs.source,
        "mode": inputs.mode.value,
        "business days": str(inputs.period),
        "counted by": basis,
        "facts known up to": f"journal position {inputs.as_of:,}",
        "collections read": f"{inputs.read:,}, some days around the period included",
    }
    return facts(said, "What this page is made from")


def account(inputs: Inputs) -> Styler:
    """Return what each input held, kept and dropped."""
    return table(quality.account(*inputs.quality), "Rows read, kept and dropped")


def leg(
    matched: LedgerMatch | SettlementMatch | Leg | None,
    part: str,
    title: str,
    *,
    wants: str = "ledger",
) -> Styler:
    """Return one table of a match, or the sentence that nothing was proven for want of an input.

    `part` is the name of one of its frames; of `rows`, what agrees is left out.
    """
    if matched is None:
        return table(_NOTHING, f"{title}: not proven, no {wants} was given")
    frame: pd.DataFrame = getattr(matched, part)
    return table(brief(differing(frame) if part == "rows" else frame), title)


def differing(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of a match that do not simply agree."""
    left: pd.DataFrame = frame[frame["standing"] != "ok"]
    return left


def brief(frame: pd.DataFrame) -> pd.DataFrame:
    """Return a frame as people read it: the most money first, what a code means, what matters."""
    return layout.read(frame)


def gap(found: "GapAnswer | None") -> Styler:
    """Return what may explain an amount, or the sentence that none was asked about."""
    if found is None:
        return table(_NOTHING, "No unexplained amount: give GAP, and books to search in")
    return table(found.lines, found.sentence)


def verdict(made: "Report") -> Styler:
    """Return how the period stands: the verdict, and every finding with its count and sum."""
    findings = _findings(made)
    nothing = ": nothing is proven, no ledger was given" if made.matched is None else ""
    said = {"verdict": f"{made.verdict().value}{nothing}", **findings}
    weighs = {name for name, text in findings.items() if text[0] in "123456789"}
    weight = [name == "verdict" or name in weighs for name in said]
    return facts(said, "How the period stands").apply(_total, axis=None, rows=weight)


def _findings(made: "Report") -> dict[str, str]:
    said: dict[str, str] = {}
    for row in columns.records(made.findings):
        money = "" if pd.isna(row.amount) else f", {row.currency} {row.amount:,}"
        text = row.note if pd.isna(row.rows) else f"{row.rows:,}{money}"
        said[row.finding] = f"{said[row.finding]}; {text}" if row.finding in said else text
    return said


def close_result(result: "CloseResult") -> Styler:
    """Return how a run ended and where its pack lies."""
    said = {
        "verdict": result.verdict.value,
        "in words": result.sentence,
        "run id": result.run_id or _MISSING,
        "pack": _MISSING if result.folder is None else str(result.folder),
    }
    return facts(said, "How the run ended")


def facts(said: dict[str, str], title: str) -> Styler:
    """Return facts as a table of two columns, with nothing above them."""
    frame = pd.DataFrame({"": list(said), "value": list(said.values())}, dtype="object")
    return table(frame, title).hide(axis="columns")


def label(name: str) -> str:
    """Return what stands above a column, in words."""
    age = _AGE.fullmatch(name)
    if age:
        return f"{_between(age[1])} days"
    return _LABELS.get(name) or safe(name).replace("_", " ")


def _between(age: str) -> str:
    return age.replace("over_", "over ").replace("_", "–")


def _is_number(dtype: Any) -> bool:
    return dtype in (DType.WHOLE.pandas, DType.SHARE.pandas)


def _form(dtype: Any) -> Callable[[Any], str]:
    if dtype == DType.WHOLE.pandas:
        return lambda value: _MISSING if pd.isna(value) else f"{value:,}"
    if dtype == DType.SHARE.pandas:
        return lambda value: _MISSING if pd.isna(value) else f"{value:.1%}"
    if dtype == DType.INSTANT.pandas:
        return lambda value: (
            _MISSING if pd.isna(value) else f"{value.astimezone(EAT):%Y-%m-%d %H:%M:%S} EAT"
        )
    if dtype == DType.DAY.pandas:
        return lambda value: _MISSING if pd.isna(value) else f"{value:%Y-%m-%d}"
    if dtype == DType.FLAG.pandas:
        return lambda value: _MISSING if pd.isna(value) else ("yes" if value else "no")
    return lambda value: _MISSING if pd.isna(value) else safe(str(value), _CELL)


def _lead(text: str, *, linked: Container[str]) -> str:
    """Return a cell as HTML, which leads to the payment's story where there is one."""
    shown = html.escape(text)
    return f'<a href="#{anchor(text)}">{shown}</a>' if text in linked else shown


def _styles(cells: pd.DataFrame, numbers: list[str]) -> Any:
    # By position: two columns may be called the same once their text is made safe.
    places = [cells.columns.get_loc(name) for name in numbers]
    right = [
        {"selector": f"{cell}.col{place}", "props": look}
        for place in places
        for cell, look in (("td", _NUMBER), ("th", "text-align: right"))
    ]
    return [*_LOOK, *right]


def _total(cells: pd.DataFrame, *, rows: list[bool]) -> pd.DataFrame:
    looks = [["font-weight: 600" if total else ""] * len(cells.columns) for total in rows]
    return pd.DataFrame(looks, index=cells.index, columns=cells.columns)


def _slug(title: str) -> str:
    # A fixed id, so that the same table is the same bytes; pandas would draw a random one.
    return "".join(letter if letter.isascii() and letter.isalnum() else "-" for letter in title)


def _escaped(text: str) -> str:
    return safe(text, 400).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
