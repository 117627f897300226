"""What there is to book, by business day and channel: collections, payouts, refunds.

VAT and excise are taken out of the fee where the agreed tariff names them; they are counted on the
sum of a day and channel, not on each payment, so that they are whole units with one rounding.
"""

from typing import Any, Final

import pandas as pd

from kusanya.reconcile.frames import columns
from kusanya.reconcile.frames.columns import POSTINGS
from kusanya.reconcile.frames.days import Period
from kusanya.reconcile.frames.prices import rounded
from kusanya.reconcile.frames.report_inputs import Inputs

COLLECTIONS: Final = "collections"
PAYOUT: Final = "payout"
REFUND: Final = "refund"
_GIVEN_BACK: Final = frozenset({"refund", "reversal", "chargeback"})
_WHOLE: Final = 10_000
"""Basis points of one."""


def postings(inputs: Inputs, daily: pd.DataFrame) -> pd.DataFrame:
    """Return POSTINGS of a period from its DAILY fees and what statements say of it.

    Payouts are the settlement statement's, else those of the operators' own statements, which also
    bring what was given back to customers.
    """
    rows = [
        *_collections(inputs, daily),
        *_payouts(inputs.statement, inputs.period),
        *_moved(inputs.movements, inputs.period, payouts=inputs.statement is None),
    ]
    names = list(POSTINGS.columns)
    made = pd.DataFrame(rows, columns=names, dtype="object")
    made = columns.frame(POSTINGS, made)
    order = ["business_day", "currency", "channel", "kind"]
    return made.sort_values(order, ignore_index=True)


def taxes(fee: int, *, excise: int, vat: int) -> tuple[int, int]:
    """Return the excise and the VAT that a fee holds, both in basis points.

    VAT is on the fee with its excise; what is left is the fee without taxes.
    """
    before_vat = rounded(fee * _WHOLE, _WHOLE + vat, "half_up")
    bare = rounded(before_vat * _WHOLE, _WHOLE + excise, "half_up")
    return before_vat - bare, fee - before_vat


def _collections(inputs: Inputs, daily: pd.DataFrame) -> list[tuple[Any, ...]]:
    paid = daily[daily["business_day"].notna() & (daily["succeeded"] > 0)]
    found = []
    for row in columns.records(paid):
        rates = _rates(inputs, row)
        fee = int(row.fee)
        excise, vat = taxes(fee, excise=rates[0], vat=rates[1])
        key = (row.business_day, row.currency, row.channel, COLLECTIONS)
        found.append((*key, row.succeeded, row.gross, fee, excise, vat, row.net))
    return found


def _rates(inputs: Inputs, row: Any) -> tuple[int, int]:
    """Return excise and VAT of the price that holds on the row's day; 0 where none names them."""
    prices = inputs.tariff
    if prices is None:
        return 0, 0
    same = (
        (prices["mode"] == row.mode)
        & (prices["currency"] == row.currency)
        & (prices["channel"] == row.channel)
        & (prices["first_day"].isna() | (prices["first_day"] <= row.business_day))
        & (prices["last_day"].isna() | (prices["last_day"] >= row.business_day))
    )
    held = prices[same.fillna(False)]
    if held.empty:
        return 0, 0
    price = held.iloc[0]
    excise, vat = (
        0 if pd.isna(price[name]) else int(price[name]) for name in ("excise_bps", "vat_bps")
    )
    return excise, vat


def _payouts(statement: pd.DataFrame | None, period: Period) -> list[tuple[Any, ...]]:
    if statement is None:
        return []
    inside = _inside(statement, period)
    return _summed(inside, PAYOUT, inside["net"])


def _moved(
    movements: pd.DataFrame | None, period: Period, *, payouts: bool
) -> list[tuple[Any, ...]]:
    if movements is None:
        return []
    done = (movements["leg"] == "operator") & (movements["status"] == "completed")
    inside = _inside(movements[done.fillna(False)], period)
    back = inside[inside["kind"].isin(_GIVEN_BACK)]
    found = _summed(back, REFUND, -back["amount"])
    if payouts:
        out = inside[inside["kind"] == "payout"]
        found += _summed(out, PAYOUT, -out["amount"])
    return found


def _inside(frame: pd.DataFrame, period: Period) -> pd.DataFrame:
    days = frame["business_day"]
    first, last = pd.Timestamp(period.first), pd.Timestamp(period.last)
    chosen: pd.DataFrame = frame[((days >= first) & (days <= last)).fillna(False)]
    return chosen


def _summed(frame: pd.DataFrame, kind: str, money: Any) -> list[tuple[Any, ...]]:
    # In whole numbers of Python: a sum of the frame's own would wrap around in silence.
    sums: dict[tuple[Any, ...], tuple[int, int]] = {}
    keys = zip(frame["business_day"], frame["currency"], frame["channel"], money, strict=True)
    for day, currency, channel, amount in keys:
        key = (day, currency, None if pd.isna(channel) else channel)
        rows, total = sums.get(key, (0, 0))
        sums[key] = rows + 1, total + int(amount)
    return [(*key, kind, rows, 0, 0, 0, 0, total) for key, (rows, total) in sums.items()]
