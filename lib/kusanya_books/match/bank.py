"""The bank's statements against what was paid out: every line and every payout in one row.

A payout is a batch or a day of the settlement statement or, of a channel that the operator pays
out, one of the operator's statements. A credit is a payout's by the receipt or batch that it names,
by amount and day within `settle_days`, or by exact sums: one credit for several payouts, with or
without those below zero, or several for one; else in turn.
"""

from collections import defaultdict, deque
from collections.abc import Collection
from datetime import date
from itertools import product
from typing import Any, Final

import msgspec
import pandas as pd

from kusanya_books import columns
from kusanya_books.columns import (
    BANK_MATCHES,
    LEG_BRIDGE,
    MOVEMENTS,
    PAYERS,
    PLACES,
    STATEMENT,
    DType,
    Schema,
)
from kusanya_books.engine.engine import query
from kusanya_books.engine.engines import open_engine
from kusanya_books.match import balances, breaks
from kusanya_books.match.breaks import RULES
from kusanya_books.match.legs import Leg, bridge, has_unread, payers
from kusanya_books.request.days import Period
from kusanya_books.request.quality import with_unread
from kusanya_books.request.report_inputs import Inputs
from kusanya_books.request.tolerance import PLAIN, Tolerance, terms

_STEPS: Final = ("bank/sides", "bank/by_name", "bank/by_amount", "bank/by_sum")
"""The queries in their order, each on what the earlier ones left."""
_MONEY: Final = {"currency": DType.TEXT, "amount": DType.WHOLE, "day": DType.DAY}
_PAYOUTS: Final = Schema("waiting_payouts", {"id": DType.WHOLE, **_MONEY, "is_perhaps": DType.FLAG})
_CREDITS: Final = Schema(
    "waiting_credits", {"move": DType.WHOLE, **_MONEY, "is_payout": DType.FLAG}
)
_TURNS: Final = Schema("by_turn", {"move": DType.WHOLE, "id": DType.WHOLE})


class BankMatch(Leg, frozen=True, kw_only=True):
    """What came of matching the bank's statements with what was paid out."""

    other_side = "payouts total"

    @property
    def has_compared(self) -> bool:
        """Return whether any payout was known, be it of a day outside the period or taken back."""
        known = self.rows[["payout", "group_key"]].notna()
        return super().has_compared or bool(known.to_numpy().any())


def of(inputs: Inputs, *, everything: bool = True) -> BankMatch | None:
    """Return the match of the bank's statements, or None where none was given.

    One without a line says that nothing came. Where no row of them could be read, its bridge says
    what they are worth, and it has no rows.
    """
    if not inputs.has_bank:
        return None
    if not (inputs.moved["leg"] == "bank").any() and has_unread(inputs.quality, of="bank"):
        return BankMatch(
            rows=columns.empty(BANK_MATCHES),
            bridge=with_unread(columns.empty(LEG_BRIDGE), inputs.quality, of="bank"),
            is_unread=True,
        )
    late = inputs.late_payouts
    matched = match(
        inputs.at_bank_with_carried,
        inputs.payouts_beside(late),
        late=late,
        perhaps=inputs.perhaps_at_bank,
        period=inputs.period,
        tolerance=inputs.tolerance,
        as_of=inputs.judged_on,
        everything=everything,
    )
    bridge_ = with_unread(matched.bridge, inputs.quality, of="bank")
    return msgspec.structs.replace(matched, bridge=bridge_)


def match(
    movements: pd.DataFrame,
    statement: pd.DataFrame | None = None,
    *,
    late: pd.DataFrame | None = None,
    perhaps: Collection[tuple[str | None, str]] = (),
    period: Period,
    tolerance: Tolerance = PLAIN,
    as_of: date | None = None,
    everything: bool = True,
) -> BankMatch:
    """Match the bank's movements with the payouts of the operator's and settlement statements.

    All of them count: `Inputs.at_bank` leaves out those that the settlement statement speaks for.
    Of operators that are `perhaps` payers, by channel and currency, those count that the bank
    shows. A payout that the bank has shown in an earlier period, a line of the leg `SHOWN`, is only
    known by its name: a debit takes it back, a credit of its sum pays it again.
    A row is in the result when its day, or a day of its group, is in the period; and so is a payout
    of the lines of the settlement statement that came `late`, which are not among the others.
    `as_of` is the day that ages are counted to; `everything` False leaves out rows that agree.
    """
    said = balances.of(movements, leg="bank", period=period)
    with open_engine() as engine:
        engine.register("movements", movements, MOVEMENTS)
        engine.register("statement", statement, STATEMENT)
        engine.register("late", late, STATEMENT)
        engine.register("perhaps", payers(perhaps), PAYERS)
        engine.define(terms(period, tolerance, as_of=as_of))
        engine.register("rules", breaks.table(breaks.BANK), RULES)
        for step in _STEPS:
            engine.run(query(step))
        payouts = engine.frame("SELECT * FROM waiting_payouts ORDER BY day, id", _PAYOUTS)
        credits_ = engine.frame("SELECT * FROM waiting_credits ORDER BY day, move", _CREDITS)
        turns = in_turn(payouts, credits_, settle_days=tolerance.settle_days)
        engine.register("by_turn", turns, _TURNS)
        engine.run(query("bank/met"))
        engine.run(query("bank/rows", break_code=breaks.break_code(breaks.BANK)))
        return BankMatch(
            rows=engine.frame(query("bank/answer"), BANK_MATCHES, {"everything": everything}),
            bridge=bridge(engine, "bank total", "payouts total", said),
            balances=said,
            places=engine.frame(query("legs/places"), PLACES),
        )


def in_turn(payouts: pd.DataFrame, credits_: pd.DataFrame, *, settle_days: int) -> pd.DataFrame:
    """Return which credit pays which payout of its amount: each the oldest that still waits for it.

    Both are in the order of their days. Credits that say to be of a payout come before all others,
    and a payout that counts only where the bank shows it waits behind the others.
    """
    met: dict[int, int] = {}
    paid: set[int] = set()
    for is_payout, is_perhaps in product((True, False), (False, True)):
        waiting: defaultdict[tuple[str, int], deque[Any]] = defaultdict(deque)
        for payout in columns.records(payouts[payouts["is_perhaps"] == is_perhaps]):
            if payout.id not in paid:
                waiting[payout.currency, payout.amount].append(payout)
        for line in columns.records(credits_[credits_["is_payout"] == is_payout]):
            queue = waiting[line.currency, line.amount]
            while queue and (line.day - queue[0].day).days > settle_days:
                queue.popleft()
            if line.move not in met and queue and queue[0].day <= line.day:
                met[line.move] = queue.popleft().id
                paid.add(met[line.move])
    return pd.DataFrame({"move": list(met), "id": list(met.values())}, dtype=DType.WHOLE.pandas)
