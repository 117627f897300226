"""What a page answers, on top of it: each finding in one line, with its count and its sum.

The tables below say where the figures come from; `views.facts` draws these lines.
"""

from typing import Any, Final

import pandas as pd

from kusanya_books import columns
from kusanya_books.judge.fees import FeeAudit
from kusanya_books.present import layout
from kusanya_books.request.report_inputs import Inputs

_NONE: Final = "0"


def fees(audit: FeeAudit, moved: pd.DataFrame, inputs: Inputs) -> dict[str, str]:
    """Return whether the fees of a period are the tariff's, and what they came to.

    `moved` are the collections of which two sources say different fees. Where no tariff was agreed
    the one that explains the fees is the measure, and that is said.
    """
    rows, unpaid = audit.exceptions, audit.unpaid
    deducted = unpaid[unpaid["deducted_lines"] > 0]
    facts = {
        "measured against": "the tariff found in the fees themselves: none was given"
        if inputs.tariff is None
        else "the agreed tariff",
        "fees above it": _sums(rows[rows["drift"] > 0], "drift"),
        "fees below it": _sums(rows[rows["drift"] < 0], "drift"),
        "collections that it does not price": _count(audit.by_band["unpriced"]),
        "fees of which two sources differ": _sums(moved, "drift"),
        "fees deducted on what did not succeed": _sums(deducted, "deducted", "deducted_lines")
        if inputs.statement is not None
        else "not proven: no statement was given",
        "fees quoted on what did not succeed": _sums(unpaid, "quoted", "collections"),
    }
    for row in columns.records(audit.daily[layout.is_sum(audit.daily)]):
        asks = "does not price all" if pd.isna(row.expected_fee) else f"asks {row.expected_fee:,}"
        facts[f"fees on what succeeded, {row.currency}"] = (
            f"{row.fee:,} of {row.gross:,}; the tariff {asks}"
        )
    return facts


def failures(rates: pd.DataFrame, codes: pd.DataFrame, recovered: pd.DataFrame) -> dict[str, str]:
    """Return how many customers paid in the end, what failures cost, and what costs most.

    `rates` has one row for each currency, `codes` and `recovered` one for each code of it.
    """
    facts: dict[str, str] = {}
    for rate in columns.records(rates):
        lost = recovered[recovered["currency"] == rate.currency]
        failed = codes[codes["currency"] == rate.currency]
        mark = f", {rate.currency}"
        facts[f"references paid in the end{mark}"] = _share(
            rate.reference_rate, rate.references_paid, rate.references
        )
        facts[f"attempts that succeeded{mark}"] = _share(rate.rate, rate.succeeded, rate.attempts)
        for label, name in (
            ("came back after a failure", "value_recovered"),
            ("may still come back", "value_open"),
            ("lost", "value_lost"),
        ):
            facts[f"{label}{mark}"] = f"{int(lost[name].sum()):,}"
        facts[f"most is lost to{mark}"] = _worst(lost, "value_lost")
        facts[f"most money failed with{mark}"] = _worst(failed, "value")
    return facts or {"attempts": "none was made in this period"}


def _sums(frame: pd.DataFrame, amount: str, count: str | None = None) -> str:
    """Return how many rows there are and their sum, by currency; 0 where there are none."""
    parts = []
    for currency, rows in frame.groupby("currency", sort=True):
        many = len(rows) if count is None else int(rows[count].sum())
        parts.append(f"{many:,}, {currency} {int(rows[amount].sum()):,}")
    return "; ".join(parts) or _NONE


def _count(column: "pd.Series[Any]") -> str:
    return f"{int(column.sum()):,}"


def _share(rate: Any, of: int, base: int) -> str:
    return "no final attempt" if pd.isna(rate) else f"{rate:.1%}, {of:,} of {base:,}"


def _worst(frame: pd.DataFrame, amount: str) -> str:
    """Return the code that most of the money belongs to."""
    total = int(frame[amount].sum())
    if total == 0:
        return "nothing"
    worst = next(columns.records(frame.sort_values(amount, ascending=False, kind="stable")))
    return f"{worst.code}, {getattr(worst, amount):,} of {total:,}"
