"""The operator's statements against the service: every line and every success in one row.

A line is a collection's by its id, our reference, a receipt that is known, or by its amount and day
where exactly one is left on both sides. Receipts that were found so are given back, to be kept.
"""

from collections.abc import Collection
from datetime import date

import msgspec
import pandas as pd

from kusanya_books import columns
from kusanya_books.columns import (
    CHANNELS,
    COLLECTIONS,
    INTENTS,
    LEG_BRIDGE,
    MOVEMENTS,
    OPERATOR_MATCHES,
    PLACES,
    RECEIPTS,
)
from kusanya_books.engine.engine import Source, literal, query
from kusanya_books.engine.engines import open_engine
from kusanya_books.match import balances, breaks
from kusanya_books.match.breaks import RULES
from kusanya_books.match.legs import Leg, bridge, has_unread, refunds_booked
from kusanya_books.request.days import Period
from kusanya_books.request.earlier_period import CARRIED
from kusanya_books.request.quality import with_unread
from kusanya_books.request.report_inputs import Inputs
from kusanya_books.request.tolerance import PLAIN, Tolerance, terms


class OperatorMatch(Leg, frozen=True, kw_only=True):
    """What came of matching the operator's statements with the service's collections."""

    other_side = "service total"

    receipts: pd.DataFrame
    """The operator's receipts of collections, by `RECEIPTS`."""


def of(inputs: Inputs, *, everything: bool = True) -> OperatorMatch | None:
    """Return the match of the operator's statements, or None where none was given.

    Where no row of them could be read, its bridge says what they are worth, and it has no rows.
    """
    given = inputs.operator_channels
    if not given:
        if not has_unread(inputs.quality, of="operator"):
            return None
        return OperatorMatch(
            rows=columns.empty(OPERATOR_MATCHES),
            bridge=with_unread(columns.empty(LEG_BRIDGE), inputs.quality, of="operator"),
            receipts=columns.empty(RECEIPTS),
            is_unread=True,
        )
    matched = match(
        inputs.collections,
        inputs.movements_with_carried,
        outside=inputs.outside,
        period=inputs.period,
        tolerance=inputs.tolerance,
        as_of=inputs.judged_on,
        intents=inputs.intents,
        receipts=inputs.receipts,
        given=given,
        books=inputs.ledger,
        everything=everything,
    )
    bridge_ = with_unread(matched.bridge, inputs.quality, of="operator")
    return msgspec.structs.replace(matched, bridge=bridge_)


def match(
    collections: Source,
    movements: pd.DataFrame,
    *,
    period: Period,
    outside: pd.DataFrame | None = None,
    tolerance: Tolerance = PLAIN,
    as_of: date | None = None,
    intents: pd.DataFrame | None = None,
    receipts: pd.DataFrame | None = None,
    given: Collection[str] = (),
    books: Source | None = None,
    everything: bool = True,
) -> OperatorMatch:
    """Match the operator's movements with the collections of one mode over a period.

    A row is in the result when either of its days is in the period. Collections of a channel of
    which no statement speaks are left out, but for those of `given`: theirs has no line. `receipts`
    are those that are known, `books` say what was paid back. `as_of` is the day that ages are
    counted to; `everything` False leaves out rows that agree. Raises ValueError for collections of
    both modes.
    """
    said = balances.of(movements, leg="operator", period=period, given=given)
    with open_engine(collections, books) as engine:
        engine.register("loaded", collections, COLLECTIONS)
        engine.register("outside", outside, COLLECTIONS)
        engine.run(query("legs/collections"))
        engine.one_mode("collections")
        engine.register("movements", movements, MOVEMENTS)
        engine.register("intents", intents, INTENTS)
        engine.register("receipts", receipts, RECEIPTS)
        engine.register("given", columns.frame(CHANNELS, {"channel": list(given)}), CHANNELS)
        engine.define(terms(period, tolerance, as_of=as_of))
        engine.register("rules", breaks.table(breaks.OPERATOR), RULES)
        engine.run(query("operator/pairs", carried=literal(CARRIED)))
        refunds_booked(engine, books)
        engine.run(query("operator/met"))
        engine.run(query("operator/rows", break_code=breaks.break_code(breaks.OPERATOR)))
        chosen = {"everything": everything}
        return OperatorMatch(
            rows=engine.frame(query("operator/answer"), OPERATOR_MATCHES, chosen),
            bridge=bridge(engine, "operator total", "service total", said),
            balances=said,
            places=engine.frame(query("legs/places"), PLACES),
            receipts=engine.frame(query("operator/receipts"), RECEIPTS),
        )
