"""DuckDB behind a guard, in this process: the engine that needs nothing.

The connection reads only the folders it was given, writes only to its own spill folder, loads no
extension, sees no Python variable, and its zone is UTC. Its sums are wider than a column and its
own way to pandas turns them to float, so that answers leave as Arrow.
"""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import duckdb
import pandas as pd
import pyarrow as pa

from kusanya.errors import FrameError
from kusanya.reconcile.frames import columns, spill
from kusanya.reconcile.frames.columns import Schema
from kusanya.reconcile.frames.engine import Engine, Source, column_list, exactly, literal

MEMORY: Final = "1GB"
"""What the engine may hold in memory; what is more goes to a folder that is removed at the end."""
SMALL: Final = "256MB"
"""The same for files of less than `SMALL_FILES` bytes, such as a month of a million collections."""
SMALL_FILES: Final = 150_000_000

_PIECE: Final = 100_000

_OVERFLOWS: Final = (duckdb.ConversionException, duckdb.OutOfRangeException)


class DuckDbEngine(Engine):
    """One guarded connection."""

    hash_function = "hash"

    def __init__(
        self,
        *,
        folders: Sequence[Path] = (),
        memory: str = MEMORY,
        threads: int | None = None,
    ) -> None:
        super().__init__()
        self._con = duckdb.connect(":memory:")
        self._spill = spill.folder()
        try:
            self._configure(folders, memory, threads)
        except BaseException:
            self.close()
            raise

    def _configure(self, folders: Sequence[Path], memory: str, threads: int | None) -> None:
        allowed = [f"{folder.resolve()}/" for folder in (*folders, Path(self._spill.name))]
        settings: dict[str, Any] = {
            "TimeZone": "UTC",
            "autoinstall_known_extensions": False,
            "autoload_known_extensions": False,
            "python_enable_replacements": False,
            "preserve_insertion_order": False,
            "enable_progress_bar": False,
            "allowed_directories": allowed,
            "memory_limit": memory,
            "temp_directory": str(Path(self._spill.name).resolve()),
        }
        if threads is not None:
            settings["threads"] = threads
        for name, value in {**settings, "enable_external_access": False}.items():
            self._con.execute(f"SET {name} = {literal(value)}")
        self._con.execute("SET lock_configuration = true")

    def close(self) -> None:
        """Close the connection and remove the spill folder."""
        try:
            self._con.close()
        finally:
            self._spill.cleanup()
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
        # The name of a folder, day=2026-03-05, is no column of ours.
        whole = self._con.read_parquet(listed, hive_partitioning=False)
        wanted = column_list(schema, whole.columns)
        try:
            whole.filter(source.condition).select(wanted).create_view(name)
        except duckdb.BinderException as error:
            raise FrameError(f"{schema.name}: the Parquet files lack a column of it") from error
        if self._con.table(name).limit(0).to_arrow_table().schema.types != schema.arrow.types:
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
