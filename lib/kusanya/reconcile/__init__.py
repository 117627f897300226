"""Reconciliation: what came in, what it cost, what is missing, why customers failed.

pandas DataFrames in and out, DuckDB inside, integers end to end; `frames.columns` says what every
frame holds. A month walks through `inputs` (store, ledger, statement), `matching`, `analysis` and
`pack`; `notebook` is for people's eyes. The modules that the notebooks use are names of this
package, imported when they are first used: pandas and DuckDB cost more to import than a look-up
may take.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from kusanya.reconcile.analysis import failures, fees, gap, report
    from kusanya.reconcile.inputs import guess, load
    from kusanya.reconcile.matching import ledger, settlement
    from kusanya.reconcile.notebook import (
        answers,
        chart,
        environment_check,
        stories,
        timeline,
        views,
    )
    from kusanya.reconcile.pack import close
    from kusanya.reconcile.pack.close import run

__all__ = [
    "answers",
    "chart",
    "close",
    "environment_check",
    "failures",
    "fees",
    "gap",
    "guess",
    "ledger",
    "load",
    "report",
    "run",
    "settlement",
    "stories",
    "timeline",
    "views",
]

_FOLDERS: Final = {
    "analysis": {"failures", "fees", "gap", "report"},
    "inputs": {"guess", "load"},
    "matching": {"ledger", "settlement"},
    "notebook": {"answers", "chart", "environment_check", "stories", "timeline", "views"},
    "pack": {"close"},
}

if not TYPE_CHECKING:  # a type checker would take every name for one of ours

    def __getattr__(name: str) -> Any:
        if name == "run":
            return import_module("kusanya.reconcile.pack.close").run
        for folder, modules in _FOLDERS.items():
            if name in modules:
                return import_module(f"kusanya.reconcile.{folder}.{name}")
        raise AttributeError(f"module 'kusanya.reconcile' has no attribute {name!r}")
