"""DuckDB behind a guard, in this process: the engine that needs nothing.

The connection reads only the folders it was given, writes only to its own spill folder, loads no
extension, sees no Python variable, and its zone is UTC. Its sums are wider than a column and its
own way to pandas turns them to float, so that answers leave as Arrow.
"""

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import duckdb
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from kusanya.errors import FrameError
from kusanya_books import columns
from kusanya_books.columns import Schema
from kusanya_books.engine import spill
from kusanya_books.engine.engine import Engine, Source, column_list, exactly, literal

MEMORY: Final = "1GB"
"""What the engine may hold in memory; what is more goes to a folder that is removed at the end."""
SMALL: Final = "256MB"
"""The same for files of less than `SMALL_FILES` bytes, such as a month of a million collections."""
SMALL_FILES: Final = 150_000_000

_PIECE: Final = 100_000

_OVERFLOWS: Final = (duckdb.ConversionException, duckdb.OutOfRangeException)


class Database:
    """What engines share: the guard, the limit of memory and the spill folder.

    Making one costs as much as the queries of a small month.
    """

    def __init__(
        self, folders: Iterable[Path] = (), *, memory: str = MEMORY, threads: int | None = None
    ) -> None:
        self.folders = frozenset(folders)
        self.memory = memory
        # Said here and not set later, it holds for every connection.
        self._con = duckdb.connect(":memory:", config={"python_enable_replacements": False})
        self._spill = spill.folder()
        try:
            self._configure(threads)
        except BaseException:
            self.close()
            raise

    def _configure(self, threads: int | None) -> None:
        own = Path(self._spill.name).resolve()
        settings: dict[str, Any] = {
            "GLOBAL TimeZone": "UTC",
            "autoinstall_known_extensions": False,
            "autoload_known_extensions": False,
            "preserve_insertion_order": False,
            "allowed_directories": [
                f"{folder}/" for folder in (*sorted(map(Path.resolve, self.folders)), own)
            ],
            "memory_limit": self.memory,
            "temp_directory": str(own),
        }
        if threads is not None:
            settings["threads"] = threads
        for name, value in {**settings, "enable_external_access": False}.items():
            self._con.execute(f"SET {name} = {literal(value)}")
        self._con.execute("SET lock_configuration = true")

    def connect(self) -> duckdb.DuckDBPyConnection:
        """Return a connection that sees no other one's tables."""
        return self._con.cursor()

    def close(self) -> None:
        """Close it and remove the spill folder."""
        try:
            self._con.close()
        finally:
            self._spill.cleanup()


class DuckDbEngine(Engine):
    """One guarded connection, to a database of its own or to a shared one."""

    hash_function = "hash"

    def __init__(
        self,
        *,
        folders: Iterable[Path] = (),
        memory: str = MEMORY,
        threads: int | None = None,
        shared: Database | None = None,
    ) -> None:
        super().__init__()
        database = shared or Database(folders, memory=memory, threads=threads)
        self._con = database.connect()
        self._unshared = None if shared else database

    def close(self) -> None:
        """Close the connection, and the database unless others share it."""
        try:
            self._con.close()
        finally:
            if self._unshared is not None:
                self._unshared.close()
            # Answers that were taken from Arrow into frames are free, and Arrow keeps their room.
            pa.default_memory_pool().release_unused()

    def register(self, name: str, source: Source | None, schema: Schema) -> None:
        """Make `source` readable under `name`. Raises FrameError when it breaks its schema."""
        if source is None:
            source = columns.empty(schema)
        if isinstance(source, pd.DataFrame):
            self._con.register(name, columns.to_arrow(source, schema))
            return
        listed = [str(path.resolve()) for path in source.paths]
        wanted = column_list(schema, pq.read_schema(listed[0]).names)
        try:
            # A view that is not temporary would be seen by all who share the database. The name of
            # a folder, day=2026-03-05, is no column of ours.
            self._con.execute(
                f"CREATE TEMP VIEW {name} AS SELECT {wanted} "  # noqa: S608 - names of our own
                f"FROM read_parquet({literal(listed)}, hive_partitioning = false) "
                f"WHERE {source.condition}"
            )
        except duckdb.BinderException as error:
            raise FrameError(f"{schema.name}: the Parquet files lack a column of it") from error
        if self.answer(f"SELECT * FROM {name} LIMIT 0", None).schema.types != schema.arrow.types:  # noqa: S608 - a name of our own
            raise FrameError(f"{schema.name}: the Parquet files do not have its types")

    def register_arrow(self, name: str, table: pa.Table) -> None:
        """Make an Arrow table of our own readable under `name`."""
        self._con.register(name, table)

    def run(self, sql: str, values: Mapping[str, Any] | None = None) -> None:
        """Execute statements; raises OverflowError for a total past 63 bits."""
        try:
            self._con.execute(self._own(sql), dict(values) if values else None)
        except _OVERFLOWS as error:
            raise OverflowError(str(error)) from error

    def answer(self, sql: str, values: Mapping[str, Any] | None) -> pa.Table:
        """Return a query's answer; raises OverflowError for a total past 63 bits."""
        try:
            asked = self._con.sql(self._own(sql), params=dict(values) if values else None)
            return asked.to_arrow_table()
        except _OVERFLOWS as error:
            raise OverflowError(str(error)) from error

    def pieces(
        self, sql: str, schema: Schema, values: Mapping[str, Any] | None = None
    ) -> Iterator[pa.Table]:
        """Yield a query's answer in pieces of so many rows, none of which waits for the others."""
        asked = self._con.sql(self._own(sql), params=dict(values) if values else None)
        with asked.to_arrow_reader(_PIECE) as reader:
            for batch in reader:
                yield exactly(pa.table(batch), schema)
