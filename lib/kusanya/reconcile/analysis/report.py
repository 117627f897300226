"""One period from every side: all frames of the pack, and the verdict."""

from collections.abc import Iterable, Iterator
from enum import StrEnum
from pathlib import Path
from typing import Any, Final

import msgspec
import pandas as pd
import pyarrow as pa

from kusanya.reconcile.analysis import (
    carried_legs,
    failures,
    fees,
    findings,
    open_items,
    postings,
    reconciliation,
    roll_forward,
)
from kusanya.reconcile.analysis.worst_first import worst_first
from kusanya.reconcile.frames import columns, quality
from kusanya.reconcile.frames.columns import (
    AGEING,
    BANK_MATCHES,
    BREAKS,
    BRIDGE,
    CLOSED,
    COLLECTIONS,
    DELTA,
    DOUBLES,
    LEG_BRIDGE,
    OPERATOR_MATCHES,
    PAIRS,
    PAYOUTS,
    Schema,
)
from kusanya.reconcile.frames.engine import query
from kusanya.reconcile.frames.engines import open_engine
from kusanya.reconcile.frames.on_disk import Pieces
from kusanya.reconcile.frames.report_inputs import Inputs
from kusanya.reconcile.matching import bank, ledger, operator, settlement
from kusanya.reconcile.matching.bank import BankMatch
from kusanya.reconcile.matching.ledger import LedgerMatch, Progress
from kusanya.reconcile.matching.legs import Leg
from kusanya.reconcile.matching.operator import OperatorMatch
from kusanya.reconcile.matching.settlement import SettlementMatch


class ReportVerdict(StrEnum):
    """How a run ended."""

    RECONCILED = "reconciled"
    BREAKS = "breaks"
    NOT_CLOSED = "not closed"
    """Rows could not be read, or a file's own total is not that of its rows: everything else is
    shown, and nobody may sign."""
    FAILED = "failed"


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


class Page(msgspec.Struct, frozen=True):
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


