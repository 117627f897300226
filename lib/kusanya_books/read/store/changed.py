"""Collections of days before a closed period of which facts came after its close.

A close is compared with its own period; of a day long before it the store itself says what was
known then.
"""

from typing import Any

import pandas as pd

from kusanya.store import Store
from kusanya.wire import Mode
from kusanya_books import columns
from kusanya_books.columns import CLOSED, COLLECTIONS
from kusanya_books.engine.engine import query
from kusanya_books.engine.engines import open_engine
from kusanya_books.read.store.normalisation import normalise
from kusanya_books.request.days import Period


def since(
    url: str, days: Period, *, mode: Mode, place: int, as_of: int
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return what changed of these days between two places of the journal, before and after.

    Both as `CLOSED`. Raises StoreError.
    """
    with Store.open(url, read_only=True) as opened, opened.bulk_read.snapshot() as found:
        heard = found.heard_of(mode, created_before=days.ends, after=place)
        asked: dict[str, Any] = {"ids": heard, "references": (), "since": days.ends}
        before, now = (
            columns.from_arrow(found.collections_named(mode, **asked, until=days.ends, as_of=at))
            for at in (place, as_of)
        )
        key = opened.store_id
    return _closed(before, days, key), _closed(now, days, key)


def _closed(found: pd.DataFrame, days: Period, key: str) -> pd.DataFrame:
    frame = normalise(found, key=key, cutoff=days.cutoff)
    with open_engine() as engine:
        engine.register("collections", frame, COLLECTIONS)
        return engine.frame(query("close/closed"), CLOSED, {"first": days.first, "last": days.last})
