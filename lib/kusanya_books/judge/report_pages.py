"""The pages of a report: one table each, with a short name for its file and sheet, and a title."""

from collections.abc import Iterable, Iterator
from typing import Any, Final

import msgspec
import pandas as pd

from kusanya_books import columns
from kusanya_books.columns import (
    AGEING,
    BREAKS,
    BRIDGE,
    DOUBLES,
    LEG_BRIDGE,
    PAIRS,
    PAYOUTS,
    Schema,
)
from kusanya_books.engine.engines import open_engine
from kusanya_books.engine.on_disk import Pieces
from kusanya_books.judge import accounting, failures, fees, reconciliation
from kusanya_books.judge.worst_first import worst_first
from kusanya_books.match import ledger
from kusanya_books.match.ledger import LedgerMatch
from kusanya_books.match.legs import Leg
from kusanya_books.match.settlement import SettlementMatch
from kusanya_books.request import quality
from kusanya_books.request.report_inputs import Inputs

_PAIRS_SHOWN: Final = 5_000
"""Matched pairs on their sheet: enough to sample from; the files have all."""
_PAIRS_SUMS: Final = Schema(
    "sums of pairs",
    {
        name: PAIRS.columns[name]
        for name in ("currency", "amount_ledger", "amount_service", "fee_service")
    },
)
_PAIRS_SUMMED: Final = """
SELECT
    currency,
    sum(amount_ledger)::BIGINT AS amount_ledger,
    sum(amount_service)::BIGINT AS amount_service,
    sum(fee_service)::BIGINT AS fee_service
FROM pairs
GROUP BY currency
ORDER BY currency
"""


_NO_PROOF: Final = "not proven: no {} was given"


class ReportPage(msgspec.Struct, frozen=True):
    """One table of the report: a short name for files and sheets, a title, the rows."""

    name: str
    title: str
    frame: pd.DataFrame
    sheet_rows: int | None = None
    """How many rows its sheet shows where that are fewer than a sheet holds."""
    every: Pieces | None = None
    """All its rows, where they are too many for memory: `frame` then holds the first ones."""
    sums: pd.DataFrame | None = None
    """The sums of all of them by currency, where `every` is there."""

    @property
    def rows(self) -> int:
        """Return how many rows the table has."""
        return len(self.frame) if self.every is None else len(self.every)

    @property
    def parts(self) -> Iterable[pd.DataFrame]:
        """Return the frames that the table consists of, in order."""
        return [self.frame] if self.every is None else self.every


def front(
    inputs: Inputs, settled: SettlementMatch | None, rest: tuple[ReportPage, ...]
) -> tuple[ReportPage, ...]:
    """Return the pages that stand first: statement, providers, totals of files."""
    frames = {page.name: page.frame for page in rest}
    bridges = [(page.title, page.frame) for page in rest if reconciliation.is_bridge(page.frame)]
    paid_out = None if settled is None else settled.rows
    lines = reconciliation.statement(bridges)
    return (
        ReportPage("balances", "Every bridge in one line", reconciliation.balances(lines)),
        ReportPage("reconciliation", "Reconciliation statement", lines),
        ReportPage("providers", "By provider", reconciliation.providers(frames["fees"], paid_out)),
        ReportPage(
            "control_totals",
            "Totals of the files",
            reconciliation.controls(frames["lines"], inputs.quality, inputs.movements),
        ),
    )


def of_books(matched: LedgerMatch | None) -> Iterator[ReportPage]:
    """Yield the pages of the books; without books each is empty, and its title says so."""
    yield ReportPage("bridge", _title("From the ledger to the service", matched), _bridge(matched))
    yield ReportPage("breaks", _title("Breaks, worst first", matched), _rows(matched))
    yield _pairs(matched)
    yield ReportPage("ageing", _title("Breaks by age in days", matched), _ageing(matched))
    yield ReportPage("double_payments", "Double payments and what to refund", _doubles(matched))


def of_payouts(settled: SettlementMatch | None) -> Iterator[ReportPage]:
    """Yield the pages of the settlement statement."""
    yield ReportPage(
        "settlement",
        _title("What was paid out", settled, "statement"),
        columns.empty(PAYOUTS) if settled is None else worst_first(settled.rows),
    )
    yield ReportPage(
        "settlement_bridge",
        _title("From gross to what was paid out", settled, "statement"),
        columns.empty(BRIDGE) if settled is None else settled.bridge,
    )


