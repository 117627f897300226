"""What is asked of a generated month on either engine, and how two answers are compared."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

import msgspec
import pandas as pd
import pyarrow.parquet as pq
from tests.kit.movements import movements_of

from kusanya_books import columns
from kusanya_books.columns import (
    CLOSED,
    COLLECTIONS,
    KEYS,
    LEDGER,
    LINES,
    MOVEMENTS,
    PLACES,
    STATEMENT,
    Schema,
)
from kusanya_books.engine.engine import Dataset, query
from kusanya_books.engine.engines import open_engine
from kusanya_books.judge import failures, fees
from kusanya_books.read.sample import faults as sample_faults
from kusanya_books.read.store import elsewhere, exported

Answer = Callable[[str], Any]
EMPTY_AS_WELL: Final = ("unpriced", "straddlers")
"""What this month, in which the service charges one tariff, may say nothing of."""


class Month(msgspec.Struct, frozen=True):
    """A generated month, in this process and as files."""

    made: sample_faults.Month
    folder: Path

    def collections(self, engine: str, *, rows: bool = True) -> Dataset:
        """Return the collections for an engine, all or none."""
        condition = "true" if rows else "false"
        return Dataset((self.folder / "collections.parquet",), condition, engine)

    def ledger(self, engine: str) -> Dataset:
        """Return the books for an engine."""
        return Dataset((self.folder / "ledger.parquet",), engine=engine)


def equal(on_duckdb: Any, on_spark: Any) -> int:
    """Compare two frames, or two results that hold some, and return how many rows they have."""
    if isinstance(on_duckdb, Dataset):
        assert isinstance(on_spark, Dataset)
        first, second = (pq.read_table(list(one.paths)) for one in (on_duckdb, on_spark))
        assert second.equals(first)
        return int(first.num_rows)
    if isinstance(on_duckdb, pd.DataFrame):
        pd.testing.assert_frame_equal(on_spark, on_duckdb)
        return len(on_duckdb)
    parts = getattr(on_duckdb, "__struct_fields__", None)
    if parts is None:
        assert on_spark == on_duckdb
        return 0
    return sum(equal(getattr(on_duckdb, part), getattr(on_spark, part)) for part in parts)


def queried(
    engine: str,
    name: str,
    sources: Mapping[str, tuple[pd.DataFrame, Schema]],
    schema: Schema,
    values: Mapping[str, Any],
) -> pd.DataFrame:
    """Return what a query that is asked of frames alone says on an engine."""
    with open_engine(Dataset((), engine=engine)) as opened:
        for source, (frame, of) in sources.items():
            opened.register(source, frame, of)
        return opened.frame(query(name), schema, values)


def questions(month: Month, *, rows: bool = True) -> dict[str, Answer]:
    """Return everything that is asked of collections, as functions of the engine."""
    made = month.made
    span, lines = made.period, made.statement
    own = fees.tariff(month.collections(""), period=span)
    days = {"first": span.first, "last": span.last}

    def of(engine: str) -> Dataset:
        return month.collections(engine, rows=rows)

    kept = made.collections if rows else made.collections.iloc[:0]
    return {
        "daily": lambda engine: fees.daily(of(engine), period=span, tariff=own),
        "daily without a tariff": lambda engine: fees.daily(of(engine), period=span),
        "tariff": lambda engine: fees.tariff(of(engine), period=span),
        "expected": lambda engine: fees.expected(of(engine), period=span, tariff=own),
        "exceptions": lambda engine: fees.exceptions(of(engine), period=span, tariff=own),
        "unpriced": lambda engine: (
            fees.priced(of(engine), period=span, tariff=own.iloc[:1]).unpriced
        ),
        "integrity": lambda engine: fees.integrity(of(engine), period=span),
        "drifted": lambda engine: fees.drifted(of(engine), period=span),
        "unpaid": lambda engine: fees.on_unpaid(of(engine), period=span, statement=lines),
        "straddlers": lambda engine: fees.straddlers(of(engine), period=span),
        "pareto": lambda engine: failures.pareto(of(engine), period=span),
        "rates": lambda engine: failures.rates(of(engine), period=span, by="band"),
        "rates by day": lambda engine: failures.rates(of(engine), period=span, by="day"),
        "hours": lambda engine: failures.by_hour(of(engine), period=span),
        "recovery": lambda engine: failures.recovery(of(engine), period=span),
        "unmet": lambda engine: elsewhere.unmet(of(engine), made.ledger, period=span),
        "whole": lambda engine: exported.whole(of(engine)),
        "lines": lambda engine: queried(
            engine,
            "inputs/lines",
            {"ledger": (made.ledger, LEDGER), "statement": (lines, STATEMENT)},
            LINES,
            days,
        ),
        "read": lambda engine: queried(
            engine,
            "inputs/read",
            {
                "collections": (kept, COLLECTIONS),
                "ledger": (made.ledger, LEDGER),
                "statement": (lines, STATEMENT),
                "movements": (movements(made), MOVEMENTS),
            },
            PLACES,
            {**days, "net_basis": True},
        ),
        "carried": lambda engine: queried(
            engine,
            "inputs/carried_collections",
            {
                "loaded": (kept, COLLECTIONS),
                "outside": (made.collections.iloc[:0], COLLECTIONS),
                "keys": (columns.frame(KEYS, made.collections[["id", "reference"]].iloc[:9]), KEYS),
            },
            COLLECTIONS,
            {},
        ),
        "closed": lambda engine: queried(
            engine, "close/closed", {"collections": (kept, COLLECTIONS)}, CLOSED, days
        ),
    }


def movements(made: sample_faults.Month) -> pd.DataFrame:
    """Return statements of an operator and a bank over the month, with faults of every kind."""
    lines: list[dict[str, Any]] = []
    won = made.collections.query("status == 'succeeded'").head(150)
    for number, row in enumerate(columns.records(won)):
        line = {
            "reference": str(row.reference) if number % 3 else None,
            "collection_id": row.id if number % 5 == 0 else None,
            "receipt": f"T{number // 2 if number % 31 == 0 else number}",
            "amount": int(row.amount) + (5 if number % 17 == 0 else 0),
            "at": row.completed_at,
            "channel": row.channel,
            "balance": 1_000 * number,
            "status": "failed" if number % 41 == 0 else "completed",
        }
        lines.append(line)
        if number % 19 == 0:
            lines.append({**line, "input": "again.csv"})
        if number % 23 == 0:
            lines.append({**line, "kind": "reversal", "amount": -line["amount"]})
    bank = {"leg": "bank", "kind": "other", "channel": None, "input": "bank.csv"}
    for number in range(12):
        at, amount = won["completed_at"].iloc[number * 10], 1_000 + 7 * number
        paid = {"kind": "payout", "amount": -amount, "at": at, "receipt": f"PO-{number:04}"}
        lines += [paid, {"kind": "fee", "amount": -9, "at": at}]
        if number % 3 == 0:
            lines.append({**bank, "amount": amount, "at": at, "details": f"MM po/{number:04}"})
        elif number % 3 == 1:
            # Two payouts in one credit.
            lines.append({**bank, "amount": 2 * amount + 7, "at": at})
    lines.append({**bank, "amount": -30, "at": at, "kind": "charge"})
    return movements_of(*lines)
