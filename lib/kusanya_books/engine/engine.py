"""An engine: a few verbs between frames, Parquet files and the queries of `kusanya_books/sql`.

In: frames and Parquet under declared names, values as parameters or by `define`; SQL never holds
outside text.
Out: `frame`, which lets nothing leave with a type its schema does not declare. Every query is
written once, in DuckDB's dialect; what comes out is the same frame, cell by cell, whichever engine
ran it.
"""

import re
from abc import abstractmethod
from collections.abc import Iterator, Mapping
from datetime import date
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any, Final

import msgspec
import pandas as pd
import pyarrow as pa

from kusanya.domain import status
from kusanya.errors import FrameError
from kusanya.platform.closing import Closing
from kusanya_books import columns
from kusanya_books.columns import DType, Schema

_NAME: Final = re.compile(r"\{(\w+)\}")
_MODES: Final = Schema("modes", {"mode": DType.TEXT})


class Dataset(msgspec.Struct, frozen=True):
    """Parquet files that are queried where they lie and never loaded whole."""

    paths: tuple[Path, ...]
    condition: str = "true"
    """Which rows count, as SQL of our own; no outside text is ever in it."""
    engine: str = ""
    """The Spark Connect address of the cluster that reads them, which sees the same paths; DuckDB
    in this process where empty."""
    held: Any = None
    """What keeps the files there; None where they are somebody else's."""

    @property
    def folders(self) -> tuple[Path, ...]:
        """Return the folders that hold the files."""
        return tuple(sorted({path.resolve().parent for path in self.paths}))


Source = pd.DataFrame | Dataset


class Engine(Closing):
    """What runs queries; use it as a context manager."""

    hash_function: str
    """What `{hash}` in a query stands for: it numbers values quickly and is no part of an answer,
    because every engine numbers in its own way and two values may share a number."""

    def __init__(self) -> None:
        self._values: dict[str, str] = {}

    @abstractmethod
    def register(self, name: str, source: Source | None, schema: Schema) -> None:
        """Make `source` readable under `name`; None is a table without rows.

        Raises FrameError when it breaks its schema.
        """

    def define(self, values: Mapping[str, int | date]) -> None:
        """Let `{name}` in later queries stand for the value.

        An engine that reads a number or a day in the query itself passes over what cannot hold it;
        of a table with one row it knows nothing.
        """
        self._values |= {name: literal(value) for name, value in values.items()}

    @abstractmethod
    def run(self, sql: str, values: Mapping[str, Any] | None = None) -> None:
        """Execute statements that answer nothing; a table that they create is temporary."""

    @abstractmethod
    def answer(self, sql: str, values: Mapping[str, Any] | None) -> pa.Table:
        """Return a query's answer as it is. Raises OverflowError for a total past 63 bits."""

    @abstractmethod
    def close(self) -> None:
        """Forget everything that was registered and created."""

    def frame(
        self, sql: str, schema: Schema, values: Mapping[str, Any] | None = None
    ) -> pd.DataFrame:
        """Return a query's answer as a frame of exactly the schema's columns and types.

        Raises as `table` does.
        """
        return columns.from_arrow(self.table(sql, schema, values))

    def table(self, sql: str, schema: Schema, values: Mapping[str, Any] | None = None) -> pa.Table:
        """Return a query's answer as a table of exactly the schema's columns and types.

        Raises FrameError for anything else, above all a sum that was not cast back to BIGINT, and
        OverflowError for a total past 63 bits: a wrong total is never shown.
        """
        try:
            return exactly(self.answer(sql, values), schema)
        except OverflowError as error:
            raise OverflowError(f"{schema.name}: a total is past 63 bits") from error

    def pieces(
        self, sql: str, schema: Schema, values: Mapping[str, Any] | None = None
    ) -> Iterator[pa.Table]:
        """Yield a query's answer, all of it or in pieces; raises as `table` does."""
        yield self.table(sql, schema, values)

    def one_mode(self, name: str) -> None:
        """Raise ValueError when the table `name` holds collections of more than one mode."""
        if len(self.frame(f"SELECT DISTINCT mode FROM {name} LIMIT 2", _MODES)) > 1:  # noqa: S608 - a name of our own
            raise ValueError("test and live are never matched together: choose one mode")

    def _own(self, sql: str) -> str:
        known = {**status.SQL, **self._values, "hash": self.hash_function}
        return _NAME.sub(lambda found: known[found[1]], sql)


def exactly(table: pa.Table, schema: Schema) -> pa.Table:
    """Return a table that has the schema's columns and types. Raises FrameError for another one."""
    if table.schema.names != schema.arrow.names or table.schema.types != schema.arrow.types:
        raise FrameError(f"{schema.name}: the query answers {table.schema}")
    return table


def query(name: str, **parts: str) -> str:
    """Return the query kept in sql/`name`.sql, where `{part}` is replaced by SQL of our own.

    `name` says the folder too, as in `ledger/sides`.
    """
    text = _text(name)
    for part, sql in parts.items():
        text = text.replace(f"{{{part}}}", sql)
    return text


@cache
def _text(name: str) -> str:
    return (files("kusanya_books.sql") / f"{name}.sql").read_text(encoding="utf-8")


def literal(value: Any) -> str:
    """Return a value of our own as SQL."""
    if isinstance(value, list):
        return f"[{', '.join(literal(part) for part in value)}]"
    if isinstance(value, bool | int):
        return str(value).lower()
    if isinstance(value, date):
        return f"DATE '{value}'"
    return f"""'{str(value).replace("'", "''")}'"""


def column_list(schema: Schema, names: list[str]) -> str:
    """Return the SQL that selects the schema's columns from a table that has `names`.

    A column that is missing is its default where the schema has one.
    """
    return ", ".join(
        f"{literal(schema.defaults[name])} AS {name}"
        if name in schema.defaults and name not in names
        else name
        for name in schema.columns
    )
