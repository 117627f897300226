"""One period from every side: all frames of the pack, and the verdict."""

from collections.abc import Iterator
from enum import StrEnum
from pathlib import Path
from typing import Any, Final, assert_never

import msgspec
import pandas as pd
import pyarrow as pa

from kusanya_books import columns
from kusanya_books.columns import (
    BANK_MATCHES,
    CLOSED,
    COLLECTIONS,
    DELTA,
    OPERATOR_MATCHES,
)
from kusanya_books.engine.engine import Source, query
from kusanya_books.engine.engines import open_engine, shared_databases
from kusanya_books.judge import (
    accounting,
    carried_legs,
    carried_payouts,
    coverage,
    fees,
    findings,
    look_first,
    open_items,
    postings,
    proof,
    report_pages,
    roll_forward,
)
from kusanya_books.judge.report_pages import ReportPage
from kusanya_books.judge.roll_forward import RollForward
from kusanya_books.match import bank, break_life, ledger, operator, settlement
from kusanya_books.match.bank import BankMatch
from kusanya_books.match.ledger import LedgerMatch, Progress
from kusanya_books.match.legs import Leg
from kusanya_books.match.operator import OperatorMatch
from kusanya_books.match.settlement import SettlementMatch
from kusanya_books.request.days import Period
from kusanya_books.request.report_inputs import Inputs

OF_LEGS: Final = (findings.BREAKS, findings.PAYOUTS, findings.OPERATOR, findings.BANK)
"""The findings that are breaks of a leg."""


class ReportVerdict(StrEnum):
    """How a run ended."""

    RECONCILED = "reconciled"
    BREAKS = "breaks"
    NOT_PROVEN = "not proven"
    """Nothing is left to do as far as it was looked, and that was not far enough to sign."""
    NOT_CLOSED = "not closed"
    """Rows could not be read, or a file's own total is not that of its rows: everything else is
    shown, and nobody may sign."""
    FAILED = "failed"

    @property
    def may_sign(self) -> bool:
        """Return whether the pack of such a run is one to sign."""
        return self is ReportVerdict.RECONCILED

    @property
    def banner(self) -> str:
        """Return what stands on top of every page of a pack that is not to be signed, else ''."""
        match self:
            case ReportVerdict.RECONCILED:
                return ""
            case ReportVerdict.BREAKS:
                return "Breaks are open: do not sign."
            case ReportVerdict.NOT_PROVEN:
                return "Not proven: do not sign."
            case ReportVerdict.NOT_CLOSED:
                return "Not closed: do not sign."
            case ReportVerdict.FAILED:
                return "Failed: do not sign."
            case _:
                assert_never(self)


