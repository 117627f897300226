"""Bugs that would lose or take money, each planted into the running product by a patch.

Every plant replaces one function of the product for as long as its context is open, in this process
or in a child that enters it. No branch of the product knows of them.
"""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any, Final
from unittest import mock

from kusanya.store import engine


@contextmanager
def synchronous_normal() -> Iterator[None]:
    """Commit without waiting for the disk: SQLite's NORMAL in WAL mode."""
    original = engine._set_up

    def weaker(connection: Any, *pragmas: str) -> None:
        original(connection, *(p.replace("= FULL", "= NORMAL") for p in pragmas))

    with mock.patch.object(engine, "_set_up", weaker):
        yield


@contextmanager
def checkpointing_every(pages: int) -> Iterator[None]:
    """Checkpoint after so many pages: no bug, but a log that is short enough to be replayed."""
    original = engine._set_up

    def sooner(connection: Any, *pragmas: str) -> None:
        original(connection, *pragmas)
        connection.execute(f"PRAGMA wal_autocheckpoint = {pages}")

    with mock.patch.object(engine, "_set_up", sooner):
        yield


BUGS: Final[dict[str, Callable[[], AbstractContextManager[None]]]] = {
    "synchronous=NORMAL": synchronous_normal,
}


def planted(name: str | None) -> AbstractContextManager[None]:
    """Return the context in which the bug `name` is in the product; None plants nothing."""
    return nullcontext() if name is None else BUGS[name]()
