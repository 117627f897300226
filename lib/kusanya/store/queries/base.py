"""What every part of the store stands on: reading connections, and writes through the journal."""

from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from functools import wraps
from inspect import signature
from types import NoneType
from typing import Any, TypeVar, get_args

import msgspec
from sqlalchemy import Connection

from kusanya.clock import Clock
from kusanya.errors import StoreUnavailable
from kusanya.state.observation import Observation
from kusanya.store.tables.engine import Engines, only_store_errors
from kusanya.store.writer.batch import ObservationWrite, Transaction
from kusanya.store.writer.journal import Journal
from kusanya.wire import Mode

Result = TypeVar("Result")


class StoreParts(msgspec.Struct, frozen=True):
    """What all parts of one open store share; `journal` is None where it is only read."""

    engines: Engines
    journal: Journal | None
    clock: Clock
    store_id: str


class StorePart:
    """One part of an open store, such as `store.intents`.

    A mode may be given as its text too; ValueError names what is none.
    """

    def __init_subclass__(cls) -> None:
        for name, method in list(vars(cls).items()):
            if (
                not name.startswith("_")
                and callable(method)
                and "mode" in signature(method).parameters
            ):
                setattr(cls, name, _with_a_mode(method))

    def __init__(self, opened: StoreParts) -> None:
        self._engines = opened.engines
        self._journal = opened.journal
        self._clock = opened.clock
        self._store_id = opened.store_id

    @contextmanager
    def _reading(self, doing: str) -> Iterator[Connection]:
        """Yield a connection that sees one moment's committed rows and cannot write."""
        with only_store_errors(doing), self._engines.reading() as connection:
            yield connection

    @contextmanager
    def _reading_one_moment(self, doing: str) -> Iterator[Connection]:
        """Yield such a connection whose every query sees the same moment."""
        with only_store_errors(doing), self._engines.reading_one_moment() as connection:
            yield connection

    def _writer(self) -> Journal:
        if self._journal is None:
            raise StoreUnavailable("the store was opened read-only")
        return self._journal

    def _queue(
        self, act: Callable[[Transaction], Result], *, observation: Observation | None = None
    ) -> "Future[Result]":
        """Queue `act` for a transaction of the journal, with a fact that becomes durable with it.

        The future resolves to the act's result once it is durable.
        """
        return self._writer().submit(
            act if observation is None else ObservationWrite(observation=observation, act=act)
        )

    def _act(self, act: Callable[[Transaction], Result]) -> Result:
        """Run `act` in a transaction of the journal and return its result once it is durable."""
        return self._queue(act).result()


def _with_a_mode(method: Callable[..., Result]) -> Callable[..., Result]:
    """Return `method` with its argument `mode` as a Mode: "test" came to queries as a text."""
    parameters = signature(method).parameters
    place = list(parameters).index("mode")
    good = (Mode, NoneType) if NoneType in get_args(parameters["mode"].annotation) else Mode

    @wraps(method)
    def checked(*given: Any, **named: Any) -> Result:
        mode: Any = given[place] if place < len(given) else named.get("mode")
        if isinstance(mode, good) or (place >= len(given) and "mode" not in named):
            return method(*given, **named)
        if place < len(given):
            given = (*given[:place], Mode(mode), *given[place + 1 :])
        else:
            named["mode"] = Mode(mode)
        return method(*given, **named)

    return checked
