"""Did the money arrive: the provider's settlement statement against what collections earned."""

from datetime import date

import msgspec
import pandas as pd

from kusanya.reconcile.frames.columns import (
    BRIDGE,
    COLLECTIONS,
    SETTLED,
    STATEMENT,
    DType,
    Schema,
    frame,
)
from kusanya.reconcile.frames.days import Period
from kusanya.reconcile.frames.engine import Engine, Source, folders_of, query
from kusanya.reconcile.frames.report_inputs import Inputs
from kusanya.reconcile.frames.tolerance import PLAIN, TERMS, Tolerance, terms
from kusanya.reconcile.matching import breaks
from kusanya.reconcile.matching.breaks import RULES

_GRANULARITY = Schema("granularity", {"item": DType.FLAG})


class Settled(msgspec.Struct, frozen=True, kw_only=True):
    """What came of matching a statement with the collections that earned it."""

    rows: pd.DataFrame
    bridge: pd.DataFrame

    @property
    def breaks(self) -> int:
        """Return how many rows are breaks."""
        return int((self.rows["standing"] == "break").sum())

    @property
    def unexplained(self) -> int:
        """Return the sum of what the bridges leave unexplained, signs aside; 0 is the goal."""
        left = self.bridge.loc[self.bridge["line"] == "unexplained", "amount"]
        return int(left.abs().sum())


def of(inputs: Inputs, *, everything: bool = True) -> Settled | None:
    """Return the match of the inputs' statement, or None where none was given."""
    if inputs.statement is None:
        return None
    return match(
        inputs.collections,
        inputs.statement,
        period=inputs.period,
        tolerance=inputs.tolerance,
        as_of=inputs.judged_on,
        everything=everything,
    )


def match(
    collections: Source,
    statement: pd.DataFrame,
    *,
    period: Period,
    tolerance: Tolerance = PLAIN,
    as_of: date | None = None,
    everything: bool = True,
) -> Settled:
    """Match a statement with the net of what succeeded, by day and channel or by collection.

    A statement has either a collection on every line or on none. A day is due `settle_days` after
    it; `as_of` is the day that is judged on. Raises ValueError for a statement of both
    kinds, and for collections of both modes.
    """
    named = statement["collection_id"].notna()
    if named.any() and not named.all():
        raise ValueError("the statement names a collection on some lines and not on others")
    with Engine(folders=folders_of(collections)) as engine:
        engine.register("collections", collections, COLLECTIONS)
        engine.one_mode("collections")
        engine.register("statement", statement, STATEMENT)
        engine.register("terms", terms(period, tolerance, as_of=as_of), TERMS)
        item = frame(_GRANULARITY, {"item": [bool(named.any())]})
        engine.register("granularity", item, _GRANULARITY)
        engine.register("verdicts", breaks.table(breaks.SETTLEMENT), RULES)
        engine.run(query("settlement"))
        return Settled(
            rows=engine.frame(query("settlement_answer"), SETTLED, {"everything": everything}),
            bridge=engine.frame(query("settlement_bridge"), BRIDGE),
        )