class Report(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that a pack holds, computed once."""

    inputs: Inputs
    matched: LedgerMatch | None
    settled: SettlementMatch | None
    operator: OperatorMatch | None = None
    bank: BankMatch | None = None
    pages: tuple[Page, ...]
    late: pd.DataFrame
    """What changed in an earlier period since it was closed."""
    findings: pd.DataFrame
    """Everything that a person must look at, as `findings` lists it."""
    items: pd.DataFrame
    """What is open, one by one, as `open_items` lists it, what was carried too."""
    lines: pd.DataFrame
    """The lines of the books that the next period needs beside its own."""
    movements: pd.DataFrame
    """The lines of operators' and banks' statements that the next period needs."""
    payouts: pd.DataFrame
    """The lines of the settlement statement that the bank's open items are about."""

    def closed(self) -> Iterator[pa.Table]:
        """Yield one row per collection of the period: what a later run is compared with."""
        return closed(self.inputs)

    @property
    def legs(self) -> "tuple[LedgerMatch | SettlementMatch | Leg, ...]":
        """Return the legs of which something was given: books, payouts, operator, bank."""
        every = (self.matched, self.settled, self.operator, self.bank)
        return tuple(leg for leg in every if leg is not None)

    @property
    def breaks(self) -> int:
        """Return how many breaks the legs have that nobody has accepted."""
        statements = {findings.OPERATOR, findings.BANK}
        given = open_items.accepted(self.items)["finding"].isin(statements).sum()
        return sum(leg.breaks for leg in self.legs) - int(given)

    @property
    def unexplained(self) -> int:
        """Return what the bridges leave unexplained, signs aside."""
        return sum(leg.unexplained for leg in self.legs)

    @property
    def disagrees(self) -> int:
        """Return how many lines of the control differ from the store's rollups."""
        return int((~self.inputs.control["agrees"]).sum())

    def verdict(self, *, max_breaks: int = 0) -> ReportVerdict:
        """Return not closed when an input is incomplete, reconciled when nothing is left to do.

        Up to `max_breaks` breaks of books and statement are tolerated; any other finding is not.
        """
        if self.inputs.rejected or self.inputs.differing:
            return ReportVerdict.NOT_CLOSED
        within = self.breaks <= max_breaks
        left = findings.left(self.findings, within=within)
        return (
            ReportVerdict.RECONCILED
            if self.matched is not None and left.empty
            else ReportVerdict.BREAKS
        )

    def page(self, name: str) -> Page:
        """Return a page by its name. Raises KeyError for none of that name."""
        for page in self.pages:
            if page.name == name:
                return page
        raise KeyError(name)


_NO_PROOF: Final = "not proven: no {} was given"


def report(
    inputs: Inputs, *, late: pd.DataFrame | None = None, progress: Progress | None = None
) -> Report:
    """Compute every frame of a period. `late` is the delta of an earlier, closed one."""
    report_step = progress or (lambda _: None)
    # Of an export that is never loaded whole the pairs are counted, not listed.
    report_step("matching the ledger")
    matched = ledger.of(inputs, everything=False, pairs=not inputs.is_export, progress=progress)
    report_step("matching the settlement statement")
    settled = settlement.of(inputs)
    report_step("matching the operator's and the bank's statements")
    of_operator, of_bank = operator.of(inputs, everything=False), bank.of(inputs)
    report_step("auditing fees: which tariff was charged")
    rows, period = inputs.collections, inputs.period
    charged = fees.tariff(rows, period=period)
    agreed = inputs.tariff if inputs.tariff is not None else charged
    report_step("auditing fees: by day and channel")
    daily = fees.daily(rows, period=period, tariff=agreed)
    delta = columns.empty(DELTA) if late is None else late
    exceptions = fees.exceptions(rows, period=period, tariff=agreed)
    found = findings.findings(
        inputs,
        matched=matched,
        settled=settled,
        operator=of_operator,
        bank=of_bank,
        exceptions=exceptions,
        unpriced=fees.unpriced(rows, period=period, tariff=agreed),
        late=late,
    )
    report_step("listing what is open")
    items = open_items.items(
        inputs,
        matched=matched,
        settled=settled,
        operator=of_operator,
        bank=of_bank,
        exceptions=exceptions,
        late=delta,
    )
    rolled = roll_forward.roll(inputs, items, matched=matched, bank=of_bank)
    items = rolled.items
    movements, payouts = carried_legs.to_carry(inputs, items)
    found = findings.with_carried(found, items, rolled.table, is_given=inputs.carried is not None)
    given = open_items.accepted(items)
    found = findings.less(
        found,
        given,
        expected=rolled.expected,
        refunds=open_items.refunds_of(matched, given),
    )
    report_step("counting failures")
    rest = (
        Page("findings", "What needs a person", found),
        Page("open_items", "What is open, with owner, status and note", items),
        Page("rolled_forward", "From what was open to what is open", rolled.table),
        Page("carried", "What an earlier period left open, and how it ended", rolled.carried),
        Page("bridge", _title("From the ledger to the service", matched), _bridge(matched)),
        Page("breaks", _title("Breaks, worst first", matched), _rows(matched)),
        _pairs(matched),
        Page("ageing", _title("Breaks by age in days", matched), _ageing(matched)),
        Page("double_payments", "Double payments and what to refund", _doubles(matched)),
        Page(
            "settlement",
            _title("What was paid out", settled, "statement"),
            columns.empty(PAYOUTS) if settled is None else worst_first(settled.rows),
        ),
        Page(
            "settlement_bridge",
            _title("From gross to what was paid out", settled, "statement"),
            columns.empty(BRIDGE) if settled is None else settled.bridge,
        ),
        *_leg("operator", "From the operator to the service", of_operator, OPERATOR_MATCHES),
        *_leg("bank", "From the bank to the payouts", of_bank, BANK_MATCHES),
        Page("fees", "Fees by business day and channel", daily),
        Page(
            "postings",
            "What to book, by business day and channel",
            postings.postings(inputs, daily),
        ),
        Page("tariff", "The tariff that was charged", charged),
        Page(
            "fee_exceptions",
            "Fees that are not the tariff's",
            exceptions,
        ),
        Page("fee_drift", "Fees that moved", fees.drifted(rows, period=period)),
        Page(
            "failure_codes",
            "Why attempts did not succeed",
            failures.pareto(rows, period=period),
        ),
        Page(
            "recovery",
            "What came back after a failure",
            failures.recovery(
                rows,
                period=period,
                as_of=inputs.judged_on,
                recovery_days=inputs.tolerance.recovery_days,
                small_n=inputs.tolerance.small_n,
            ),
        ),
        Page("inputs", "What was read", quality.account(*inputs.quality)),
        Page(
            "lines",
            "Lines of the files, in the period and outside it",
            ledger.lines(inputs.ledger, inputs.statement, period=period),
        ),
        Page("unread", "Rows that could not be read", quality.unread(*inputs.quality)),
        Page("remarks", "Rows that were not simply kept", quality.remarks(*inputs.quality)),
        Page("late", "What changed since an earlier close", delta),
    )
    return Report(
        inputs=inputs,
        matched=matched,
        settled=settled,
        operator=of_operator,
        bank=of_bank,
        pages=(*_front(inputs, settled, rest), *rest),
        late=delta,
        findings=found,
        items=items,
        lines=rolled.lines,
        movements=movements,
        payouts=payouts,
    )


def _front(
    inputs: Inputs, settled: SettlementMatch | None, rest: tuple[Page, ...]
) -> tuple[Page, ...]:
    """Return the pages that stand first: statement, providers, totals of files."""
    frames = {page.name: page.frame for page in rest}
    bridges = [(page.title, page.frame) for page in rest if reconciliation.is_bridge(page.frame)]
    paid_out = None if settled is None else settled.rows
    lines = reconciliation.statement(bridges)
    return (
        Page("balances", "Every bridge in one line", reconciliation.balances(lines)),
        Page("reconciliation", "Reconciliation statement", lines),
        Page("providers", "By provider", reconciliation.providers(frames["fees"], paid_out)),
        Page(
            "control_totals",
            "Totals of the files",
            reconciliation.controls(frames["lines"], inputs.quality, inputs.movements),
        ),
    )


def closed(inputs: Inputs) -> Iterator[pa.Table]:
    """Yield what a period says about each of its collections, by id, in pieces.

    A later run is compared with it.
    """
    with open_engine(inputs.collections) as engine:
        engine.register("collections", inputs.collections, COLLECTIONS)
        days = {"first": inputs.period.first, "last": inputs.period.last}
        yield from engine.pieces(query("closed"), CLOSED, days)


def _leg(name: str, title: str, leg: Leg | None, rows: Schema) -> Iterator[Page]:
    wants = f"{name}'s statement"
    yield Page(
        name,
        _title(f"Lines of the {name}, worst first", leg, wants),
        columns.empty(rows) if leg is None else leg.rows,
    )
    yield Page(
        f"{name}_bridge",
        _title(title, leg, wants),
        columns.empty(LEG_BRIDGE) if leg is None else leg.bridge,
    )


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


def _pairs(matched: LedgerMatch | None) -> Page:
    title = _title("Lines of the books that agree, each with its collection", matched)
    if matched is None:
        return Page("matched", title, columns.empty(PAIRS))
    if matched.pairs is None:
        return Page("matched", f"{title}: counted, not listed, of an export", columns.empty(PAIRS))
    if isinstance(matched.pairs, pd.DataFrame):
        return Page("matched", title, matched.pairs, sheet_rows=_PAIRS_SHOWN)
    every = Pieces(matched.pairs)
    shown = every.head(_PAIRS_SHOWN)
    if len(shown) == len(every):
        return Page("matched", title, shown, sheet_rows=_PAIRS_SHOWN)
    with open_engine(matched.pairs) as engine:
        engine.register("pairs", matched.pairs, PAIRS)
        sums = engine.frame(_PAIRS_SUMMED, _PAIRS_SUMS)
    return Page("matched", title, shown, sheet_rows=_PAIRS_SHOWN, every=every, sums=sums)


def _ageing(matched: LedgerMatch | None) -> pd.DataFrame:
    return columns.empty(AGEING) if matched is None else matched.ageing


def _doubles(matched: LedgerMatch | None) -> pd.DataFrame:
    return columns.empty(DOUBLES) if matched is None else matched.doubles


class CloseResult(msgspec.Struct, frozen=True, kw_only=True):
    """How a run ended, for the command line and for scripts."""

    verdict: ReportVerdict
    sentence: str
    run_id: str | None = None
    folder: Path | None = None
    breaks: int = 0
    unexplained: int = 0
    by_code: dict[str, int] = {}
    """How many rows each break code has, of all legs."""
    findings: tuple[dict[str, Any], ...] = ()
    """Everything that needs a person, as `findings` lists it; empty for a failed run."""
    receipts: int | None = None
    """How many receipts are new in the store; None where none were to be kept."""

    @property
    def exit_code(self) -> int:
        """Return 0 when reconciled, else 1; 2 is for usage and never a result."""
        return 0 if self.verdict is ReportVerdict.RECONCILED else 1

    def to_dict(self) -> dict[str, Any]:
        """Return the result as JSON has it."""
        return {
            "verdict": self.verdict.value,
            "sentence": self.sentence,
            "run_id": self.run_id,
            "folder": None if self.folder is None else str(self.folder),
            "breaks": self.breaks,
            "unexplained": self.unexplained,
            "by_code": self.by_code,
            "findings": list(self.findings),
            "receipts": self.receipts,
        }
