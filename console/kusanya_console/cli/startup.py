"""A start without the search for garbage: it makes half a million objects and drops next to none.

Python would look through them again and again, which takes a fifth of the time until something is
shown. What was loaded stays until the end, so that it is never looked through later either.
"""

import gc
from collections.abc import Callable
from functools import wraps
from typing import Any


def begin() -> None:
    """Begin a start: nothing is searched until `started` is called."""
    gc.disable()


def started() -> None:
    """End the start, if one was begun."""
    if not gc.isenabled():
        gc.freeze()
        gc.enable()


def once_started(command: Callable[..., Any]) -> Callable[..., Any]:
    """Return `command` with the start ended before it runs."""

    @wraps(command)
    def run(*given: Any, **named: Any) -> Any:
        started()
        return command(*given, **named)

    run.ends_start = True  # type: ignore[attr-defined] # for whoever checks that all do
    return run
