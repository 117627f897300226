"""What was loaded, against the totals that the store keeps of its own."""

from collections.abc import Sequence
from datetime import timedelta
from typing import Final

import pandas as pd

from kusanya.reconcile.frames import columns
from kusanya.reconcile.frames.columns import CONTROL
from kusanya.reconcile.frames.days import Period
from kusanya.store.records import AMOUNT_COUNTED_MAX, RollupRow

_SUMS: Final = ("rows", "amount", "fee")


def control(
    collections: pd.DataFrame, rollups: Sequence[RollupRow] | None, *, period: Period
) -> pd.DataFrame:
    """Return counts and sums of what was created in the period beside the store's rollups.

    Rollups know whole hours; a cutoff within an hour has no control and gives no row, nor has a
    position that they have moved on from (None).
    """
    if rollups is None or period.cutoff % timedelta(hours=1):
        return columns.empty(CONTROL)
    at = collections["created_at"]
    wanted = ["currency", "status", "amount", "fee"]
    inside = collections.loc[(at >= period.begins) & (at < period.ends), wanted]
    # Rollups count a larger number, which is a fault, as this.
    most = AMOUNT_COUNTED_MAX
    counted = {name: inside[name].clip(-most, most) for name in ("amount", "fee")}
    loaded = inside.assign(rows=1, **counted).astype({"rows": "Int64"})
    ours = loaded.groupby(["currency", "status"])[list(_SUMS)].sum()
    kept = pd.DataFrame(
        [(row.currency, row.status, row.count, row.amount, row.fee) for row in rollups],
        columns=["currency", "status", *_SUMS],
    ).astype(dict.fromkeys(_SUMS, "Int64"))
    theirs = kept.groupby(["currency", "status"])[list(_SUMS)].sum()
    both = ours.join(theirs.add_suffix("_rollup"), how="outer").fillna(0).reset_index()
    agrees = both["rows"].notna()
    for name in _SUMS:
        agrees &= both[name] == both[f"{name}_rollup"]
    return columns.frame(CONTROL, both.assign(agrees=agrees))