def of_leg(name: str, title: str, leg: Leg | None, rows: Schema) -> Iterator[ReportPage]:
    """Yield the pages of the operator's or the bank's leg; `rows` is the schema of its lines."""
    wants = f"{name}'s statement"
    yield ReportPage(
        name,
        _title(f"Lines of the {name}, worst first", leg, wants),
        columns.empty(rows) if leg is None else leg.rows,
    )
    yield ReportPage(
        f"{name}_bridge",
        _title(title, leg, wants),
        columns.empty(LEG_BRIDGE) if leg is None else leg.bridge,
    )


def of_fees(
    inputs: Inputs, charged: pd.DataFrame, priced: fees.TariffCheck, booked: pd.DataFrame
) -> Iterator[ReportPage]:
    """Yield the pages of the fees: by day, what to book, the tariff `charged`, what differs."""
    yield ReportPage("fees", "Fees by business day and channel", priced.daily)
    yield ReportPage("postings", "What to book, by business day and channel", booked)
    yield ReportPage("tariff", "The tariff that was charged", charged)
    yield ReportPage("fee_exceptions", "Fees that are not the tariff's", priced.exceptions)
    moved = fees.drifted(inputs.collections, period=inputs.period)
    yield ReportPage("fee_drift", "Fees that moved", moved)


def of_failures(inputs: Inputs) -> Iterator[ReportPage]:
    """Yield the pages of what did not succeed."""
    codes = failures.pareto(inputs.collections, period=inputs.period)
    yield ReportPage("failure_codes", "Why attempts did not succeed", codes)
    recovered = failures.recovery(
        inputs.collections,
        period=inputs.period,
        as_of=inputs.judged_on,
        recovery_days=inputs.tolerance.recovery_days,
        small_n=inputs.tolerance.small_n,
    )
    yield ReportPage("recovery", "What came back after a failure", recovered)


def of_files(inputs: Inputs, legs: Iterable[Any]) -> Iterator[ReportPage]:
    """Yield the pages of what was read, of where it went, and of what could not be read."""
    went = accounting.accounted(inputs, legs)
    yield ReportPage("accounted", "Where every line went", went)
    yield ReportPage("inputs", "What was read", quality.account(*inputs.quality))
    lines = ledger.lines(inputs.ledger, inputs.statement, period=inputs.period)
    yield ReportPage("lines", "Lines of the files, in the period and outside it", lines)
    yield ReportPage("unread", "Rows that could not be read", quality.unread(*inputs.quality))
    yield ReportPage("remarks", "Rows that were not simply kept", quality.remarks(*inputs.quality))


def _title(
    title: str, leg: LedgerMatch | SettlementMatch | Leg | None, wants: str = "ledger"
) -> str:
    if isinstance(leg, Leg) and leg.is_unread:
        return f"{title}: {_NO_PROOF.format(f'{wants} that could be read')}"
    return f"{title}: {_NO_PROOF.format(wants)}" if leg is None else title


def _bridge(matched: LedgerMatch | None) -> pd.DataFrame:
    return columns.empty(BRIDGE) if matched is None else matched.bridge


def _rows(matched: LedgerMatch | None) -> pd.DataFrame:
    if matched is None:
        return columns.empty(BREAKS)
    # A line that was carried is no row of these books.
    numbers = matched.rows["row_no"].where(matched.rows["row_no"] > 0)
    hints = matched.rows["suggested_match"].str.replace(
        r"^row -.*$", "a line of an earlier period", regex=True
    )
    return worst_first(matched.rows.assign(row_no=numbers, suggested_match=hints))


def _pairs(matched: LedgerMatch | None) -> ReportPage:
    title = _title("Lines of the books that agree, each with its collection", matched)
    if matched is None:
        return ReportPage("matched", title, columns.empty(PAIRS))
    if matched.pairs is None:
        return ReportPage(
            "matched", f"{title}: counted, not listed, of an export", columns.empty(PAIRS)
        )
    if isinstance(matched.pairs, pd.DataFrame):
        return ReportPage("matched", title, matched.pairs, sheet_rows=_PAIRS_SHOWN)
    every = Pieces(matched.pairs)
    shown = every.head(_PAIRS_SHOWN)
    if len(shown) == len(every):
        return ReportPage("matched", title, shown, sheet_rows=_PAIRS_SHOWN)
    with open_engine(matched.pairs) as engine:
        engine.register("pairs", matched.pairs, PAIRS)
        sums = engine.frame(_PAIRS_SUMMED, _PAIRS_SUMS)
    return ReportPage("matched", title, shown, sheet_rows=_PAIRS_SHOWN, every=every, sums=sums)


def _ageing(matched: LedgerMatch | None) -> pd.DataFrame:
    return columns.empty(AGEING) if matched is None else matched.ageing


def _doubles(matched: LedgerMatch | None) -> pd.DataFrame:
    return columns.empty(DOUBLES) if matched is None else matched.doubles
