"""Frames and their types, the ones that pandas, Arrow and DuckDB agree on.

Money and counts are `Int64` (whole units of their currency), text is Arrow-backed, instants are UTC
microseconds, days are naive midnights in East Africa Time, shares are the only floating numbers.
A frame that left `check` survives a join, an empty month and 2**53 + 1 without turning to float.
"""

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from enum import Enum
from functools import lru_cache
from typing import Any, Final

import msgspec
import numpy as np
import pandas as pd
import pyarrow as pa

from kusanya.errors import FrameError


class DType(Enum):
    """A column's type, once for all engines."""

    TEXT = "text"
    WHOLE = "whole"
    """Money in whole units, or a count."""
    FLAG = "flag"
    INSTANT = "instant"
    DAY = "day"
    SHARE = "share"
    """A proportion; never money."""

    @property
    def pandas(self) -> Any:
        """Return the pandas type."""
        return _PANDAS[self]

    @property
    def arrow(self) -> pa.DataType:
        """Return the Arrow type, which is also what DuckDB answers with."""
        return _ARROW[self]


_ARROW: Final[Mapping[DType, pa.DataType]] = {
    DType.TEXT: pa.string(),
    DType.WHOLE: pa.int64(),
    DType.FLAG: pa.bool_(),
    DType.INSTANT: pa.timestamp("us", tz="UTC"),
    DType.DAY: pa.timestamp("us"),
    DType.SHARE: pa.float64(),
}
_PANDAS: Final[Mapping[DType, Any]] = {
    DType.TEXT: pd.StringDtype("pyarrow"),
    DType.WHOLE: pd.Int64Dtype(),
    DType.FLAG: pd.BooleanDtype(),
    DType.INSTANT: pd.DatetimeTZDtype("us", "UTC"),
    DType.DAY: "datetime64[us]",
    DType.SHARE: pd.Float64Dtype(),
}
_OF_ARROW: Final = {
    DType.TEXT.arrow: DType.TEXT.pandas,
    DType.WHOLE.arrow: DType.WHOLE.pandas,
    DType.FLAG.arrow: DType.FLAG.pandas,
    DType.SHARE.arrow: DType.SHARE.pandas,
}


_NOTHING: Final = frozenset({type(None), type(pd.NA)})
_AT: Final = frozenset({datetime, pd.Timestamp, type(pd.NaT)}) | _NOTHING
_PLAIN: Final[dict[DType, frozenset[type]]] = {
    DType.TEXT: frozenset({str}) | _NOTHING,
    DType.WHOLE: frozenset({int, np.int64}) | _NOTHING,
    DType.FLAG: frozenset({bool, np.bool_}) | _NOTHING,
    DType.SHARE: frozenset({float, np.float64}) | _NOTHING,
    DType.INSTANT: _AT,
    DType.DAY: _AT,
}
"""Types of Python whose values are of a column's type as they are."""


class Schema(msgspec.Struct, frozen=True):
    """A frame's name and its columns in order."""

    name: str
    columns: Mapping[str, DType]
    defaults: Mapping[str, str | int] = {}
    """What a column holds where the data does not name it; all others must be there."""

    @property
    def arrow(self) -> pa.Schema:
        """Return the Arrow schema."""
        return pa.schema([(name, kind.arrow) for name, kind in self.columns.items()])

    def plus(self, name: str, **columns: DType) -> "Schema":
        """Return a schema called `name` with more columns at its end."""
        return Schema(name, {**self.columns, **columns}, self.defaults)


def empty(schema: Schema) -> pd.DataFrame:
    """Return a frame of no rows with the schema's types."""
    return from_arrow(schema.arrow.empty_table())


def frame(schema: Schema, data: Mapping[str, Any] | pd.DataFrame) -> pd.DataFrame:
    """Return `data` in the schema's order and types; columns it does not name are left out.

    A column that is missing is filled with its default where the schema has one. Raises FrameError
    for a missing column without one, and for a value that its type does not hold exactly.
    """
    if (at_once := _of_lists(schema, data)) is not None:
        return at_once
    taken: dict[str, pd.Series[Any]] = {}
    index = data.index if isinstance(data, pd.DataFrame) else None
    rows = max((len(data[name]) for name in schema.columns if name in data), default=0)
    for name, kind in schema.columns.items():
        if name not in data and name not in schema.defaults:
            raise FrameError(f"{schema.name}: column {name} is missing")
        values = data[name] if name in data else [schema.defaults[name]] * rows
        try:
            taken[name] = _exactly(values, kind, index)
        except (TypeError, ValueError, OverflowError, pa.ArrowException) as error:
            raise FrameError(f"{schema.name}: column {name} is not {kind.value}") from error
    return pd.DataFrame(taken).reset_index(drop=True)


def from_rows(schema: Schema, rows: Sequence[Sequence[Any]]) -> pd.DataFrame:
    """Return rows, each with its values in the schema's order, as `frame` does."""
    return frame(
        schema, {name: [row[at] for row in rows] for at, name in enumerate(schema.columns)}
    )


