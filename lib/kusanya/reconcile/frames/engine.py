"""The engine: DuckDB behind a guard, with one way in and one way out.

In: frames and Parquet under declared names, values as parameters; SQL never holds outside text.
Out: `frame`, which lets nothing leave with a type its schema does not declare, because DuckDB's
sums are wider than a column and its own way to pandas turns them to float. The connection reads
only the folders it was given, writes only to its own spill folder, loads no extension, sees no
Python variable, and its zone is UTC.
"""

from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

import duckdb
import msgspec
import pandas as pd

from kusanya.errors import FrameError
from kusanya.reconcile.frames import columns, spill
from kusanya.reconcile.frames.columns import Schema

MEMORY: Final = "1GB"
"""What the engine may hold in memory; what is more goes to a folder that is removed at the end."""


class Dataset(msgspec.Struct, frozen=True):
    """Parquet files that are queried where they lie and never loaded whole."""

    paths: tuple[Path, ...]
    condition: str = "true"
    """Which rows count, as SQL of our own; no outside text is ever in it."""

    @property
    def folders(self) -> tuple[Path, ...]:
        """Return the folders that hold the files."""
        return tuple(sorted({path.resolve().parent for path in self.paths}))


Source = pd.DataFrame | Dataset


class Engine:
    """One guarded connection; use it as a context manager."""

    def __init__(
        self,
        *,
        folders: Sequence[Path] = (),
        memory: str = MEMORY,
        threads: int | None = None,
    ) -> None:
        self._con = duckdb.connect(":memory:")
        self._spill = spill.folder()
        try:
            self._configure(folders, memory, threads)
        except BaseException:
            self._close()
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
            self._con.execute(f"SET {name} = {_literal(value)}")
        self._con.execute("SET lock_configuration = true")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._close()

    def _close(self) -> None:
        try:
            self._con.close()
        finally:
            self._spill.cleanup()

    def register(self, name: str, source: Source, schema: Schema) -> None:
        """Make `source` readable under `name`. Raises FrameError when it breaks its schema."""
        if isinstance(source, pd.DataFrame):
            self._con.register(name, columns.to_arrow(source, schema))
            return
        listed = [str(path.resolve()) for path in source.paths]
        wanted = ", ".join(f'"{column}"' for column in schema.columns)
        # A folder called business_day=2026-03-05 is no column: the file has one of its own.
        whole = self._con.read_parquet(listed, hive_partitioning=False)
        try:
            whole.filter(source.condition).select(wanted).create_view(name)
        except duckdb.BinderException as error:
            raise FrameError(f"{schema.name}: the Parquet files lack a column of it") from error
        if self._con.table(name).limit(0).to_arrow_table().schema.types != schema.arrow.types:
            raise FrameError(f"{schema.name}: the Parquet files do not have its types")

    def one_mode(self, name: str) -> None:
        """Raise ValueError when the table `name` holds collections of more than one mode."""
        modes = self._con.table(name).select("mode").distinct().limit(2).to_arrow_table()
        if modes.num_rows > 1:
            raise ValueError("test and live are never matched together: choose one mode")

    def run(self, sql: str, values: Mapping[str, Any] | None = None) -> None:
        """Execute a statement that answers nothing."""
        self._con.execute(sql, dict(values) if values else None)

    def frame(
        self, sql: str, schema: Schema, values: Mapping[str, Any] | None = None
    ) -> pd.DataFrame:
        """Return a query's answer as a frame of exactly the schema's columns and types.

        Raises FrameError for anything else, above all a sum that was not cast back to BIGINT, and
        OverflowError for a total past 63 bits: a wrong total is never shown.
        """
        try:
            table = self._con.sql(sql, params=dict(values) if values else None).to_arrow_table()
        except (duckdb.ConversionException, duckdb.OutOfRangeException) as error:
            raise OverflowError(f"{schema.name}: a total is past 63 bits") from error
        if table.schema.names != schema.arrow.names or table.schema.types != schema.arrow.types:
            raise FrameError(f"{schema.name}: the query answers {table.schema}")
        return columns.from_arrow(table)


def folders_of(*sources: Source | None) -> tuple[Path, ...]:
    """Return the folders that an engine must read for these sources."""
    return tuple(
        folder for source in sources if isinstance(source, Dataset) for folder in source.folders
    )


@cache
def query(name: str) -> str:
    """Return the query kept in sql/`name`.sql."""
    return (files("kusanya.reconcile.sql") / f"{name}.sql").read_text(encoding="utf-8")


def _literal(value: Any) -> str:
    if isinstance(value, list):
        return f"[{', '.join(_literal(part) for part in value)}]"
    if isinstance(value, bool | int):
        return str(value).lower()
    return f"""'{str(value).replace("'", "''")}'"""
