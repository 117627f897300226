"""Apache Spark over Spark Connect, for months that outgrow a machine.

The queries are DuckDB's; sqlglot writes them in Spark's dialect. The session's zone is UTC and its
arithmetic raises on overflow; sums are DECIMAL(38,0) inside, as DuckDB's are 128 bits wide. Answers
come back as Arrow. What a statement creates is kept in the cluster until the engine is closed.

A query of few rows costs Spark as much as one of many. So a table of up to `HELD_ROWS` is also
held in this process, and what reads nothing else is asked of DuckDB here; a query that reads such a
table beside one of the cluster gets it sent. Which of both ran is not seen in any answer.
"""

import logging
import socket
import warnings
from collections.abc import Mapping
from typing import Any, Final
from urllib.parse import urlsplit

import msgspec
import pandas as pd
import pyarrow as pa
import sqlglot

from kusanya.errors import ConfigurationError, FrameError
from kusanya.privacy.secret_url import mask_url
from kusanya.text import safe
from kusanya_books import columns
from kusanya_books.columns import Schema
from kusanya_books.engine.duckdb_engine import DuckDbEngine
from kusanya_books.engine.engine import Dataset, Engine, Source, column_list
from kusanya_books.engine.spark_dialect import Statement, statements, translate

with warnings.catch_warnings():
    # It warns of pandas 3, through which no answer passes: they come as Arrow.
    warnings.simplefilter("ignore", FutureWarning)
    from pyspark.errors import AnalysisException, ArithmeticException, PySparkException
    from pyspark.sql.connect.dataframe import DataFrame
    from pyspark.sql.connect.session import SparkSession

# It prints traces of the server beside the exception that says the same.
logging.getLogger("SQLQueryContextLogger").setLevel(logging.CRITICAL)
_PORT: Final = 15002
_WAIT_S: Final = 5
_SETTINGS: Final = {
    "spark.sql.ansi.enabled": "true",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.parquet.inferTimestampNTZ.enabled": "true",
    "spark.sql.execution.arrow.useLargeVarTypes": "false",
    # The name of a folder, day=2026-03-05, is no column of ours.
    "spark.sql.sources.partitionColumnTypeInference.enabled": "false",
}
HELD_ROWS: int = 2_000_000
"""Rows of a table that is held here too, about half a gigabyte; 0 leaves everything to Spark."""
_LISTED_ROWS: Final = 10_000
"""Up to so many rows are a part of Spark's plan, which it simplifies with them."""
_BROADCAST_CELLS: Final = 2_000_000
"""Tables of up to so many cells are sent to all tasks, so that none sorts what they are joined to;
Spark does not know how large a result of its own is."""
_TYPES: Final = {
    pa.string(): "STRING",
    pa.int32(): "INT",
    pa.int64(): "BIGINT",
    pa.bool_(): "BOOLEAN",
    pa.float64(): "DOUBLE",
    pa.date32(): "DATE",
    pa.decimal128(38, 0): "DECIMAL(38,0)",
    pa.timestamp("us"): "TIMESTAMP_NTZ",
    pa.timestamp("us", "UTC"): "TIMESTAMP",
}


class _LocalTable(msgspec.Struct):
    """A table that lies in this process, or a view of such tables."""

    view: Statement | None = None
    is_sent: bool = False
    """Whether Spark has it too."""


