"""Why payments fail, what it costs, and what came back.

The base of every rate is the attempts of one mode and currency that reached a final state; a choice
of rows never changes it. Days are those of creation.
"""

from collections.abc import Sequence
from datetime import date
from typing import Final

import pandas as pd

from kusanya.domain.failure_codes import ADVICE, UNKNOWN_ADVICE
from kusanya_books import columns
from kusanya_books.columns import (
    COLLECTIONS,
    HOURS,
    PARETO,
    RATES,
    RECOVERY,
    DType,
    Schema,
)
from kusanya_books.engine.engine import Source, query
from kusanya_books.engine.engines import open_engine
from kusanya_books.judge.amount_bands import BANDS, EDGES, bands
from kusanya_books.judge.wilson import wilson
from kusanya_books.request.days import Period
from kusanya_books.request.tolerance import PLAIN

_CODES: Final = Schema("codes", {"code": DType.TEXT, "class": DType.TEXT, "advice": DType.TEXT})
_COUNTED: Final = Schema(
    "pareto",
    {
        name: DType.WHOLE if name == "base" else PARETO.columns[name]
        for name in (
            "mode",
            "currency",
            "code",
            "class",
            "attempts",
            "share",
            "cum_share",
            "base",
            "references",
            "value",
            "value_share",
            "value_cum_share",
            "advice",
        )
    },
)


PARTS: Final = ("all", "channel", "band", "day")


def _without(schema: Schema, *names: str) -> Schema:
    return Schema(
        schema.name, {name: kind for name, kind in schema.columns.items() if name not in names}
    )


_SHARES: Final = ("rate", "rate_low", "rate_high", "few")
_TRIED: Final = _without(RATES, *_SHARES, "reference_rate", "reference_low", "reference_high")
_BY_HOUR: Final = _without(HOURS, *_SHARES)
_RECOVERED: Final = _without(RECOVERY, *_SHARES)


def pareto(collections: Source, *, period: Period) -> pd.DataFrame:
    """Return one row per failure code, the most frequent first, by count and by money.

    `share` is of all unsuccessful attempts, `rate` of all final ones, with Wilson's 95 % interval.
    Expired attempts and failures without a code have rows of their own. `value` is the sum of the
    amounts that were asked for. Source: States and transitions; assumption OPEN_SETS.
    """
    with open_engine(collections) as engine:
        engine.register("collections", collections, COLLECTIONS)
        engine.register("codes", known(), _CODES)
        counted = engine.frame(
            query("failures/pareto"),
            _COUNTED,
            {"first": period.first, "last": period.last, "advice": UNKNOWN_ADVICE},
        )
    rate, low, high = wilson(counted["attempts"], counted["base"])
    return columns.frame(PARETO, counted.assign(rate=rate, rate_low=low, rate_high=high))


def rates(
    collections: Source,
    *,
    period: Period,
    by: str = "all",
    edges: Sequence[int] = EDGES,
    small_n: int = PLAIN.small_n,
) -> pd.DataFrame:
    """Return how often attempts and references succeed, as a whole or by part.

    `by` is all, channel, band (of the amount) or day (of creation). A reference succeeded when any
    of its attempts did, in whatever part; its rate is the one that customers feel. Parts of fewer
    than `small_n` attempts are marked. Raises ValueError for another `by`.
    """
    if by not in PARTS:
        raise ValueError(f"rates are by {', '.join(PARTS)}, not by {by!r}")
    with open_engine(collections) as engine:
        engine.register("collections", collections, COLLECTIONS)
        engine.register("bands", bands(edges), BANDS)
        counted = engine.frame(
            query("failures/rates"), _TRIED, {"first": period.first, "last": period.last, "by": by}
        )
    rate, low, high = wilson(counted["succeeded"], counted["attempts"])
    reference, least, most = wilson(counted["references_paid"], counted["references"])
    full = counted.assign(
        rate=rate,
        rate_low=low,
        rate_high=high,
        reference_rate=reference,
        reference_low=least,
        reference_high=most,
        few=counted["attempts"] < small_n,
    )
    return columns.frame(RATES, full)


def by_hour(collections: Source, *, period: Period, small_n: int = PLAIN.small_n) -> pd.DataFrame:
    """Return how often attempts succeed by weekday and hour of creation, East Africa Time."""
    with open_engine(collections) as engine:
        engine.register("collections", collections, COLLECTIONS)
        counted = engine.frame(
            query("failures/hours"), _BY_HOUR, {"first": period.first, "last": period.last}
        )
    rate, low, high = wilson(counted["succeeded"], counted["attempts"])
    full = counted.assign(
        rate=rate, rate_low=low, rate_high=high, few=counted["attempts"] < small_n
    )
    return columns.frame(HOURS, full)


def recovery(
    collections: Source,
    *,
    period: Period,
    as_of: date | None = None,
    recovery_days: int = PLAIN.recovery_days,
    small_n: int = PLAIN.small_n,
) -> pd.DataFrame:
    """Return what became of failed references, by their first failing code.

    A failure is recovered when a later attempt of its reference, created within `recovery_days`,
    succeeds; a failure younger than that on the day `as_of` is still open and not lost. The lag is
    from one creation to the other; value is the amount of the first failure; the rate leaves out
    what is still open. `collections` must
    reach `recovery_days` past the period, or late recoveries are not seen.
    """
    with open_engine(collections) as engine:
        engine.register("collections", collections, COLLECTIONS)
        counted = engine.frame(
            query("failures/recovery"),
            _RECOVERED,
            {
                "first": period.first,
                "last": period.last,
                "as_of": as_of or period.last,
                "days": recovery_days,
            },
        )
    settled = counted["references"] - counted["still_open"]
    rate, low, high = wilson(counted["recovered"], settled)
    few = settled < small_n
    full = counted.assign(rate=rate, rate_low=low, rate_high=high, few=few)
    return columns.frame(RECOVERY, full)


def unknown(collections: Source, *, period: Period) -> pd.DataFrame:
    """Return the rows of the Pareto whose code is in no table of ours."""
    found = pareto(collections, period=period)
    strange: pd.DataFrame = found[~found["code"].isin(list(ADVICE))]
    return strange.reset_index(drop=True)


def known() -> pd.DataFrame:
    """Return the table of known codes."""
    return columns.frame(
        _CODES,
        {
            "code": list(ADVICE),
            "class": [group.value for group, _ in ADVICE.values()],
            "advice": [advice for _, advice in ADVICE.values()],
        },
    )
