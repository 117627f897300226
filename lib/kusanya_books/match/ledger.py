"""Our books against the service: every line and every collection in one row, with a verdict.

Nothing is matched by likeness: keys are the collection's id, then reference with amount, then
reference; `suggested_match` is a hint for a person. The bridge leads from the ledger's total to the
service's and must leave nothing unexplained.
"""

from collections.abc import Callable
from datetime import date
from typing import Final

import msgspec
import pandas as pd

from kusanya_books import columns
from kusanya_books.columns import (
    AGEING,
    BREAKS,
    BRIDGE,
    COLLECTIONS,
    DOUBLES,
    INTENTS,
    KEYS,
    LEDGER,
    LINES,
    MATCHES,
    PAIRS,
    PLACES,
    STATEMENT,
    DType,
    Schema,
)
from kusanya_books.engine.engine import Dataset, Engine, Source, query
from kusanya_books.engine.engines import open_engine
from kusanya_books.engine.on_disk import save, whole
from kusanya_books.match import break_life, breaks
from kusanya_books.match.breaks import RULES
from kusanya_books.request import earlier_period
from kusanya_books.request.days import Period
from kusanya_books.request.quality import with_unread
from kusanya_books.request.report_inputs import Inputs
from kusanya_books.request.tolerance import PLAIN, Tolerance, terms

Progress = Callable[[str], None]
"""Called with what is being done, for people who wait."""
_DAYS: Final = Schema("days", {"first": DType.DAY, "last": DType.DAY})


def lines(ledger: Source | None, statement: pd.DataFrame | None, *, period: Period) -> pd.DataFrame:
    """Return how many lines of each file lie before, in and after the period, and their sums."""
    with open_engine(ledger) as engine:
        engine.register("ledger", ledger, LEDGER)
        engine.register("statement", statement, STATEMENT)
        days = {"first": period.first, "last": period.last}
        return engine.frame(query("inputs/lines"), LINES, days)


class Beside(msgspec.Struct, frozen=True, kw_only=True):
    """What is known beside the collections and the books that are matched."""

    outside: pd.DataFrame | None = None
    """Collections of other days that the lines name, so that what was paid long ago is not called
    unpaid."""
    other_mode: pd.DataFrame | None = None
    """Keys of the other mode's collections, by `KEYS`."""
    intents: pd.DataFrame | None = None
    """Creations whose outcome is not known."""
    books_from: date | None = None
    """From this day on the books hold all that was booked; None: from the period's first on."""


NOTHING_BESIDE: Final = Beside()


class LedgerMatch(msgspec.Struct, frozen=True, kw_only=True):
    """What came of matching a ledger with the service's collections."""

    rows: pd.DataFrame
    """Every row, or only breaks and what is expected, worst first."""
    bridge: pd.DataFrame
    ageing: pd.DataFrame
    doubles: pd.DataFrame
    places: pd.DataFrame = columns.empty(PLACES)
    """Where each line and each collection went, by `PLACES`."""
    pairs: Source | None = None
    """The lines that agree, each with its collection; None where nobody asked for them.
    Parquet where the collections are."""

    @property
    def unexplained(self) -> int:
        """Return the sum of what the bridges leave unexplained, signs aside; 0 is the goal."""
        left = self.bridge.loc[self.bridge["line"] == "unexplained", "amount"]
        return int(left.abs().sum())


def of(
    inputs: Inputs,
    *,
    everything: bool = True,
    pairs: bool = False,
    progress: Progress | None = None,
) -> LedgerMatch | None:
    """Return the match of the inputs' ledger, or None where no ledger was given: nothing is proven.

    Its rows also say what people said about each break. See `match` for what `everything` leaves
    out.
    """
    if inputs.ledger is None:
        return None
    books, books_from = _books(inputs.ledger, inputs)
    matched = match(
        inputs.collections,
        books,
        beside=Beside(
            outside=inputs.outside,
            other_mode=inputs.other_mode,
            intents=inputs.intents,
            books_from=books_from,
        ),
        period=inputs.period,
        tolerance=inputs.tolerance,
        as_of=inputs.judged_on,
        basis=inputs.basis,
        everything=everything,
        pairs=pairs,
        progress=progress,
    )
    bridge = with_unread(matched.bridge, inputs.quality, of="ledger")
    rows = break_life.with_life(matched.rows, BREAKS, leg=earlier_period.BOOKS, inputs=inputs)
    return msgspec.structs.replace(matched, bridge=bridge, rows=rows)


def _books(ledger: Source, inputs: Inputs) -> tuple[Source, date | None]:
    """Return the books with the lines carried from the period before, and where they begin."""
    earlier = inputs.carried
    if earlier is None or not earlier.adjoins(inputs.period):
        return ledger, None
    frame = whole(ledger, LEDGER, order="row_no")
    lines = [frame, earlier.lines_before(frame, inputs.period)]
    return pd.concat(lines, ignore_index=True), earlier.books_begin


