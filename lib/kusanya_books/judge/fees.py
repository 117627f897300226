"""What collections cost: by day, against the tariff, and where a fee moved or makes no sense.

Money totals count by business day and only for what succeeded; tariff questions count by the day of
creation, when the fee is fixed, and for every status. Source: What the service does, 4.
"""

from collections.abc import Sequence
from datetime import date
from fractions import Fraction
from typing import Any, Final

import msgspec
import pandas as pd

from kusanya.domain.prices import Bands, Model, Point
from kusanya_books import columns
from kusanya_books.columns import (
    CHARGED,
    COLLECTIONS,
    DAILY,
    DRIFTED,
    EXCEPTIONS,
    EXPECTED,
    INTEGRITY,
    POINTS,
    STATEMENT,
    STRADDLERS,
    TARIFF,
    UNPAID,
    UNPRICED,
    Schema,
)
from kusanya_books.engine.engine import Source, query
from kusanya_books.engine.engines import open_engine
from kusanya_books.judge.amount_bands import BANDS, EDGES, bands
from kusanya_books.judge.tariff import Span, infer
from kusanya_books.request.days import Period
from kusanya_books.request.report_inputs import Inputs
from kusanya_books.request.tolerance import PLAIN, Tolerance

_DAILY: Final = ("fees/daily", DAILY)
_EXPECTED: Final = ("fees/expected", EXPECTED)
_EXCEPTIONS: Final = ("fees/exceptions", EXCEPTIONS)
_UNPRICED: Final = ("fees/unpriced", UNPRICED)
"""Queries over what a tariff prices, and what each answers with."""


def daily(
    collections: Source, *, period: Period, tariff: pd.DataFrame | None = None
) -> pd.DataFrame:
    """Return attempts, money and fees by business day, mode, currency and channel.

    Gross, fee and net are of what succeeded; a row without a day and with channel (all) is the
    total of its mode and currency. `expected_fee` and `fee_drift` (charged - expected) are of what
    the `tariff` prices, missing where it prices nothing; `unpriced` counts the payments left out.
    """
    [found] = _priced(collections, tariff, period, _DAILY)
    return found


def tariff(collections: Source, *, period: Period) -> pd.DataFrame:
    """Return the tariff that was charged, inferred per mode, currency, channel and span of days.

    `model` is flat, percent, banded or unknown. The frame serves as a tariff wherever one is asked
    for; `exceptions` counts the rows of the span that it does not explain.
    """
    with open_engine(collections) as engine:
        engine.register("collections", collections, COLLECTIONS)
        points = engine.frame(query("fees/points"), POINTS, _days(period))
    rows: list[dict[str, Any]] = []
    for (mode, currency, channel), part in points.groupby(
        ["mode", "currency", "channel"], dropna=False, sort=True
    ):
        grouped = list(part.groupby("created_day", sort=True))
        charged = [_points(day) for _, day in grouped]
        spans = infer(charged)
        for place, span in enumerate(spans):
            key = {"mode": mode, "currency": currency, "channel": channel}
            # The first price holds from ever, the last one from its day on.
            key["first_day"] = None if place == 0 else grouped[span.first][0]
            last = place == len(spans) - 1
            key["last_day"] = None if last else grouped[span.last][0]
            rows += [{**key, **row} for row in _rules(span)]
    table = pd.DataFrame(rows, columns=list(CHARGED.columns), dtype="object")
    return columns.frame(CHARGED, table)


def expected(
    collections: Source,
    *,
    period: Period,
    tariff: pd.DataFrame,
    edges: Sequence[int] = EDGES,
) -> pd.DataFrame:
    """Return charged against expected fees by channel and amount band, all statuses."""
    [found] = _priced(collections, tariff, period, _EXPECTED, edges=edges)
    return found


def exceptions(
    collections: Source, *, period: Period, tariff: pd.DataFrame, tolerance: Tolerance = PLAIN
) -> pd.DataFrame:
    """Return every collection whose fee is not the tariff's, the largest drift first.

    A fee that differs by no more than the tolerance of fees is no exception.
    """
    [found] = _priced(collections, tariff, period, _EXCEPTIONS, tolerance=tolerance)
    return found


class TariffCheck(msgspec.Struct, frozen=True, kw_only=True):
    """What a tariff says of a period's collections."""

    daily: pd.DataFrame
    exceptions: pd.DataFrame
    unpriced: pd.DataFrame
    """By currency how many collections the tariff has no price for, and their fees."""


def priced(
    collections: Source, *, period: Period, tariff: pd.DataFrame, tolerance: Tolerance = PLAIN
) -> TariffCheck:
    """Return `daily`, `exceptions` and what has no price, for the cost of pricing once."""
    asked = (_DAILY, _EXCEPTIONS, _UNPRICED)
    days, wrong, without = _priced(collections, tariff, period, *asked, tolerance=tolerance)
    return TariffCheck(daily=days, exceptions=wrong, unpriced=without)


