"""What was loaded, against the totals that the store keeps of its own."""

from collections.abc import Sequence
from datetime import timedelta
from typing import Final

import pandas as pd

from kusanya.store.records import AMOUNT_COUNTED_MAX, RollupRow
from kusanya_books import columns
from kusanya_books.columns import COLLECTIONS, CONTROL, Schema
from kusanya_books.engine.engine import Source
from kusanya_books.engine.engines import open_engine
from kusanya_books.request.days import Period

_SUMS: Final = ("rows", "amount", "fee")
_LOADED: Final = Schema(
    "loaded", {name: CONTROL.columns[name] for name in ("currency", "status", *_SUMS)}
)
# Rollups count a larger number, which is a fault, as the most they count.
_SUMMED: Final = """
SELECT
    currency,
    status,
    count(*) AS rows,
    sum(least(greatest(amount, -$most), $most))::BIGINT AS amount,
    sum(least(greatest(fee, -$most), $most))::BIGINT AS fee
FROM collections
WHERE created_at >= $begins AND created_at < $ends
GROUP BY currency, status
"""


def control(
    collections: Source, rollups: Sequence[RollupRow] | None, *, period: Period
) -> pd.DataFrame:
    """Return counts and sums of what was created in the period beside the store's rollups.

    Rollups know whole hours; a cutoff within an hour has no control and gives no row, nor has a
    position that they have moved on from (None).
    """
    if rollups is None or period.cutoff % timedelta(hours=1):
        return columns.empty(CONTROL)
    with open_engine(collections) as engine:
        engine.register("collections", collections, COLLECTIONS)
        span = {"begins": period.begins, "ends": period.ends}
        loaded = engine.frame(_SUMMED, _LOADED, {**span, "most": AMOUNT_COUNTED_MAX})
    ours = loaded.set_index(["currency", "status"])
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
