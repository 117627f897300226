"""What collections cost: by day, against the tariff, and where a fee moved or makes no sense."""

import pandas as pd

from kusanya.reconcile import columns
from kusanya.reconcile.columns import COLLECTIONS, DAILY, TARIFF
from kusanya.reconcile.days import Period
from kusanya.reconcile.engine import Engine, Source, folders_of, query


def daily(
    collections: Source, *, period: Period, tariff: pd.DataFrame | None = None
) -> pd.DataFrame:
    """Return attempts, money and fees by business day, mode, currency and channel.

    Gross, fee and net are of what succeeded; a row without a day and with channel (all) is the
    total of its mode and currency. `expected_fee` and `fee_drift` (charged - expected) are missing
    without a `tariff` or where it has no price. Source: What the service does, 4.
    """
    with Engine(folders=folders_of(collections)) as engine:
        engine.give("collections", collections, COLLECTIONS)
        engine.give("tariff", columns.empty(TARIFF) if tariff is None else tariff, TARIFF)
        engine.run(query("priced"))
        return engine.frame(query("daily"), DAILY, {"first": period.first, "last": period.last})
