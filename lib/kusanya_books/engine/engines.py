"""Which engine runs over a source: DuckDB in this process, or the Spark that a dataset names."""

from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import Final

from kusanya.errors import ConfigurationError
from kusanya_books.engine.duckdb_engine import (
    MEMORY,
    SMALL,
    SMALL_FILES,
    Database,
    DuckDbEngine,
)
from kusanya_books.engine.engine import Dataset, Engine, Source

_SORT: Final = "128MB"
"""What an engine may hold that only sorts a large dataset."""
_LARGE_TO_SORT: Final = 20_000_000
"""How many bytes are a large one; a smaller one shares the database of the other engines."""


class _Shared:
    """The databases that engines share, until the stack is closed."""

    def __init__(self, until: ExitStack) -> None:
        self._until = until
        self._databases: list[Database] = []

    def database(self, folders: frozenset[Path], memory: str) -> Database:
        """Return one that may read the folders, and has so much memory."""
        for database in self._databases:
            if database.folders >= folders and database.memory == memory:
                return database
        made = self._until.enter_context(closing(Database(folders, memory=memory)))
        self._databases.append(made)
        return made


_shared: Final[ContextVar[_Shared | None]] = ContextVar("shared databases", default=None)


@contextmanager
def shared_databases() -> Iterator[None]:
    """Let the engines that are opened inside share databases: each still sees its own tables only.

    A close opens a dozen engines, and making a database takes as long as what a small month asks.
    """
    if _shared.get() is not None:
        yield
        return
    with ExitStack() as until:
        token = _shared.set(_Shared(until))
        try:
            yield
        finally:
            _shared.reset(token)


def open_engine(*sources: Source | None, sorts: bool = False) -> Engine:
    """Return an engine that reads these sources; it is closed by the caller.

    Frames lie in this process and go to whichever engine the datasets name. One that only `sorts`
    a large dataset gets less memory: through a file it takes no longer. Raises ValueError for
    datasets of two engines, ConfigurationError where Spark or its client is not there.
    """
    datasets = [source for source in sources if isinstance(source, Dataset)]
    addresses = {dataset.engine for dataset in datasets}
    if len(addresses) > 1:
        raise ValueError(f"one engine reads all datasets, not {' and '.join(sorted(addresses))}")
    address = "".join(addresses)
    if address:
        try:
            from kusanya_books.engine.spark_engine import SparkEngine
        except ModuleNotFoundError as error:
            needs = "Spark needs more packages: pip install 'kusanya[spark]'"
            raise ConfigurationError(needs) from error
        return SparkEngine(address)
    folders = frozenset(folder for dataset in datasets for folder in dataset.folders)
    memory = _memory(datasets, sorts=sorts) if datasets else MEMORY
    shared = _shared.get()
    if shared is None:
        return DuckDbEngine(folders=folders, memory=memory)
    return DuckDbEngine(shared=shared.database(folders, memory))


def _memory(datasets: list[Dataset], *, sorts: bool) -> str:
    """Return what is enough: an engine fills what it may have, and the program needs room too."""
    size = sum(path.stat().st_size for dataset in datasets for path in dataset.paths)
    if sorts and size > _LARGE_TO_SORT:
        return _SORT
    return SMALL if size <= SMALL_FILES else MEMORY
