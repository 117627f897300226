"""What is otherwise since an earlier close: late successes, corrections, and what became due."""

from datetime import date
from pathlib import Path
from typing import Any, Final

import msgspec
import pandas as pd

from kusanya.errors import InputRefused
from kusanya_books import columns
from kusanya_books.columns import (
    CLOSED,
    COMPARED,
    DELTA,
    DUE,
    EARNED,
    ITEMS,
    LEDGER,
    MOVEMENTS,
    SINCE,
    DType,
    Schema,
)
from kusanya_books.engine import on_disk
from kusanya_books.engine.engine import Dataset, Engine, Source, query
from kusanya_books.engine.engines import open_engine
from kusanya_books.judge.open_items import OPERATOR
from kusanya_books.judge.report import closed
from kusanya_books.read import load
from kusanya_books.read.earlier_pack import EarlierPack
from kusanya_books.request.close_request import CloseRequest
from kusanya_books.request.days import DAY, Period
from kusanya_books.request.earlier_period import BOOKS, EarlierPeriod
from kusanya_books.request.tolerance import Tolerance

_DAYS: Final = Schema("days", {"day": DType.DAY})


class Sides(msgspec.Struct, frozen=True):
    """The collections of an earlier pack's period as it closed them, and as they are now.

    With those of the days of the packs before it of which more is known since.
    """

    before: Source
    now: Source
    as_of: int | None
    """The position of now; None of an export, which has its own alone."""


def sides(earlier: EarlierPack, folder: Path, request: CloseRequest) -> Sides:
    """Return what the pack in `folder` closed, beside what the request's store says of it now.

    Raises InputRefused when the pack is one of another store.
    """
    origin = earlier.manifest["made_from"]
    asked = CloseRequest(
        store=request.store,
        mode=origin["mode"],
        period=f"{origin['first']}..{origin['last']}",
        cutoff=origin["cutoff"],
        tolerance=msgspec.convert(origin["tolerance"], Tolerance),
        as_of=request.as_of,
        engine=request.engine,
    )
    now = load.inputs(asked, on_disk=True)
    if now.store_id != origin["store_id"]:
        raise InputRefused(f"{folder.name} was made from another store")
    found = _closed(now.collections, now.period)
    if now.is_export:  # it knows nothing of what was known before
        return Sides(earlier.closed, found, None)
    before = earlier.closed
    begins = earlier.carried.chain_begins
    if begins < now.period.first:
        days = Period(first=begins, last=now.period.first - DAY, cutoff=now.period.cutoff)
        older = load.changed_since(
            request.store, days, mode=now.mode, place=origin["as_of"], as_of=now.as_of
        )
        before, found = (
            on_disk.both(one, _closed(more, days))
            for one, more in zip((before, found), older, strict=True)
        )
    return Sides(before, found, now.as_of)


def _closed(collections: Source, period: Period) -> Dataset:
    """Return what a period says about each of its collections, as `CLOSED`."""
    return on_disk.save(CLOSED, closed(collections, period))


def compare(before: Source, now: Source, *, closed_run_id: str) -> pd.DataFrame:
    """Return how `now` differs from `before`, both of them closed collections, field by field."""
    with open_engine(before, now) as engine:
        engine.register("before", before, CLOSED)
        engine.register("now", now, CLOSED)
        return engine.frame(query("close/delta"), DELTA, {"closed_run_id": closed_run_id})


def with_news(
    carried: EarlierPeriod, since: Sides, late: pd.DataFrame, *, basis: str
) -> EarlierPeriod:
    """Return what is carried, with what its period says otherwise since its close.

    That is what succeeded, what became due, and what books and operators have as it was.
    """
    with open_engine(since.before, since.now) as engine:
        engine.define({"net_basis": basis == "net"})
        engine.register("before", since.before, CLOSED)
        engine.register("now", since.now, CLOSED)
        engine.register("late", late, DELTA)
        engine.register("lines", carried.lines, LEDGER)
        engine.register("items", carried.items, ITEMS)
        engine.run(query("close/changed"))
        engine.register("compared", _compared(carried), COMPARED)
        turned = engine.frame(query("close/otherwise_now"), LEDGER)
        movements = columns.empty(MOVEMENTS) if carried.movements is None else carried.movements
        engine.register("movements", movements, MOVEMENTS)
        last = {"last": carried.period.last.isoformat()}
        moved = engine.frame(query("close/otherwise_of_operator"), MOVEMENTS, last)
        return msgspec.structs.replace(
            carried,
            lines=pd.concat([carried.lines, turned], ignore_index=True),
            changed_from=_first_day(engine),
            movements=pd.concat([movements, moved], ignore_index=True),
            otherwise_now=frozenset(turned["collection_id"]),
            otherwise_at_operator=frozenset(moved["collection_id"]),
            paid_since=engine.frame(query("close/paid_since"), SINCE),
            due_since=engine.frame(query("close/due"), DUE),
            earned_since=engine.frame(query("close/earned_since"), EARNED),
        )


def _compared(carried: EarlierPeriod) -> pd.DataFrame:
    """Return which legs were compared of which days, as `COMPARED`."""
    rows: dict[str, list[Any]] = {name: [] for name in COMPARED.columns}
    for one in carried.compared:
        books = [(BOOKS, None, False)] if one.books else []
        of_operators = [(OPERATOR, *given) for given in one.operators.items()]
        for given in (*books, *of_operators):
            for name, value in zip(rows, (*given, one.first, one.last), strict=True):
                rows[name].append(value)
    return columns.frame(COMPARED, rows)


def _first_day(engine: Engine) -> date | None:
    """Return the earliest day of what changed, None where nothing did."""
    found = engine.frame(query("close/first_day"), _DAYS)["day"].iloc[0]
    return None if pd.isna(found) else found.date()
