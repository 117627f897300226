"""Did the money arrive: the provider's settlement statement against what collections earned."""

from collections.abc import Collection, Mapping
from datetime import date

import msgspec
import pandas as pd

from kusanya_books.columns import (
    BRIDGE,
    COLLECTIONS,
    PAYERS,
    PAYOUTS,
    PLACES,
    SETTLED,
    STATEMENT,
    DType,
    Schema,
    empty,
    frame,
)
from kusanya_books.engine.engine import Source, literal, query
from kusanya_books.engine.engines import open_engine
from kusanya_books.match import break_life, breaks
from kusanya_books.match.breaks import RULES
from kusanya_books.match.breaks.settlement import NOT_OWED, OF_OTHER_PERIODS
from kusanya_books.match.legs import payers, refunds_booked
from kusanya_books.request import earlier_period
from kusanya_books.request.days import Period
from kusanya_books.request.earlier_period import READ, Compared, EarlierPeriod
from kusanya_books.request.quality import with_unread
from kusanya_books.request.report_inputs import Inputs, payments_of
from kusanya_books.request.tolerance import (
    PLAIN,
    SETTLE_DAYS,
    Tolerance,
    settle_days,
    terms,
)

OWED = Schema(
    "owed",
    {
        "collection_id": DType.TEXT,
        "business_day": DType.DAY,
        "channel": DType.TEXT,
        "currency": DType.TEXT,
        "net": DType.WHOLE,
    },
)
"""One row per payout that an earlier period left open, and per sum that became known since: a line
for it is of that period. `net` is what the provider owes; below zero where it paid too much."""
NONE_PLACED = frame(STATEMENT, {name: [] for name in STATEMENT.columns})
_BEFORE = Schema("settled before", {"channel": DType.TEXT})
_LATER = Schema("dated later", {"channel": DType.TEXT, "days": DType.WHOLE})
_DAYS = Schema("days", {"day": DType.DAY, "by_item": DType.FLAG})
_NUMBERED = STATEMENT.plus("statement", file_line=DType.WHOLE)
_GRANULARITY = Schema("granularity", {"item": DType.FLAG, "by_channel": DType.FLAG})


class SettlementMatch(msgspec.Struct, frozen=True, kw_only=True):
    """What came of matching a statement with the collections that earned it."""

    rows: pd.DataFrame
    bridge: pd.DataFrame
    places: pd.DataFrame = frame(PLACES, {name: [] for name in PLACES.columns})
    """Where each line went, by `PLACES`."""
    placed: pd.DataFrame = NONE_PLACED
    """The lines on the days that they pay, where an earlier period waits for any; one that pays
    several days is a line for each."""
    dated_later: Mapping[str, int] = {}
    """By how many days the lines of a channel, `ALL` where it is of all, are dated after the days
    that they pay; a channel that is not dated later is not there."""

    @property
    def unexplained(self) -> int:
        """Return the sum of what the bridges leave unexplained, signs aside; 0 is the goal."""
        left = self.bridge.loc[self.bridge["line"] == "unexplained", "amount"]
        return int(left.abs().sum())


class PaidFor(msgspec.Struct, frozen=True):
    """What each line of a statement is for: a collection, else a day, and of which channels."""

    item: bool
    by_channel: bool
    """Whether it is for one channel, and not for all together."""


class Known(msgspec.Struct, frozen=True, kw_only=True):
    """What is known of payouts beside the statement."""

    owed: pd.DataFrame | None = None
    """Payouts that an earlier period left open, by `OWED`."""
    settled_before: Collection[str] = ()
    """Channels of which no other day before the period waits for a payout."""
    paid_by_operators: Collection[tuple[str, str]] = ()
    """Channels and currencies that the statement is not of."""
    read: pd.DataFrame | None = None
    """The lines that earlier periods read, as `STATEMENT`."""
    days: Mapping[date, bool] = {}
    """Days before the period whose payouts were compared, and whether by collections: none of them
    waits for one that is not in `owed`."""
    before: Compared | None = None
    """The newest period whose statement has a line."""
    dated_later: Mapping[str, int] = {}
    """What the close before found of its lines."""
    outside: pd.DataFrame | None = None
    """Collections of other days that lines of the books name, as `COLLECTIONS`."""


NOTHING = Known()


def of(inputs: Inputs, *, everything: bool = True) -> SettlementMatch | None:
    """Return the match of the inputs' statement, or None where none was given."""
    if inputs.statement is None:
        return None
    settled = match(
        inputs.collections,
        inputs.statement,
        period=inputs.period,
        tolerance=inputs.tolerance,
        as_of=inputs.judged_on,
        known=Known(
            owed=None if inputs.carried is None else _owed(inputs.carried, inputs.statement),
            settled_before=()
            if inputs.carried is None
            else inputs.carried.settled_before(inputs.period.first),
            paid_by_operators=inputs.paid_by_operators,
            read=None if inputs.carried is None else inputs.carried.settlement_lines,
            days={} if inputs.carried is None else inputs.carried.settled_days(),
            before=None if inputs.carried is None else inputs.carried.settlement,
            dated_later={} if inputs.carried is None else inputs.carried.own.dated_later,
            outside=inputs.outside,
        ),
        books=inputs.ledger,
        everything=everything,
    )
    bridge = with_unread(settled.bridge, inputs.quality, of="statement")
    rows = break_life.with_life(settled.rows, PAYOUTS, leg=earlier_period.STATEMENT, inputs=inputs)
    return msgspec.structs.replace(settled, bridge=bridge, rows=rows)


