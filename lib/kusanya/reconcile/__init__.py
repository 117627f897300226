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
        bands,
        breaks,
        chart,
        close,
        codes,
        columns,
        days,
        engine,
        export,
        exported,
        failures,
        fees,
        files,
        inputs,
        ledger,
        load,
        mapping,
        plants,
        quality,
        report,
        sample,
        settlement,
        show,
        start,
        stats,
        story,
        tariff,
        tariff_file,
        terms,
    )
    from kusanya.reconcile.close import run

__all__ = [
    "bands",
    "breaks",
    "chart",
    "close",
    "codes",
    "columns",
    "days",
    "engine",
    "export",
    "exported",
    "failures",
    "fees",
    "files",
    "inputs",
    "ledger",
    "load",
    "mapping",
    "plants",
    "quality",
    "report",
    "run",
    "sample",
    "settlement",
    "show",
    "start",
    "stats",
    "story",
    "tariff",
    "tariff_file",
    "terms",
]

if not TYPE_CHECKING:  # a type checker would take every name for one of ours

    def __getattr__(name: str) -> Any:
        if name == "run":
            return import_module("kusanya.reconcile.close").run
        if name in __all__:
            return import_module(f"kusanya.reconcile.{name}")
        raise AttributeError(f"module 'kusanya.reconcile' has no attribute {name!r}")
