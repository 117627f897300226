"""Rates with an honest interval."""

from typing import Any, Final

import pandas as pd

from kusanya_books.columns import DType

_Z: Final = 1.959963984540054
"""The normal quantile of a two-sided 95 % interval."""


def wilson(hits: "pd.Series[Any]", base: "pd.Series[Any]") -> tuple[Any, Any, Any]:
    """Return rate, lower and upper bound of Wilson's 95 % interval; missing where base is 0.

    Holds for a handful of attempts and near 0 and 1, where the usual interval lies: 3 of 40 is
    0.0258 to 0.1986.
    """
    share = DType.SHARE.pandas
    n = base.astype(share).mask(base == 0)
    rate = hits.astype(share) / n
    spread = _Z * (rate * (1 - rate) / n + _Z**2 / (4 * n * n)) ** 0.5
    middle, scale = rate + _Z**2 / (2 * n), 1 + _Z**2 / n
    low = ((middle - spread) / scale).clip(lower=0.0)
    high = ((middle + spread) / scale).clip(upper=1.0)
    return rate, low, high
