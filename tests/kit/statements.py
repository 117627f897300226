"""Lines of a settlement statement."""

from typing import Any

import pandas as pd

from kusanya_books import columns
from kusanya_books.columns import STATEMENT


def statement_of(lines: list[dict[str, Any]]) -> pd.DataFrame:
    """Return the frame of these lines; `day` is the business day that a line names."""
    same = ("line_no", "batch_id", "channel", "currency", "collection_id", "gross", "fee", "net")
    return columns.frame(
        STATEMENT,
        {
            **{name: [line[name] for line in lines] for name in same},
            "count": [None] * len(lines),
            "kind": [line.get("kind", "payment") for line in lines],
            "business_day": pd.array([line["day"] for line in lines], dtype="datetime64[us]"),
        },
    )