def paid_for(statement: pd.DataFrame | None, before: Compared | None) -> PaidFor:
    """Return what the lines of a statement are for; without one it is like the one before it."""
    if statement is not None and not (lines := payments_of(statement)).empty:
        item = bool(lines["collection_id"].notna().any())
        return PaidFor(item, item or bool(lines["channel"].notna().any()))
    if before is None:
        return PaidFor(item=False, by_channel=True)
    return PaidFor(before.by_item, before.by_item or earlier_period.ALL not in before.settled)


def _owed(carried: EarlierPeriod, statement: pd.DataFrame) -> pd.DataFrame:
    """Return what an earlier period left open, and what became known of its days since."""
    items = carried.items[carried.items["leg"] == earlier_period.STATEMENT]
    named = items.rename(columns={"day": "business_day", "balance": "net"})
    mine = named[list(OWED.columns)]
    if carried.due_since is None:
        return frame(OWED, mine)
    since = carried.due_since[list(OWED.columns)]
    if not paid_for(statement, carried.settlement).item:
        since = since.assign(collection_id=None)
    return frame(OWED, pd.concat([mine, since.astype(mine.dtypes)], ignore_index=True))


def match(
    collections: Source,
    statement: pd.DataFrame,
    *,
    period: Period,
    tolerance: Tolerance = PLAIN,
    as_of: date | None = None,
    known: Known = NOTHING,
    books: Source | None = None,
    everything: bool = True,
) -> SettlementMatch:
    """Match a statement with the net of what succeeded, by day and channel or by collection.

    A statement, of however many files, has a collection on every line that pays for one or on none;
    what the provider itself charges stands by itself. A day is due `settle_days` after it, and the
    lines of a channel may all be dated by up to as many days later; a line that pays several days
    is split into them where their sum is exact. A statement that names no channel is of all
    together. Every line is in one row, whatever its day. `as_of` is the day of judgement, `known`
    is what else is known of the payouts, `books` say what was given back.
    Raises ValueError for a statement of both kinds, and for collections of both modes.
    """
    named = payments_of(statement)["collection_id"].notna()
    if named.any() and not named.all():
        raise ValueError("the statement names a collection on some lines and not on others")
    with open_engine(collections, books) as engine:
        engine.register("collections", collections, COLLECTIONS)
        engine.one_mode("collections")
        engine.register("statement", _numbered(statement), _NUMBERED)
        engine.register("outside", known.outside, COLLECTIONS)
        engine.register("owed", known.owed, OWED)
        before = frame(_BEFORE, {"channel": list(known.settled_before)})
        engine.register("settled_before", before, _BEFORE)
        engine.register("read_before", _read(known.read), READ)
        days = {"day": list(known.days), "by_item": list(known.days.values())}
        engine.register("paid_days", frame(_DAYS, days), _DAYS)
        later = frame(
            _LATER, {"channel": list(known.dated_later), "days": [*known.dated_later.values()]}
        )
        engine.register("dated_before", later, _LATER)
        engine.register("paid_by_operators", payers(known.paid_by_operators), PAYERS)
        engine.define(terms(period, tolerance, as_of=as_of))
        refunds_booked(engine, books)
        kind = msgspec.structs.asdict(paid_for(statement, known.before))
        one = frame(_GRANULARITY, {name: [value] for name, value in kind.items()})
        engine.register("granularity", one, _GRANULARITY)
        engine.register("rules", breaks.table(breaks.SETTLEMENT), RULES)
        engine.register("settle_days_of", settle_days(tolerance), SETTLE_DAYS)
        engine.run(query("settlement/days"))
        engine.run(query("settlement/rows"))
        engine.run(query("settlement/charges"))
        not_of_period = ", ".join(map(literal, sorted({*OF_OTHER_PERIODS, *NOT_OWED})))
        apart = {"not_of_period": f"({not_of_period})"}
        answer = query("settlement/answer", **apart)
        return SettlementMatch(
            rows=engine.frame(answer, SETTLED, {"everything": everything}),
            bridge=engine.frame(query("settlement/bridge", **apart), BRIDGE),
            places=engine.frame(query("settlement/places"), PLACES),
            placed=NONE_PLACED
            if known.owed is None
            else engine.frame(query("settlement/placed"), STATEMENT),
            dated_later=_dated_later(
                known, engine.frame("SELECT channel, days FROM shifts", _LATER)
            ),
        )


def _dated_later(known: Known, found: pd.DataFrame) -> dict[str, int]:
    """Return by how many days lines are dated later, as is found now and else was known before."""
    now = dict(zip(found["channel"], map(int, found["days"]), strict=True))
    return {name: days for name, days in {**known.dated_later, **now}.items() if days}


def _numbered(statement: pd.DataFrame) -> pd.DataFrame:
    """Return the lines with a number for each: two files have a line of one number."""
    if statement["line_no"].is_unique:
        return statement.assign(file_line=statement["line_no"])
    placed = statement.sort_values(["input", "line_no"], kind="stable", ignore_index=True)
    numbers = pd.array(range(1, len(placed) + 1), dtype=DType.WHOLE.pandas)
    return placed.assign(file_line=placed["line_no"], line_no=numbers)


def _read(lines: pd.DataFrame | None) -> pd.DataFrame:
    """Return the lines that earlier periods read, each once."""
    if lines is None:
        return empty(READ)
    texts = {name: lines[name].fillna("") for name in ("batch_id", "collection_id", "channel")}
    named = lines.assign(**texts)[list(READ.columns)]
    return frame(READ, named.drop_duplicates(ignore_index=True))
