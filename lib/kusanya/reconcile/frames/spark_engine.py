"""Apache Spark over Spark Connect, for months that outgrow a machine.

The queries are DuckDB's; sqlglot writes them in Spark's dialect. The session's zone is UTC and its
arithmetic raises on overflow; sums are DECIMAL(38,0) inside, as DuckDB's are 128 bits wide. Answers
come back as Arrow. What a statement creates is kept in the cluster until the engine is closed.
"""

import logging
import socket
import warnings
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any, Final
from urllib.parse import urlsplit

import pandas as pd
import pyarrow as pa
import sqlglot
from sqlglot import exp

from kusanya.errors import ConfigurationError, FrameError
from kusanya.reconcile.frames import columns
from kusanya.reconcile.frames.columns import DType, Schema
from kusanya.reconcile.frames.engine import Dataset, Engine, Source, column_list
from kusanya.text import safe

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
_TYPES: Final = {
    DType.TEXT: "STRING",
    DType.WHOLE: "BIGINT",
    DType.FLAG: "BOOLEAN",
    DType.INSTANT: "TIMESTAMP",
    DType.DAY: "TIMESTAMP_NTZ",
    DType.SHARE: "DOUBLE",
}
_WIDE: Final = exp.DataType.build("DECIMAL(38, 0)")


class SparkEngine(Engine):
    """One session of a Spark Connect server."""

    hash_function = "xxhash64"

    def __init__(self, address: str) -> None:
        _knock(address)
        try:
            self._session = SparkSession.builder.remote(address).create()
            for name, value in _SETTINGS.items():
                self._session.conf.set(name, value)
        except PySparkException as error:
            raise ConfigurationError(f"no Spark at {safe(address)}: {_first(error)}") from error

    def close(self) -> None:
        """End the session; the cluster then forgets what it created."""
        self._session.stop()

    def register(self, name: str, source: Source, schema: Schema) -> None:
        """Make `source` readable under `name`. Raises FrameError when it breaks its schema."""
        if isinstance(source, pd.DataFrame):
            table = columns.to_arrow(source, schema)
            types = ", ".join(
                f"`{column}` {_TYPES[kind]}" for column, kind in schema.columns.items()
            )
            self._session.createDataFrame(table, types).createOrReplaceTempView(name)
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
        for name, is_table, body in statements(self._own(sql)):
            made = self._sql(body, values)
            if is_table:
                # Calculated once, here: a plan that grew through every table would take Spark
                # longer to read than to run.
                made = made.localCheckpoint()
            made.createOrReplaceTempView(name)

    def answer(self, sql: str, values: Mapping[str, Any] | None) -> pa.Table:
        """Return a query's answer; raises OverflowError for a total past 63 bits."""
        try:
            table = self._sql(translate(self._own(sql)), values).toArrow()
        except ArithmeticException as error:
            raise OverflowError(str(error)) from error
        return _widened(table)

    def _sql(self, text: str, values: Mapping[str, Any] | None) -> DataFrame:
        return self._session.sql(text, args=dict(values) if values else None)


def _knock(address: str) -> None:
    """Raise ConfigurationError where nothing listens; Spark's client would try for minutes."""
    parts = urlsplit(address)
    if parts.scheme != "sc" or not parts.hostname:
        raise ConfigurationError(f"an engine is sc://host:{_PORT}, not {safe(address)}")
    try:
        place = (parts.hostname, parts.port or _PORT)
        socket.create_connection(place, timeout=_WAIT_S).close()
    except (OSError, ValueError) as error:
        raise ConfigurationError(f"no Spark at {safe(address)}: {error}") from error


def _first(error: Exception) -> str:
    return safe(str(error).partition("\n")[0], 200)


@cache
def translate(sql: str) -> str:
    """Return one query of DuckDB's dialect in Spark's."""
    return _spark(sqlglot.parse_one(sql, read="duckdb"))


@cache
def statements(sql: str) -> tuple[tuple[str, bool, str], ...]:
    """Return what each statement creates: its name, whether it is a table, and its query."""
    return tuple(_created(sql))


def _created(sql: str) -> Iterator[tuple[str, bool, str]]:
    for statement in sqlglot.parse(sql, read="duckdb"):
        if statement is None:
            continue
        if not isinstance(statement, exp.Create):
            raise TypeError(f"only tables and views are created, not {statement.key}")
        yield statement.this.name, statement.kind == "TABLE", _spark(statement.expression)


def _spark(query: exp.Expression) -> str:
    strict = sqlglot.ErrorLevel.RAISE
    return str(query.transform(_portable).sql("spark", comments=False, unsupported_level=strict))


def _portable(node: exp.Expression) -> exp.Expression:
    """Return what Spark calculates differently in a form that says the same there."""
    if isinstance(node, exp.Sum) and not isinstance(node.this, exp.Distinct):
        return exp.Sum(this=exp.Cast(this=node.this, to=_WIDE.copy()))
    if isinstance(node, exp.Div):
        double = exp.DataType.build("DOUBLE")
        sides = (exp.Cast(this=side, to=double.copy()) for side in (node.this, node.expression))
        return exp.Div(**dict(zip(("this", "expression"), sides, strict=True)), typed=True)
    if isinstance(node, exp.DataType) and node.is_type("INT128"):
        return _WIDE.copy()
    if isinstance(node, exp.DataType) and node.is_type("TIMESTAMP"):
        return exp.DataType.build("TIMESTAMPNTZ")
    return node


def _widened(table: pa.Table) -> pa.Table:
    """Return 32-bit numbers as 64-bit ones: Spark's days apart and ranks are narrower."""
    fields = [
        field.with_type(pa.int64()) if pa.types.is_integer(field.type) else field
        for field in table.schema
    ]
    return table.cast(pa.schema(fields))
