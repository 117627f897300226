"""Why payments fail, what it costs, and what came back.

The base of every rate is the attempts of one mode and currency that reached a final state; a choice
of rows never changes it. Days are those of creation.
"""

from typing import Final

import pandas as pd

from kusanya.reconcile import columns
from kusanya.reconcile.codes import CODES, UNKNOWN_ADVICE
from kusanya.reconcile.columns import COLLECTIONS, PARETO, Kind, Schema
from kusanya.reconcile.days import Period
from kusanya.reconcile.engine import Engine, Source, folders_of, query
from kusanya.reconcile.stats import wilson

_CODES: Final = Schema("codes", {"code": Kind.TEXT, "class": Kind.TEXT, "advice": Kind.TEXT})
_COUNTED: Final = Schema(
    "pareto",
    {
        name: Kind.WHOLE if name == "base" else PARETO.columns[name]
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


def pareto(collections: Source, *, period: Period) -> pd.DataFrame:
    """Return one row per failure code, the most frequent first, by count and by money.

    `share` is of all unsuccessful attempts, `rate` of all final ones, with Wilson's 95 % interval.
    Expired attempts and failures without a code have rows of their own. `value` is the sum of the
    amounts that were asked for. Source: States and transitions; assumption OPEN_SETS.
    """
    with Engine(folders=folders_of(collections)) as engine:
        engine.give("collections", collections, COLLECTIONS)
        engine.give("codes", known(), _CODES)
        counted = engine.frame(
            query("pareto"),
            _COUNTED,
            {"first": period.first, "last": period.last, "advice": UNKNOWN_ADVICE},
        )
    rate, low, high = wilson(counted["attempts"], counted["base"])
    return columns.frame(PARETO, counted.assign(rate=rate, rate_low=low, rate_high=high))


def known() -> pd.DataFrame:
    """Return the table of known codes."""
    return columns.frame(
        _CODES,
        {
            "code": list(CODES),
            "class": [code.group.value for code in CODES.values()],
            "advice": [code.advice for code in CODES.values()],
        },
    )
