"""The books: what came in, what it cost, what is missing, why customers failed.

pandas DataFrames in and out, DuckDB inside, integers end to end; `columns` says what every frame
holds. A month walks through `read` (store, ledger, statements), `match`, `judge` and `pack`;
`present` is for people's eyes, `request` says what a close was asked and given, `engine` runs the
queries of `sql`. The modules that the notebooks use are names of this package, imported when they
are first used: pandas and DuckDB cost more to import than a look-up may take.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from kusanya_books.judge import failures, fees, gap, report
    from kusanya_books.match import ledger, settlement
    from kusanya_books.pack import close
    from kusanya_books.pack.close import run
    from kusanya_books.present import (
        answers,
        chart,
        environment_check,
        stories,
        timeline,
        views,
    )
    from kusanya_books.read import guess, load
    from kusanya_books.request.close_request import CloseRequest

__all__ = [
    "CloseRequest",
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
    "judge": {"failures", "fees", "gap", "report"},
    "read": {"guess", "load"},
    "match": {"ledger", "settlement"},
    "present": {"answers", "chart", "environment_check", "stories", "timeline", "views"},
    "pack": {"close"},
}
_VALUES: Final = {
    "CloseRequest": "kusanya_books.request.close_request",
    "run": "kusanya_books.pack.close",
}

if not TYPE_CHECKING:  # a type checker would take every name for one of ours

    def __getattr__(name: str) -> Any:
        if name in _VALUES:
            return getattr(import_module(_VALUES[name]), name)
        for folder, modules in _FOLDERS.items():
            if name in modules:
                return import_module(f"kusanya_books.{folder}.{name}")
        raise AttributeError(f"module 'kusanya_books' has no attribute {name!r}")
