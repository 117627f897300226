"""Amount bands: declared edges, never quantiles, so that two months have the same bands."""

from collections.abc import Sequence
from typing import Final

import pandas as pd

from kusanya_books import columns
from kusanya_books.columns import DType, Schema

EDGES: Final = (1_000, 5_000, 10_000, 50_000, 100_000, 500_000, 1_000_000)
BANDS: Final = Schema(
    "bands",
    {"place": DType.WHOLE, "band": DType.TEXT, "low": DType.WHOLE, "high": DType.WHOLE},
)


def bands(edges: Sequence[int] = EDGES) -> pd.DataFrame:
    """Return the bands between `edges`: below the first, then from each edge up to the next.

    Raises ValueError unless the edges are rising whole numbers above 0.
    """
    if list(edges) != sorted(set(edges)) or any(edge < 1 for edge in edges):
        raise ValueError("band edges are rising whole numbers above 0")
    lows: list[int | None] = [None, *edges]
    highs: list[int | None] = [*(edge - 1 for edge in edges), None]
    return columns.frame(
        BANDS,
        {
            "place": list(range(len(lows))),
            "band": [_label(low, high) for low, high in zip(lows, highs, strict=True)],
            "low": lows,
            "high": highs,
        },
    )


def _label(low: int | None, high: int | None) -> str:
    if low is None:
        return "all" if high is None else f"up to {high:,}"
    return f"from {low:,}" if high is None else f"{low:,} to {high:,}"
