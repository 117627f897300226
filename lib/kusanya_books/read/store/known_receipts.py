"""The operator's receipts of collections that the store knows from earlier statements."""

import pandas as pd
import pyarrow as pa

from kusanya_books import columns
from kusanya_books.columns import RECEIPTS


def receipts(known: pa.Table) -> pd.DataFrame:
    """Return the store's receipts, collection_id and receipt, by `RECEIPTS`.

    The lines that gave them are not known any more: channel, input and line are missing.
    """
    missing = [None] * len(known)
    return columns.frame(
        RECEIPTS,
        {
            **known.to_pydict(),
            **dict.fromkeys(("channel", "input", "line_no"), missing),
        },
    )
