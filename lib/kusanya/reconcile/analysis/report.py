"""One period from every side: all frames of the pack, and the verdict."""

from collections.abc import Callable
from enum import StrEnum
from pathlib import Path
from typing import Any, Final

import msgspec
import pandas as pd

from kusanya.reconcile.analysis import failures, fees, findings
from kusanya.reconcile.frames import columns, quality
from kusanya.reconcile.frames.columns import (
    AGEING,
    BRIDGE,
    CLOSED,
    COLLECTIONS,
    DELTA,
    DOUBLES,
    MATCHES,
    SETTLED,
)
from kusanya.reconcile.frames.engine import Engine, folders_of, query
from kusanya.reconcile.frames.report_inputs import Inputs
from kusanya.reconcile.matching import ledger, settlement
from kusanya.reconcile.matching.ledger import Matched
from kusanya.reconcile.matching.settlement import Settled

Progress = Callable[[str], None]
"""Called with what is being done, for people who wait."""


class ReportVerdict(StrEnum):
    """How a run ended."""

    RECONCILED = "reconciled"
    BREAKS = "breaks"
    FAILED = "failed"


class Page(msgspec.Struct, frozen=True):
    """One table of the report: a short name for files and sheets, a title, the rows."""

    name: str
    title: str
    frame: pd.DataFrame


class Report(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that a pack holds, computed once."""

    inputs: Inputs
    matched: Matched | None
    settled: Settled | None
    pages: tuple[Page, ...]
    late: pd.DataFrame
    """What changed in an earlier period since it was closed."""
    findings: pd.DataFrame
    """Everything that a person must look at, as `findings` lists it."""

    @property
    def closed(self) -> pd.DataFrame:
        """Return one row per collection of the period: what a later run is compared with."""
        return closed(self.inputs)

    @property
    def breaks(self) -> int:
        """Return how many breaks ledger and statement have together."""
        return sum(leg.breaks for leg in (self.matched, self.settled) if leg is not None)

    @property
    def unexplained(self) -> int:
        """Return what the bridges leave unexplained, signs aside."""
        return sum(leg.unexplained for leg in (self.matched, self.settled) if leg is not None)

    @property
    def disagrees(self) -> int:
        """Return how many lines of the control differ from the store's rollups."""
        return int((~self.inputs.control["agrees"]).sum())

    def verdict(self, *, max_breaks: int = 0) -> ReportVerdict:
        """Return failed when a row could not be read, reconciled when nothing is left to look at.

        Up to `max_breaks` breaks of books and statement are tolerated; any other finding is not.
        """
        if self.inputs.rejected:
            return ReportVerdict.FAILED
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
    report_step("matching the ledger")
    matched = ledger.of(inputs, everything=False)
    report_step("matching the settlement statement")
    settled = settlement.of(inputs)
    report_step("auditing fees")
    rows, period = inputs.collections, inputs.period
    charged = fees.tariff(rows, period=period)
    agreed = inputs.tariff if inputs.tariff is not None else charged
    report_step("counting failures")
    delta = columns.empty(DELTA) if late is None else late
    exceptions = fees.exceptions(rows, period=period, tariff=agreed)
    found = findings.findings(
        inputs,
        matched=matched,
        settled=settled,
        exceptions=exceptions,
        unpriced=fees.unpriced(rows, period=period, tariff=agreed),
        late=late,
    )
    pages = (
        Page("findings", "What needs a person", found),
        Page("bridge", _title("From the ledger to the service", matched), _bridge(matched)),
        Page("breaks", _title("Breaks, worst first", matched), _rows(matched)),
        Page("ageing", _title("Breaks by age in days", matched), _ageing(matched)),
        Page("double_payments", "Double payments and what to refund", _doubles(matched)),
        Page(
            "settlement",
            _title("What was paid out", settled, "statement"),
            columns.empty(SETTLED) if settled is None else settled.rows,
        ),
        Page(
            "settlement_bridge",
            _title("From gross to what was paid out", settled, "statement"),
            columns.empty(BRIDGE) if settled is None else settled.bridge,
        ),
        Page(
            "fees",
            "Fees by business day and channel",
            fees.daily(rows, period=period, tariff=agreed),
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
        Page("remarks", "Rows that were not simply kept", quality.remarks(*inputs.quality)),
        Page("late", "What changed since an earlier close", delta),
    )
    return Report(
        inputs=inputs,
        matched=matched,
        settled=settled,
        pages=pages,
        late=delta,
        findings=found,
    )


def closed(inputs: Inputs) -> pd.DataFrame:
    """Return what a period says about each of its collections, for a later run to compare with."""
    with Engine(folders=folders_of(inputs.collections)) as engine:
        engine.register("collections", inputs.collections, COLLECTIONS)
        days = {"first": inputs.period.first, "last": inputs.period.last}
        return engine.frame(query("closed"), CLOSED, days)


def _title(title: str, leg: Matched | Settled | None, wants: str = "ledger") -> str:
    return f"{title}: {_NO_PROOF.format(wants)}" if leg is None else title


def _bridge(matched: Matched | None) -> pd.DataFrame:
    return columns.empty(BRIDGE) if matched is None else matched.bridge


def _rows(matched: Matched | None) -> pd.DataFrame:
    return columns.empty(MATCHES) if matched is None else matched.rows


def _ageing(matched: Matched | None) -> pd.DataFrame:
    return columns.empty(AGEING) if matched is None else matched.ageing


def _doubles(matched: Matched | None) -> pd.DataFrame:
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
    """How many rows each break code has, of both legs."""
    findings: tuple[dict[str, Any], ...] = ()
    """Everything that needs a person, as `findings` lists it; empty for a failed run."""

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
        }