class SparkEngine(Engine):
    """One session of a Spark Connect server, and a DuckDB for the tables that are held here."""

    hash_function = "xxhash64"

    def __init__(self, address: str) -> None:
        super().__init__()
        _knock(address)
        try:
            self._session = SparkSession.builder.remote(address).create()
            for name, value in _SETTINGS.items():
                self._session.conf.set(name, value)
        except PySparkException as error:
            raise ConfigurationError(f"no Spark at {safe(address)}: {_first(error)}") from error
        self._here = DuckDbEngine()
        self._local_tables: dict[str, _LocalTable] = {}

    def close(self) -> None:
        """End the session; the cluster then forgets what it created."""
        try:
            self._here.close()
        finally:
            self._session.stop()

    def register(self, name: str, source: Source | None, schema: Schema) -> None:
        """Make `source` readable under `name`. Raises FrameError when it breaks its schema."""
        if source is None:
            source = columns.empty(schema)
        if isinstance(source, pd.DataFrame):
            table = columns.to_arrow(source, schema)
            if len(table) <= HELD_ROWS and HELD_ROWS:
                self._add_local(name, table)
            else:
                self._upload(name, table)
            return
        found = self._parquet(source, schema)
        if found.limit(0).toArrow().schema.types != schema.arrow.types:
            raise FrameError(f"{schema.name}: the Parquet files do not have its types")
        found.createOrReplaceTempView(name)

    def _parquet(self, source: Dataset, schema: Schema) -> DataFrame:
        listed = [str(path.resolve()) for path in source.paths]
        # Each file is named, so that the folder's own day=... is no column of it.
        whole = self._session.read.parquet(*listed)
        condition = sqlglot.transpile(source.condition, read="duckdb", write="spark")[0]
        wanted = column_list(schema, whole.columns)
        try:
            query = f"SELECT {wanted} FROM {{whole}} WHERE {condition}"  # noqa: S608 - all of our own
            return self._session.sql(query, whole=whole)
        except AnalysisException as error:
            raise FrameError(f"{schema.name}: the Parquet files lack a column of it") from error

    def run(self, sql: str, values: Mapping[str, Any] | None = None) -> None:
        """Execute statements that create temporary tables and views."""
        for statement in statements(self._own(sql)):
            if self._is_here(statement):
                self._here.run(statement.text, values)
                self._local_tables[statement.name] = _LocalTable(
                    None if statement.is_table else statement
                )
                continue
            self._send(statement)
            made = self._sql(statement.body, values)
            if statement.is_table:
                try:
                    self._keep(statement.name, made)
                except ArithmeticException as error:
                    raise OverflowError(str(error)) from error
            else:
                made.createOrReplaceTempView(statement.name)

    def answer(self, sql: str, values: Mapping[str, Any] | None) -> pa.Table:
        """Return a query's answer; raises OverflowError for a total past 63 bits."""
        asked = translate(self._own(sql))
        if self._is_here(asked):
            return self._here.answer(asked.text, values)
        self._send(asked)
        try:
            table = self._sql(asked.body, values).toArrow()
        except ArithmeticException as error:
            raise OverflowError(str(error)) from error
        return _widened(table)

    def _is_here(self, asked: Statement) -> bool:
        """Return whether all that is read is held here, and numbered by no hash of Spark's."""
        is_hashed = self.hash_function in asked.text
        return bool(asked.reads) and not is_hashed and asked.reads <= self._local_tables.keys()

    def _keep(self, name: str, made: DataFrame) -> None:
        """Calculate a table once, in the cluster, and hold it here as well when it is small.

        A plan that grew through every table would take Spark longer to read than to run.
        """
        made = made.localCheckpoint()
        rows = made.count() if HELD_ROWS else None
        if rows is not None and rows * len(made.columns) <= _BROADCAST_CELLS:
            made = made.hint("broadcast")
        made.createOrReplaceTempView(name)
        if rows is not None and rows <= HELD_ROWS:
            self._add_local(name, _widened(made.toArrow()), is_sent=rows > _LISTED_ROWS)

    def _add_local(self, name: str, table: pa.Table, *, is_sent: bool = False) -> None:
        self._here.register_arrow(name, table)
        self._local_tables[name] = _LocalTable(is_sent=is_sent)

    def _send(self, asked: Statement) -> None:
        """Make readable in the cluster what is held here and read there."""
        for name in sorted(asked.reads & self._local_tables.keys()):
            held = self._local_tables[name]
            if held.is_sent:
                continue
            if held.view is None:
                self._upload(name, self._here.answer(f"SELECT * FROM {name}", None))  # noqa: S608 - a name of our own
            else:
                self._send(held.view)
                self._sql(held.view.body, None).createOrReplaceTempView(name)
            held.is_sent = True

    def _upload(self, name: str, table: pa.Table) -> None:
        types = ", ".join(f"`{field.name}` {_type(field.type)}" for field in table.schema)
        self._session.createDataFrame(table, types).createOrReplaceTempView(name)

    def _sql(self, text: str, values: Mapping[str, Any] | None) -> DataFrame:
        return self._session.sql(text, args=dict(values) if values else None)


def _knock(address: str) -> None:
    """Raise ConfigurationError where nothing listens; Spark's client would try for minutes."""
    parts = urlsplit(address)
    if parts.scheme != "sc" or not parts.hostname:
        raise ConfigurationError(f"an engine is sc://host:{_PORT}, not {safe(mask_url(address))}")
    try:
        place = (parts.hostname, parts.port or _PORT)
        socket.create_connection(place, timeout=_WAIT_S).close()
    except (OSError, ValueError) as error:
        raise ConfigurationError(
            f"no Spark at {safe(mask_url(address))}: {type(error).__name__}"
        ) from None


def _type(arrow: pa.DataType) -> str:
    """Return what Spark calls a type of Arrow's. Raises FrameError for one that no table has."""
    if arrow not in _TYPES:
        raise FrameError(f"no table has a column of {arrow}")
    return _TYPES[arrow]


def _first(error: Exception) -> str:
    return safe(str(error).partition("\n")[0], 200)


def _widened(table: pa.Table) -> pa.Table:
    """Return 32-bit numbers as 64-bit ones: Spark's days apart and ranks are narrower."""
    fields = [
        field.with_type(pa.int64()) if pa.types.is_integer(field.type) else field
        for field in table.schema
    ]
    return table.cast(pa.schema(fields))