class Report(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that a pack holds, computed once."""

    inputs: Inputs
    matched: LedgerMatch | None
    settled: SettlementMatch | None
    operator: OperatorMatch | None = None
    bank: BankMatch | None = None
    pages: tuple[ReportPage, ...]
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
    settlement_lines: pd.DataFrame | None
    """The lines of settlement statements that the next period's may have again; None where they are
    not kept."""
    earned: pd.DataFrame
    """What the payments of each day are, of the periods closed one after the other, as `POSTINGS`
    of collections."""
    coverage: pd.DataFrame
    """How much of the service's money each leg compared, as `COVERAGE`."""
    unproven: tuple[str, ...] = ()
    """What was not proven and must be, each with what to do."""

    def closed(self) -> Iterator[pa.Table]:
        """Yield one row per collection of the period: what a later run is compared with."""
        return closed(self.inputs.collections, self.inputs.period)

    @property
    def legs(self) -> "tuple[LedgerMatch | SettlementMatch | Leg, ...]":
        """Return the legs of which something was given: books, payouts, operator, bank."""
        every = (self.matched, self.settled, self.operator, self.bank)
        return tuple(leg for leg in every if leg is not None)

    @property
    def by_code(self) -> dict[str, int]:
        """Return how many breaks of its own each code has, but for what was accepted.

        What puts right a carried item is none of them, though no other row explains it.
        """
        own = self.items["finding"].isin(OF_LEGS) & break_life.stands(self.items)
        counted = self.items.loc[own, "break_code"].value_counts()
        return {str(code): int(rows) for code, rows in sorted(counted.items())}

    @property
    def breaks(self) -> int:
        """Return how many breaks of its own the legs have that nobody has accepted."""
        return sum(self.by_code.values())

    @property
    def unexplained(self) -> int:
        """Return what the bridges leave unexplained, signs aside."""
        return sum(leg.unexplained for leg in self.legs)

    @property
    def lost(self) -> pd.DataFrame:
        """Return the rows of the page `accounted` that do not add up; there is never one."""
        return accounting.lost(self.page("accounted").frame)

    @property
    def look_first(self) -> tuple[str, ...]:
        """Return which files look wrong as a whole; empty as a rule, and while all is in time.

        Books that are a day behind have no line of a night, and are booked on the next.
        """
        if not self.breaks:
            return ()
        has_books = self.inputs.ledger is not None
        return tuple(look_first.look_first(self.page("accounted").frame, has_books=has_books))

    @property
    def disagrees(self) -> int:
        """Return how many lines of the control differ from the store's rollups."""
        return int((~self.inputs.control["agrees"]).sum())

    def verdict(self, *, max_breaks: int = 0) -> ReportVerdict:
        """Return not closed when an input is incomplete, reconciled when nothing is left to do.

        Not proven is what leaves nothing to do and lacks evidence, as `unproven` says. Up to
        `max_breaks` breaks of books and statement are tolerated; any other finding is not.
        """
        if self.inputs.rejected or self.inputs.differing or len(self.lost):
            return ReportVerdict.NOT_CLOSED
        within = self.breaks <= max_breaks
        left = findings.left(self.findings, within=within)
        if not left.empty:
            return ReportVerdict.BREAKS
        return ReportVerdict.NOT_PROVEN if self.unproven else ReportVerdict.RECONCILED

    def page(self, name: str) -> ReportPage:
        """Return a page by its name. Raises KeyError for none of that name."""
        for page in self.pages:
            if page.name == name:
                return page
        raise KeyError(name)


@shared_databases()
def report(
    inputs: Inputs, *, late: pd.DataFrame | None = None, progress: Progress | None = None
) -> Report:
    """Compute every frame of a period. `late` is the delta of an earlier, closed one."""
    report_step = progress or (lambda _: None)
    legs = _match(inputs, progress)
    report_step("auditing fees: which tariff was charged")
    charged = fees.tariff(inputs.collections, period=inputs.period)
    report_step("auditing fees: by day and channel")
    agreed = charged if inputs.tariff is None else inputs.tariff
    priced = fees.priced(
        inputs.collections, period=inputs.period, tariff=agreed, tolerance=inputs.tolerance
    )
    taken = coverage.taken(inputs)
    covered = coverage.coverage(inputs, taken, **legs.by_name)
    left = _list_open(inputs, legs, priced, late=late, report_step=report_step)
    delta = columns.empty(DELTA) if late is None else late
    booked = postings.postings(
        inputs,
        priced.daily,
        left.rolled.explained,
        payouts=legs.payouts,
        operator=legs.operator,
        since=left.rolled.cleared,
    )
    report_step("counting failures")
    rest = (
        *_pages_of_work(left),
        ReportPage("coverage", "How much of the service's money was compared", covered),
        *_pages_of_legs(legs),
        *report_pages.of_fees(inputs, charged, priced, booked.rows),
        *report_pages.of_failures(inputs),
        *report_pages.of_files(inputs, legs.given),
        ReportPage("late", "What changed since an earlier close", delta),
    )
    movements, payouts = carried_legs.to_carry(inputs, left.rolled.items, legs.operator, legs.bank)
    return Report(
        inputs=inputs,
        matched=legs.books,
        settled=legs.payouts,
        operator=legs.operator,
        bank=legs.bank,
        pages=(*report_pages.front(inputs, legs.payouts, rest), *rest),
        late=delta,
        findings=left.findings,
        items=left.rolled.items,
        lines=left.rolled.lines,
        movements=movements,
        payouts=payouts,
        earned=booked.earned,
        settlement_lines=carried_payouts.settlement_lines(inputs, legs.payouts),
        coverage=covered,
        unproven=tuple(proof.unproven(inputs, taken, covered, left.rolled.items, **legs.by_name)),
    )


class _Legs(msgspec.Struct, frozen=True, kw_only=True):
    """Every leg matched with the service; None where nothing of it was given."""

    books: LedgerMatch | None
    payouts: SettlementMatch | None
    operator: OperatorMatch | None
    bank: BankMatch | None

    @property
    def given(self) -> tuple[Any, ...]:
        """Return the legs of which something was given."""
        every = (self.books, self.payouts, self.operator, self.bank)
        return tuple(leg for leg in every if leg is not None)

    @property
    def by_name(self) -> dict[str, Any]:
        """Return the legs as `coverage` and `proof` call them."""
        return {
            "matched": self.books,
            "settled": self.payouts,
            "operator": self.operator,
            "bank": self.bank,
        }


def _match(inputs: Inputs, progress: Progress | None) -> _Legs:
    report_step = progress or (lambda _: None)
    # Of an export that is never loaded whole the pairs are counted, not listed.
    report_step("matching the ledger")
    books = ledger.of(inputs, everything=False, pairs=not inputs.is_export, progress=progress)
    report_step("matching the settlement statement")
    payouts = settlement.of(inputs)
    report_step("matching the operator's and the bank's statements")
    return _Legs(
        books=books,
        payouts=payouts,
        operator=operator.of(inputs, everything=False),
        bank=bank.of(inputs),
    )


class _OpenWork(msgspec.Struct, frozen=True, kw_only=True):
    """What the period leaves to people."""

    findings: pd.DataFrame
    rolled: RollForward


def _pages_of_work(left: _OpenWork) -> Iterator[ReportPage]:
    """Yield the pages of what people have to do, and of what was carried to this period."""
    rolled = left.rolled
    yield ReportPage("findings", "What needs a person", left.findings)
    yield ReportPage("open_items", "What is open, with owner, status and note", rolled.items)
    yield ReportPage("rolled_forward", "From what was open to what is open", rolled.table)
    yield ReportPage(
        "carried", "What an earlier period left open, and how it ended", rolled.carried
    )


def _pages_of_legs(legs: _Legs) -> Iterator[ReportPage]:
    """Yield the pages of books, payouts, operator and bank."""
    yield from report_pages.of_books(legs.books)
    yield from report_pages.of_payouts(legs.payouts)
    yield from report_pages.of_leg(
        "operator", "From the operator to the service", legs.operator, OPERATOR_MATCHES
    )
    yield from report_pages.of_leg("bank", "From the bank to the payouts", legs.bank, BANK_MATCHES)


def _list_open(
    inputs: Inputs,
    legs: _Legs,
    priced: fees.TariffCheck,
    *,
    late: pd.DataFrame | None,
    report_step: Progress,
) -> _OpenWork:
    found = findings.findings(
        inputs,
        matched=legs.books,
        settled=legs.payouts,
        operator=legs.operator,
        bank=legs.bank,
        exceptions=priced.exceptions,
        unpriced=priced.unpriced,
        late=late,
    )
    report_step("listing what is open")
    items = open_items.items(
        inputs,
        matched=legs.books,
        settled=legs.payouts,
        operator=legs.operator,
        bank=legs.bank,
        exceptions=priced.exceptions,
        late=columns.empty(DELTA) if late is None else late,
    )
    rolled = roll_forward.roll(
        inputs,
        items,
        matched=legs.books,
        payouts=legs.payouts,
        bank=legs.bank,
        operator=legs.operator,
    )
    found = findings.with_carried(
        found, rolled.items, rolled.table, has_earlier_pack=inputs.carried is not None
    )
    accepted = open_items.accepted(rolled.items)
    return _OpenWork(
        findings=findings.less(
            found,
            accepted,
            expected=rolled.expected,
            refunds=open_items.refunds_of(legs.books, accepted),
        ),
        rolled=rolled,
    )


def closed(collections: Source, period: Period) -> Iterator[pa.Table]:
    """Yield what a period says about each of its collections, by id, in pieces.

    A later run is compared with it.
    """
    with open_engine(collections, sorts=True) as engine:
        engine.register("collections", collections, COLLECTIONS)
        days = {"first": period.first, "last": period.last}
        yield from engine.pieces(query("close/closed"), CLOSED, days)


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
    coverage: tuple[dict[str, Any], ...] = ()
    """How much of the service's money each leg compared, by channel and currency."""
    look_first: tuple[str, ...] = ()
    """Which files look wrong as a whole, before any single line of them; the sentence says it."""
    unproven: tuple[str, ...] = ()
    """What was not proven, each with what to do."""
    waiting: tuple[dict[str, Any], ...] = ()
    """What waits within grace, by leg, code and currency: rows, amount, age of the oldest."""
    previous: str | None = None
    """The earlier pack whose open items this one carries."""
    gap: str | None = None
    """The days between that pack's period and this one, which neither holds."""
    carried_by: str | None = None
    """The first period that was closed after an earlier close of these days, and carries that."""
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
            "may_sign": self.verdict.may_sign,
            "sentence": self.sentence,
            "run_id": self.run_id,
            "folder": None if self.folder is None else str(self.folder),
            "breaks": self.breaks,
            "unexplained": self.unexplained,
            "by_code": self.by_code,
            "findings": list(self.findings),
            "coverage": list(self.coverage),
            "look_first": list(self.look_first),
            "unproven": list(self.unproven),
            "waiting": list(self.waiting),
            "previous": self.previous,
            "gap": self.gap,
            "carried_by": self.carried_by,
            "receipts": self.receipts,
        }
