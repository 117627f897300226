"""Frames for people's eyes: a table that is returned, its text escaped and its invisible marked.

pandas' Styler does not escape by itself, neither cells nor headers, and a failure code becomes a
header sooner or later: this is the one place that makes tables, and it escapes both.
"""

import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

import pandas as pd
from pandas.io.formats.style import Styler

from kusanya.business_day import EAT
from kusanya.reconcile.frames import columns, quality
from kusanya.reconcile.frames.columns import DType
from kusanya.reconcile.frames.report_inputs import Inputs
from kusanya.reconcile.matching import breaks
from kusanya.reconcile.matching.ledger import Matched
from kusanya.reconcile.matching.settlement import Settled
from kusanya.text import safe

if TYPE_CHECKING:  # both write tables themselves
    from kusanya.reconcile.analysis.report import CloseResult, Report

ROWS: Final = 500
"""Rows that a table shows; its caption says when there are more."""
TOTAL: Final = "(all)"
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
        "props": "text-align: left; font-variant-numeric: tabular-nums; white-space: nowrap",
    },
]
_READ: Final = (
    "break_code",
    "suggested_action",
    "reference",
    "collection_id",
    "row_no",
    "amount_ledger",
    "amount_service",
    "bridge_effect",
    "fee_drift",
    "currency_ledger",
    "currency_service",
    "status_ledger",
    "status_service",
    "booked_day",
    "business_day",
    "age_days",
    "channel",
    "suggested_match",
)
"""What a person needs of a break, the most useful first; the files of a pack have every column."""
_TOTALS: Final = frozenset(
    {
        TOTAL,
        *("ledger total", "service total", "unexplained"),
        *("gross", "net", "paid out", "open balance"),
    }
)
"""Lines that are sums of the others."""
_AGE: Final = re.compile(r"rows_(\d+_\d+|over_\d+)")
"""A column that counts rows of an age."""
_MEANS: Final = {
    code: verdict.meaning for code, verdict in {**breaks.LEDGER, **breaks.SETTLEMENT}.items()
}


def table(frame: pd.DataFrame, title: str, *, rows: int = ROWS) -> Styler:
    """Return `frame` as an escaped table under `title`; the caption says when rows are left out.

    Money and counts have thousands separators, instants are East Africa Time, shares are percent,
    a row whose channel is (all) and the sums of a bridge are set off as totals.
    """
    shown = frame.head(rows)
    cut = "" if len(frame) <= rows else f" · the first {rows:,} of {len(frame):,} rows"
    cells = pd.DataFrame(
        {name: shown[name].map(_form(shown[name])).astype("object") for name in shown.columns}
    )
    numbers = [name for name in shown.columns if _is_number(shown[name])]
    labels = {name: _label(str(name)) for name in shown.columns}
    styler = Styler(cells.rename(columns=labels), uuid=_slug(title), cell_ids=False)
    styler = styler.format(escape="html").format_index(escape="html", axis=0)
    styler = styler.format_index(escape="html", axis=1).hide(axis="index")
    styler = styler.set_caption(_escaped(f"{title}{cut}")).set_table_styles(_styles(cells, numbers))
    return styler.apply(_total, axis=None, rows=sums(shown))


def sums(frame: pd.DataFrame) -> list[bool]:
    """Tell of every row whether it is a sum of others: a total of days, a side of a bridge."""
    name = next((name for name in ("channel", "line") if name in frame), None)
    return [False] * len(frame) if name is None else frame[name].isin(_TOTALS).tolist()


def heading(inputs: Inputs, *, basis: str = "business day of completion") -> Styler:
    """Return what every page begins with: where it comes from, which days, how they are counted."""
    facts = {
        "source": inputs.source,
        "mode": inputs.mode.value,
        "business days": str(inputs.period),
        "counted by": basis,
        "facts known up to": f"journal position {inputs.as_of:,}",
        "collections read": f"{inputs.read:,}, some days around the period included",
    }
    return _facts(facts, "What this page is made from")


def account(inputs: Inputs) -> Styler:
    """Return what each input held, kept and dropped."""
    return table(quality.account(*inputs.quality), "Rows read, kept and dropped")


def leg(
    matched: Matched | Settled | None, part: str, title: str, *, wants: str = "ledger"
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
    """Return a frame as people read it: of breaks the columns that matter, and what a code means.

    A frame without codes is returned as it is.
    """
    code = next((name for name in ("break_code", "line") if name in frame), None)
    if code is None:
        return frame
    wide = set(_READ) <= set(frame.columns)
    shown = frame[list(_READ)] if wide else frame.copy()
    meaning = shown[code].map(_MEANS).astype(DType.TEXT.pandas)
    shown.insert(list(shown.columns).index(code) + 1, "meaning", meaning)
    return shown


def verdict(made: "Report") -> Styler:
    """Return how the period stands: the verdict, and every finding with its count and sum."""
    facts = {"verdict": made.verdict().value, **_findings(made)}
    return _facts(facts, "How the period stands")


def _findings(made: "Report") -> dict[str, str]:
    facts: dict[str, str] = {}
    for row in columns.records(made.findings):
        money = "" if pd.isna(row.amount) else f", {row.currency} {row.amount:,}"
        text = row.note if pd.isna(row.rows) else f"{row.rows:,}{money}"
        facts[row.finding] = f"{facts[row.finding]}; {text}" if row.finding in facts else text
    return facts


def close_result(result: "CloseResult", made: "Report | None" = None) -> Styler:
    """Return how a run ended and where its pack lies; of a report also every finding."""
    facts = {
        "verdict": result.verdict.value,
        "in words": result.sentence,
        "run id": result.run_id or _MISSING,
        "pack": _MISSING if result.folder is None else str(result.folder),
        **({} if made is None else _findings(made)),
    }
    return _facts(facts, "How the run ended")


def _facts(facts: dict[str, str], title: str) -> Styler:
    frame = pd.DataFrame({"": list(facts), "value": list(facts.values())}, dtype="object")
    return table(frame, title)


def _label(name: str) -> str:
    age = _AGE.fullmatch(name)
    return f"{_between(age[1])} days" if age else safe(name).replace("_", " ")


def _between(age: str) -> str:
    return age.replace("over_", "over ").replace("_", "–")


def _is_number(column: "pd.Series[Any]") -> bool:
    return column.dtype in (DType.WHOLE.pandas, DType.SHARE.pandas)


def _form(column: "pd.Series[Any]") -> Callable[[Any], str]:
    dtype = column.dtype
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


def _styles(cells: pd.DataFrame, numbers: list[str]) -> Any:
    # By position: two columns may be called the same once their text is made safe.
    places = [cells.columns.get_loc(name) for name in numbers]
    right = [
        {"selector": f"{cell}.col{place}", "props": "text-align: right"}
        for place in places
        for cell in ("td", "th")
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
