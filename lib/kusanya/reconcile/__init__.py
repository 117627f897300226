"""Reconciliation: what came in, what it cost, what is missing, why customers failed.

pandas DataFrames in and out, DuckDB inside, integers end to end; `columns` says what every frame
holds. Rooms, in the order a month walks through them: `load` (store, ledger, statement), `fees`,
`failures`, `ledger`, `settlement`, `close`, `export`, with `show` for people's eyes and `sample`
for a month without a store. Importing the package loads none of them: pandas and DuckDB cost more
to import than a look-up may take.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from kusanya.reconcile import (
        breaks,
        chart,
        codes,
        columns,
        days,
        engine,
        failures,
        fees,
        ledger,
        load,
        plants,
        sample,
        settlement,
        show,
        stats,
        terms,
    )

__all__ = [
    "breaks",
    "chart",
    "codes",
    "columns",
    "days",
    "engine",
    "failures",
    "fees",
    "ledger",
    "load",
    "plants",
    "sample",
    "settlement",
    "show",
    "stats",
    "terms",
]


def __getattr__(name: str) -> Any:
    if name in __all__:
        return import_module(f"kusanya.reconcile.{name}")
    raise AttributeError(f"module 'kusanya.reconcile' has no attribute {name!r}")