def from_dicts(schema: Schema, rows: Sequence[Mapping[str, Any]]) -> pd.DataFrame:
    """Return rows by the names of the schema's columns as `frame` does; None where one lacks."""
    return frame(schema, {name: [row.get(name) for row in rows] for name in schema.columns})


def _of_lists(schema: Schema, data: Mapping[str, Any] | pd.DataFrame) -> pd.DataFrame | None:
    """Return lists of plain values as a frame; None where a column wants a closer look.

    A third of the time that columns by themselves take: a close makes hundreds of small frames.
    """
    arrays = []
    try:
        for name, kind in schema.columns.items():
            values = data.get(name)
            # Arrow cuts 1.5 to a whole 1: what is of another type than it should be is not for it.
            if not isinstance(values, list) or not set(map(type, values)) <= _PLAIN[kind]:
                return None
            if kind is DType.DAY and any(getattr(value, "tzinfo", None) for value in values):
                return None
            arrays.append(pa.array(values, kind.arrow, from_pandas=True))
        return from_arrow(pa.table(arrays, schema=schema.arrow))
    except (TypeError, ValueError, OverflowError, pa.ArrowException):
        return None


def _exactly(values: Any, kind: DType, index: Any) -> Any:
    if isinstance(values, pd.Series) and values.dtype == kind.pandas:
        return values
    if not isinstance(values, pd.Series | pd.api.extensions.ExtensionArray | np.ndarray | list):
        return pd.Series(values, index=index, dtype=kind.pandas)
    if isinstance(values, list):
        # As objects: pandas would read [2**53 + 1, None] as floats and lose the one.
        values = pd.Series(values, index=index, dtype="object")
    column = pd.Series(values, index=index)
    if kind is DType.WHOLE and column.dtype.kind == "f" and column.notna().any():
        raise TypeError("whole numbers never pass through floats")
    return column.astype(kind.pandas)


def check(data: pd.DataFrame, schema: Schema) -> pd.DataFrame:
    """Return `data` unchanged when it has the schema's columns and types, in any order.

    More columns are allowed. Raises FrameError that names what is missing or of another type.
    """
    wrong = [
        f"{name} is {data[name].dtype}, not {kind.pandas}" if name in data else f"{name} is missing"
        for name, kind in schema.columns.items()
        if name not in data or data[name].dtype != kind.pandas
    ]
    if wrong:
        raise FrameError(f"{schema.name}: {'; '.join(wrong)}")
    return data


def to_arrow(data: pd.DataFrame, schema: Schema) -> pa.Table:
    """Return the schema's columns of a checked frame as an Arrow table."""
    check(data, schema)
    if data.empty:
        return schema.arrow.empty_table()
    return pa.Table.from_pandas(
        data[list(schema.columns)], schema=schema.arrow, preserve_index=False
    )


def from_arrow(table: pa.Table) -> pd.DataFrame:
    """Return an Arrow table as a frame of the house's types."""
    if not table.num_rows:
        return _empty(table.schema.remove_metadata()).copy()
    converted: pd.DataFrame = table.to_pandas(types_mapper=_OF_ARROW.get)
    return converted


@lru_cache(maxsize=500)  # most tables of a clean month are empty
def _empty(schema: pa.Schema) -> pd.DataFrame:
    converted: pd.DataFrame = schema.empty_table().to_pandas(types_mapper=_OF_ARROW.get)
    return converted


def records(data: pd.DataFrame) -> Iterator[Any]:
    """Yield the rows of a frame as named tuples; their fields are of the column's kind."""
    return iter(data.itertuples())


def dicts(data: pd.DataFrame) -> list[dict[str, Any]]:
    """Return the rows of a frame by their columns, what is missing as None."""
    listed = []
    for name in data.columns:
        missing = data[name].isna().to_numpy()
        values = list(data[name])
        if missing.any():
            values = [None if gone else value for value, gone in zip(values, missing, strict=True)]
        listed.append(values)
    names = list(data.columns)
    return [dict(zip(names, row, strict=True)) for row in zip(*listed, strict=True)]


T, W, F, AT, D, S = DType.TEXT, DType.WHOLE, DType.FLAG, DType.INSTANT, DType.DAY, DType.SHARE
"""Short names for schemas: text, whole, flag, instant, day, share."""


def is_missing(value: Any) -> bool:
    """Return whether a cell says nothing: None, or what pandas has for it."""
    return value is None or bool(pd.isna(value))


def text_of(value: Any) -> str | None:
    """Return a cell as text, None where it says nothing."""
    return None if is_missing(value) else str(value)


def spelled(names: "pd.Series[str]") -> "pd.Series[str]":
    """Return names as they are compared: in small letters, without the blanks around them."""
    return names.str.strip().str.lower()


def first_of(*values: Any) -> Any:
    """Return the first cell that says something, None where none does."""
    return next((value for value in values if not is_missing(value)), None)
