"""The order in which people read breaks: what needs them first, and of that the most money."""

from typing import Final

import pandas as pd

_STANDINGS: Final = {"break": 0, "expected": 1, "ok": 2}
_STAKES: Final = ("at_stake", "open_balance", "bridge_effect", "fee_drift", "amount")
"""What a row is worth to us, the first that is known and not 0."""


def worst_first(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of a match by standing, currency and money at stake, the largest first.

    Rows of equal stake keep their order. A frame without a standing is returned as it is.
    """
    if "standing" not in frame or frame.empty:
        return frame
    known = [name for name in ("currency", "currency_ledger", "currency_service") if name in frame]
    currency = frame[known[0]]
    for name in known[1:]:
        currency = currency.fillna(frame[name])
    order = pd.DataFrame(
        {
            "standing": frame["standing"].map(_STANDINGS).fillna(len(_STANDINGS)).astype("int64"),
            "currency": currency.fillna("").astype("object"),
            "stake": -_stake(frame),
        }
    )
    ordered = order.sort_values(["standing", "currency", "stake"], kind="stable").index
    return frame.loc[ordered].reset_index(drop=True)


def _stake(frame: pd.DataFrame) -> "pd.Series[int]":
    stake = pd.Series(0, index=frame.index, dtype="Int64")
    for name in _STAKES:
        if name in frame:
            stake = stake.mask(stake == 0, frame[name].abs().fillna(0))
    return stake