def match(
    collections: Source,
    ledger: Source,
    *,
    period: Period,
    beside: Beside = NOTHING_BESIDE,
    tolerance: Tolerance = PLAIN,
    as_of: date | None = None,
    basis: str = "gross",
    everything: bool = True,
    pairs: bool = False,
    progress: Progress | None = None,
) -> LedgerMatch:
    """Match a ledger with the collections of one mode over a period.

    A row is in the result when either of its days is in the period. `basis` says whether the ledger
    books gross or net amounts, `as_of` is the day that ages are counted to. `everything` False
    leaves rows that agree out of `rows`; the other frames still count them. `pairs` lists the lines
    of the books that agree with their collections, in few columns. Raises ValueError for
    collections of both modes.
    """
    report_step = progress or (lambda _: None)
    with open_engine(collections, ledger) as engine:
        engine.register("loaded", collections, COLLECTIONS)
        engine.register("outside", beside.outside, COLLECTIONS)
        engine.run(query("legs/collections"))
        engine.one_mode("collections")
        engine.register("ledger", ledger, LEDGER)
        engine.register("other_mode", beside.other_mode, KEYS)
        engine.register("intents", beside.intents, INTENTS)
        engine.register("rules", breaks.table(breaks.LEDGER), RULES)
        engine.define(terms(period, tolerance, as_of=as_of))
        engine.define({"net_basis": basis == "net", "everything": everything})
        begins, ends = _books_reach(engine, period, beside.books_from)
        engine.define({"books_from": begins, "books_to": ends})
        for step, queries in _steps().items():
            report_step(f"matching the ledger: {step}")
            for text in queries:
                engine.run(text)
        report_step("matching the ledger: listing what agrees")
        agreeing = _pairs(engine, on_disk=isinstance(collections, Dataset)) if pairs else None
        report_step("matching the ledger: listing what does not")
        return LedgerMatch(
            rows=engine.frame(query("ledger/answer"), MATCHES),
            bridge=engine.frame(query("ledger/bridge"), BRIDGE),
            ageing=engine.frame(query("ledger/ageing"), AGEING),
            doubles=engine.frame(query("ledger/doubles"), DOUBLES),
            places=engine.frame(query("ledger/places"), PLACES),
            pairs=agreeing,
        )


def _steps() -> dict[str, tuple[str, ...]]:
    """Return what is done in which order, each step on what the earlier ones left."""
    return {
        "reversals and what is said twice": (query("ledger/sides"), query("ledger/plain")),
        "one line with one payment": (
            _verdicts("plain_verdicts", "met_plainly"),
            query("ledger/counted", ok_codes=breaks.agreeing(breaks.LEDGER)),
        ),
        "several of one reference": (query("ledger/pairs"), query("ledger/judged")),
        "other spellings": (
            query("ledger/spelled"),
            _verdicts("close_verdicts", "met_closely"),
            _verdicts("spelled_verdicts", "met_by_spelling"),
        ),
        "one for many, many for one": (
            query(
                "ledger/groups/left_over",
                completed_codes=breaks.completed_by_others(breaks.LEDGER),
                refunded_codes=breaks.cleared_by_refund(breaks.LEDGER),
            ),
            query("ledger/groups/by_reference"),
            query("ledger/groups/by_day"),
            query("ledger/groups/verdicts"),
        ),
        "payments of one customer": (
            query("ledger/rows"),
            query("ledger/hints", completed_codes=breaks.completed_by_others(breaks.LEDGER)),
            query("ledger/totals"),
            query("ledger/paid_again"),
        ),
    }


def _pairs(engine: Engine, *, on_disk: bool) -> Source:
    """Return the lines that agree with their collections, as a frame or in a file."""
    asked = query("ledger/agreed", ok_codes=breaks.agreeing(breaks.LEDGER))
    if on_disk:
        return save(PAIRS, engine.pieces(asked, PAIRS))
    return engine.frame(asked, PAIRS)


def _books_reach(engine: Engine, period: Period, books_from: date | None) -> tuple[date, date]:
    """Return the days of which the books are known: a payment near the edges may lie in others."""
    asked = "SELECT min(booked_day) AS first, max(booked_day) AS last FROM ledger"
    first, last = engine.frame(asked, _DAYS).iloc[0]
    begins = books_from or period.first
    if pd.isna(first):
        return begins, period.last
    return min(begins, first.date()), max(period.last, last.date())


def _verdicts(name: str, met: str) -> str:
    text = query("ledger/verdicts", met=met, break_code=breaks.break_code(breaks.LEDGER))
    return f"CREATE TEMP VIEW {name} AS {text}"