class FeeAudit(msgspec.Struct, frozen=True, kw_only=True):
    """Fees against the agreed tariff, or against the one that was charged where none was given."""

    tariff: pd.DataFrame
    by_band: pd.DataFrame
    exceptions: pd.DataFrame
    daily: pd.DataFrame
    unpaid: pd.DataFrame


def audit(inputs: Inputs, *, edges: Sequence[int] = EDGES) -> FeeAudit:
    """Return the fees of a period against its tariff, from every side."""
    rows, period = inputs.collections, inputs.period
    prices = tariff(rows, period=period) if inputs.tariff is None else inputs.tariff
    asked = (_EXPECTED, _EXCEPTIONS, _DAILY)
    by_band, wrong, days = _priced(
        rows, prices, period, *asked, edges=edges, tolerance=inputs.tolerance
    )
    return FeeAudit(
        tariff=prices,
        by_band=by_band,
        exceptions=wrong,
        daily=days,
        unpaid=on_unpaid(rows, period=period, statement=inputs.statement),
    )


def integrity(collections: Source, *, period: Period) -> pd.DataFrame:
    """Return per channel whether the 202, the event and the GET said the same fee.

    Needs collections that were loaded with evidence; without it every row has none.
    """
    return _evidence(collections, "fees/integrity", INTEGRITY, period)


def drifted(collections: Source, *, period: Period) -> pd.DataFrame:
    """Return every collection whose sources say different fees; totals use the earliest."""
    return _evidence(collections, "fees/drifted", DRIFTED, period)


def on_unpaid(
    collections: Source, *, period: Period, statement: pd.DataFrame | None = None
) -> pd.DataFrame:
    """Return the fees of what failed or expired, and those that a statement deducted anyway."""
    with open_engine(collections) as engine:
        engine.register("collections", collections, COLLECTIONS)
        engine.register("statement", statement, STATEMENT)
        return engine.frame(query("fees/unpaid"), UNPAID, _days(period))


def straddlers(collections: Source, *, period: Period) -> pd.DataFrame:
    """Return the collections that were created on one business day and completed on another."""
    with open_engine(collections) as engine:
        engine.register("collections", collections, COLLECTIONS)
        return engine.frame(query("fees/straddlers"), STRADDLERS, _days(period))


def _priced(
    collections: Source,
    tariff: pd.DataFrame | None,
    period: Period,
    *asked: tuple[str, Schema],
    edges: Sequence[int] = EDGES,
    tolerance: Tolerance = PLAIN,
) -> list[pd.DataFrame]:
    """Return the answers of queries over what the tariff prices, in their order."""
    with open_engine(collections) as engine:
        engine.register("collections", collections, COLLECTIONS)
        engine.register("tariff", tariff, TARIFF)
        engine.register("bands", bands(edges), BANDS)
        engine.define({"fee_tolerance": tolerance.fee})
        engine.run(query("fees/priced"))
        return [engine.frame(query(name), schema, _days(period)) for name, schema in asked]


def _evidence(collections: Source, name: str, schema: Schema, period: Period) -> pd.DataFrame:
    with open_engine(collections) as engine:
        engine.register("collections", collections, COLLECTIONS)
        engine.run(query("fees/evidence"))
        return engine.frame(query(name), schema, _days(period))


def _points(day: pd.DataFrame) -> list[Point]:
    whole = (day[name].to_numpy(dtype="int64").tolist() for name in ("amount", "fee", "rows"))
    return list(zip(*whole, strict=True))


def _days(period: Period) -> dict[str, date]:
    return {"first": period.first, "last": period.last}


def _rules(span: Span) -> list[dict[str, Any]]:
    counts = {
        "rows": span.rows,
        "explained": span.explained,
        "exceptions": span.rows - span.explained,
    }
    return [{**counts, "model": _name(span.model), **rule} for rule in _bounds(span.model)]


def _name(model: Model | None) -> str:
    if model is None:
        return "unknown"
    if isinstance(model, Bands):
        return "flat" if len(model.bands) == 1 else "banded"
    return "percent"


def _decimal(rate: Fraction) -> str:
    return f"{float(rate * 10_000):.4f}".rstrip("0").rstrip(".")


def _bounds(model: Model | None) -> list[dict[str, Any]]:
    if model is None:
        return [{}]
    if isinstance(model, Bands):
        firsts = [None, *(band.first for band in model.bands[1:]), None]
        return [
            {"fee": band.fee, "low": low, "high": None if upto is None else upto - 1}
            for band, low, upto in zip(model.bands, firsts, firsts[1:], strict=False)
        ]
    return [
        {
            "rate_num": model.rate.numerator,
            "rate_den": model.rate.denominator,
            "rounding": model.rounding,
            "floor": model.floor,
            "cap": model.cap,
            "bps": _decimal(model.rate),
            "bps_range": f"{_decimal(model.low)} to {_decimal(model.high)}",
        }
    ]
