"""Reconciliation: what came in, what it cost, what is missing, why customers failed.

pandas DataFrames in and out, DuckDB inside, integers end to end; `frames.columns` says what every
frame holds. A month walks through `inputs` (store, ledger, statement), `matching`, `analysis` and
`pack`; `notebook` is for people's eyes. The modules that a notebook needs are names of this
package, imported when they are first used: pandas and DuckDB cost more to import than a look-up
may take.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from kusanya.reconcile.analysis import (
        amount_bands,
        failures,
        fees,
        report,
        tariff,
        wilson,
    )
    from kusanya.reconcile.frames import columns, days
    from kusanya.reconcile.inputs import (
        exported,
        files,
        load,
        mapping,
        quality,
        sample,
        sample_faults,
        tariff_file,
        tolerance,
    )
    from kusanya.reconcile.matching import breaks, ledger, settlement
    from kusanya.reconcile.notebook import chart, environment_check, timeline, views
    from kusanya.reconcile.pack import close, write
    from kusanya.reconcile.pack.close import run
    from kusanya.reconcile.sql import engine

__all__ = [
    "amount_bands",
    "breaks",
    "chart",
    "close",
    "columns",
    "days",
    "engine",
    "environment_check",
    "exported",
    "failures",
    "fees",
    "files",
    "ledger",
    "load",
    "mapping",
    "quality",
    "report",
    "run",
    "sample",
    "sample_faults",
    "settlement",
    "tariff",
    "tariff_file",
    "timeline",
    "tolerance",
    "views",
    "wilson",
    "write",
]

_FOLDERS: Final = {
    "analysis": {"amount_bands", "failures", "fees", "report", "tariff", "wilson"},
    "frames": {"columns", "days"},
    "inputs": {
        "exported",
        "files",
        "load",
        "mapping",
        "quality",
        "sample",
        "sample_faults",
        "tariff_file",
        "tolerance",
    },
    "matching": {"breaks", "ledger", "settlement"},
    "notebook": {"chart", "environment_check", "timeline", "views"},
    "pack": {"close", "write"},
    "sql": {"engine"},
}

if not TYPE_CHECKING:  # a type checker would take every name for one of ours

    def __getattr__(name: str) -> Any:
        if name == "run":
            return import_module("kusanya.reconcile.pack.close").run
        for folder, modules in _FOLDERS.items():
            if name in modules:
                return import_module(f"kusanya.reconcile.{folder}.{name}")
        raise AttributeError(f"module 'kusanya.reconcile' has no attribute {name!r}")
