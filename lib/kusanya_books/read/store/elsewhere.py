"""Look up references outside the days that were read.

Before a line is called unpaid, its reference and its collection's id are looked up in everything
that is known, however long ago: what was paid in October is often booked in November. So is a
collection of which a settlement statement takes something back. Before a payment is called
unbooked, its reference is: it may be the second payment of one order.
"""

from typing import Any, Final

import pandas as pd

from kusanya.wire import Mode
from kusanya_books import columns
from kusanya_books.columns import (
    COLLECTIONS,
    KEYS,
    LEDGER,
    MOVEMENTS,
    RECEIPTS,
    DType,
    Schema,
)
from kusanya_books.engine.engine import Source, query
from kusanya_books.engine.engines import open_engine
from kusanya_books.request.days import Period

_KNOWN: Final = Schema(
    "known",
    {"id": DType.TEXT, "reference": DType.TEXT, "status": DType.TEXT, "business_day": DType.DAY},
)
_LINES: Final = Schema(
    "lines",
    {name: LEDGER.columns[name] for name in ("reference", "collection_id", "booked_day", "kind")},
    LEDGER.defaults,
)
_NEW: Final = "SELECT * FROM found ANTI JOIN collections USING (id) ORDER BY created_at, id"


def keys(
    collections: Source, files_read: dict[str, Any], span: Period, *, again: list[str]
) -> pd.DataFrame:
    """Return the ids and references to look up, of all files that were read and what was carried.

    `again` are references paid in the period and before the days that were read.
    """
    said = columns.empty(KEYS)
    if "movements" in files_read:
        receipts = files_read.get("receipts", columns.empty(RECEIPTS))
        said = unmet_movements(collections, files_read["movements"], receipts)
    if files_read.get("statement") is not None:
        said = joined(said, taken_back(files_read["statement"]))
    if files_read["carried"] is not None:
        said = joined(said, files_read["carried"].keys())
    if "ledger" not in files_read:
        return said
    found = joined(said, unmet(collections, files_read["ledger"], period=span))
    paid_twice = columns.frame(KEYS, {"id": [None] * len(again), "reference": again})
    return joined(found, paid_twice)


def other(mode: Mode) -> Mode:
    """Return the mode that this one is not."""
    return Mode.TEST if mode is Mode.LIVE else Mode.LIVE


def joined(keys: pd.DataFrame, more: pd.DataFrame) -> pd.DataFrame:
    """Return the keys of both, each once."""
    return pd.concat([keys, more], ignore_index=True).drop_duplicates(ignore_index=True)


def unmet(collections: Source, ledger: Source, *, period: Period) -> pd.DataFrame:
    """Return the ids and references to look up in everything that is known.

    Those of the period's lines that no collection answers (neither the one they name nor a success
    on their reference), and those of the period's successes that no line names.
    """
    with open_engine(collections, ledger) as engine:
        engine.register("collections", collections, _KNOWN)
        engine.register("ledger", ledger, _LINES)
        days = {"first": period.first, "last": period.last}
        return engine.frame(query("inputs/unmet_lines"), KEYS, days)


def unmet_movements(
    collections: Source, movements: pd.DataFrame, receipts: pd.DataFrame
) -> pd.DataFrame:
    """Return the ids and references that the operator's payments name and no collection answers."""
    with open_engine(collections) as engine:
        engine.register("collections", collections, _KNOWN)
        engine.register("movements", movements, MOVEMENTS)
        engine.register("receipts", receipts, RECEIPTS)
        return engine.frame(query("inputs/unmet_movements"), KEYS)


def taken_back(statement: pd.DataFrame) -> pd.DataFrame:
    """Return the ids of collections of which a settlement statement takes something back."""
    named = statement.loc[statement["net"] < 0, "collection_id"].dropna().unique()
    return columns.frame(KEYS, {"id": named, "reference": [None] * len(named)})


def new(found: pd.DataFrame, collections: Source) -> pd.DataFrame:
    """Return the rows of `found` that are not among the collections already."""
    if found.empty:
        return found
    with open_engine(collections) as engine:
        engine.register("found", found, COLLECTIONS)
        engine.register("collections", collections, _KNOWN)
        return engine.frame(_NEW, COLLECTIONS)
