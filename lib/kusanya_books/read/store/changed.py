"""Collections of days before a closed period of which facts came after its close.

A close is compared with its own period; of a day long before it the store itself says what was
known then.
"""

from typing import Any

import pandas as pd

from kusanya.store import Store
from kusanya.wire import Mode
from kusanya_books import columns
from kusanya_books.read.store.normalisation import normalise
from kusanya_books.request.days import Period


def since(
    url: str, days: Period, *, mode: Mode, place: int, as_of: int
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return what changed between two places of the journal, as it was at each, as `COLLECTIONS`.

    Of what was created before the end of these days. Raises StoreError.
    """
    with Store.open(url, read_only=True) as opened, opened.bulk_read.snapshot() as found:
        ids = found.changed_after(mode, place, created_before=days.ends)
        asked: dict[str, Any] = {"ids": ids, "references": (), "since": days.ends}
        before, now = (
            normalise(
                columns.from_arrow(
                    found.collections_named(mode, **asked, until=days.ends, as_of=at)
                ),
                key=opened.store_id,
                cutoff=days.cutoff,
            )
            for at in (place, as_of)
        )
        return before, now
