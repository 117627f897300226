"""Rows of a query as Arrow columns, in large pieces that never become objects of Python's."""

import io
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, Final

import pyarrow as pa
from pyarrow import csv
from sqlalchemy import ColumnElement, Connection, Select, func, literal

from kusanya.domain.collection_columns import COLUMNS, ColumnType
from kusanya.store.queries.bulk.fee_sources import FEES_APART

TAKEN: Final = (
    "id",
    "seq",
    "mode",
    "status",
    "amount",
    "fee",
    "currency",
    "channel",
    "phone",
    "reference",
    "failure_code",
    "created_at",
    "completed_at",
    "final_seen_at",
    "contradictions",
)
"""Columns of the projection that are read in bulk."""
_TYPES: Final = {one.name: one.type for one in COLUMNS}
_INSTANTS: Final = frozenset(
    {"event_at", *(name for name in TAKEN if _TYPES[name] is ColumnType.INSTANT)}
)
_WHOLE: Final = frozenset(
    {
        *(name for name in TAKEN if _TYPES[name] in {ColumnType.WHOLE, ColumnType.COUNT}),
        *FEES_APART,
    }
)
_FETCHED: Final = 2_000
"""Rows that lie in memory as objects at once: of many, Python's garbage collector takes longer to
look through them than SQLite takes to read them."""
_FETCHES: Final = 25
"""Fetches that make a piece."""


def collections_arrow() -> pa.Schema:
    """Return the Arrow schema of collections."""
    at, whole, said = pa.timestamp("us", tz="UTC"), pa.int64(), pa.string()
    return pa.schema(
        [
            (name, at if name in _INSTANTS else whole if name in _WHOLE else said)
            for name in (*TAKEN, "event_at", *FEES_APART)
        ]
    )


def read_pieces(connection: Connection, query: Select[Any]) -> Iterator[pa.Table]:
    """Yield the collections that `query` finds: TAKEN and event_at; FEES_APART are missing."""
    if connection.dialect.name != "sqlite":
        piece = _FETCHED * _FETCHES
        streamed = connection.execution_options(stream_results=True, max_row_buffer=piece)
        for rows in streamed.execute(query).partitions(piece):
            yield collections_table(rows)
        return
    # One text a row instead of sixteen objects: SQLite writes CSV, and Arrow reads it as columns.
    written, types = _as_line(query)
    asked = query.with_only_columns(written, maintain_column_froms=True)
    fetched = connection.execute(asked).scalars().partitions(_FETCHED)
    texts = ("\n".join(lines) for lines in fetched)
    while some := [*islice(texts, _FETCHES)]:
        yield _read_lines("\n".join(some), types)


def collections_table(rows: Sequence[Any]) -> pa.Table:
    """Return rows of TAKEN and event_at; FEES_APART are missing."""
    names = [*TAKEN, "event_at"]
    read = zip(*rows, strict=True) if rows else ([] for _ in names)
    found = {
        name: pa.array(values, _kept_as(name)) for name, values in zip(names, read, strict=True)
    }
    return _collections(found, len(rows))


def read_table(
    connection: Connection, query: Select[Any], columns: Mapping[str, pa.DataType]
) -> pa.Table:
    """Return what `query` finds, column by column; instants are kept as microseconds."""
    rows = connection.execute(query).all()
    read = zip(*rows, strict=True) if rows else ([] for _ in columns)
    arrays = [
        pa.array(values, pa.int64()).cast(kind)
        if pa.types.is_timestamp(kind)
        else pa.array(values, kind)
        for kind, values in zip(columns.values(), read, strict=True)
    ]
    return pa.table(arrays, schema=pa.schema(list(columns.items())))


def _as_line(query: Select[Any]) -> tuple[ColumnElement[Any], dict[str, pa.DataType]]:
    """Return one expression that writes the columns as a line, and what the line holds."""
    form, values, types = [], [], {}
    for column in query.selected_columns:
        kind = types[str(column.key)] = _kept_as(str(column.key))
        if kind != pa.string():
            # As text where a value may be missing: %d would make it 0.
            form.append("%s")
            values.append(column)
        elif getattr(column, "nullable", True):
            form.append("%s")
            values.append(literal('"') + func.replace(column, '"', '""') + '"')
        else:
            # Doubles quotes. It would end at a NUL, which the store never keeps.
            form.append('"%w"')
            values.append(column)
    return func.printf(",".join(form), *values), types


def _read_lines(text: str, types: dict[str, pa.DataType]) -> pa.Table:
    read = csv.read_csv(
        io.BytesIO(text.encode()),
        read_options=csv.ReadOptions(column_names=list(types)),
        parse_options=csv.ParseOptions(newlines_in_values=True, ignore_empty_lines=False),
        convert_options=csv.ConvertOptions(
            column_types=types,
            null_values=[""],
            strings_can_be_null=True,
            quoted_strings_can_be_null=False,
        ),
    )
    return _collections({name: read[name] for name in types}, len(read))


def _collections(found: dict[str, Any], rows: int) -> pa.Table:
    schema = collections_arrow()
    arrays = [
        found[field.name].cast(field.type) if field.name in found else pa.nulls(rows, field.type)
        for field in schema
    ]
    return pa.table(arrays, schema=schema)


def _kept_as(name: str) -> pa.DataType:
    return pa.int64() if name in _WHOLE or name in _INSTANTS else pa.string()
