"""Why attempts fail, how often, and what came back."""

from typing import Final

from kusanya.reconcile.frames.dtypes import F, S, Schema, T, W

PARETO: Final = Schema(
    "pareto",
    {
        "mode": T,
        "currency": T,
        "code": T,
        "class": T,
        "attempts": W,
        "share": S,
        "cum_share": S,
        "rate": S,
        "rate_low": S,
        "rate_high": S,
        "references": W,
        "value": W,
        "value_share": S,
        "value_cum_share": S,
        "advice": T,
    },
)
"""One row per mode, currency and failure code."""

RATES: Final = Schema(
    "rates",
    {
        "mode": T,
        "currency": T,
        "part": T,
        "attempts": W,
        "succeeded": W,
        "rate": S,
        "rate_low": S,
        "rate_high": S,
        "references": W,
        "references_paid": W,
        "reference_rate": S,
        "reference_low": S,
        "reference_high": S,
        "few": F,
    },
)
"""One row per part: how many attempts, and how many references, succeeded. `few` marks rates that
rest on too few attempts to be read."""

HOURS: Final = Schema(
    "hours",
    {
        "mode": T,
        "currency": T,
        "weekday": W,
        "hour": W,
        "attempts": W,
        "succeeded": W,
        "rate": S,
        "rate_low": S,
        "rate_high": S,
        "few": F,
    },
)
"""One row per weekday (0 is Monday) and hour of creation, East Africa Time."""

RECOVERY: Final = Schema(
    "recovery",
    {
        "mode": T,
        "currency": T,
        "code": T,
        "references": W,
        "recovered": W,
        "rate": S,
        "rate_low": S,
        "rate_high": S,
        "still_open": W,
        "median_lag_s": W,
        "value": W,
        "value_recovered": W,
        "value_open": W,
        "value_lost": W,
        "few": F,
    },
)
"""One row per first failing code of a reference; `still_open` ones are young enough to recover."""
