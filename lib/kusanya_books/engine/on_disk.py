"""Frames that memory should not hold: Parquet in a folder of our own, queried where it lies.

The files are there as long as the dataset that reads them.
"""

from collections.abc import Iterable, Iterator
from typing import Final

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from kusanya_books import columns
from kusanya_books.columns import Schema
from kusanya_books.engine.engine import Dataset, Source
from kusanya_books.engine.engines import open_engine
from kusanya_books.engine.spill import LastingFolder

_ROWS: Final = 100_000
"""Rows that are compressed together, and read by one thread."""
_SHOWN: Final = 25_000
"""Rows that become a frame together: their texts lie side by side before they are written."""
_FEW: Final = ("mode", "currency", "channel", "status", "failure_code", "day_source", "kind")
"""Columns of few values: of all others a list of the values would be as long as the column."""


def save(schema: Schema, tables: Iterable[pa.Table]) -> Dataset:
    """Write tables of the schema into one file, and return what reads it."""
    folder = LastingFolder()
    path = folder.path / f"{schema.name.replace(' ', '-')}.parquet"
    few = [name for name in _FEW if name in schema.columns]
    with pq.ParquetWriter(path, schema.arrow, use_dictionary=few) as writer:
        for table in even(tables):
            writer.write_table(table)
    # What was read on the way is given back, or the next step needs room beside it.
    pa.default_memory_pool().release_unused()
    return Dataset((path,), held=folder)


def both(one: Dataset, other: Dataset) -> Dataset:
    """Return the rows of two datasets of one schema as one."""
    return Dataset((*one.paths, *other.paths), held=(one.held, other.held))


def even(tables: Iterable[pa.Table]) -> Iterator[pa.Table]:
    """Yield the same rows in tables of as many rows each, however they came."""
    waiting: list[pa.Table] = []
    for table in tables:
        waiting.append(table)
        while sum(map(len, waiting)) >= _ROWS:
            joined = pa.concat_tables(waiting)
            yield joined.slice(0, _ROWS).combine_chunks()
            waiting = [joined.slice(_ROWS)]
    if sum(map(len, waiting)):
        yield pa.concat_tables(waiting).combine_chunks()


def save_frame(schema: Schema, frame: pd.DataFrame) -> Dataset:
    """Write one frame. Raises FrameError when it breaks its schema."""
    pieces = (frame.iloc[start : start + _ROWS] for start in range(0, len(frame), _ROWS))
    return save(schema, (columns.to_arrow(piece, schema) for piece in pieces))


def whole(source: Source, schema: Schema, *, order: str) -> pd.DataFrame:
    """Return a source as a frame: itself, or its rows by `order`, columns of our own."""
    if isinstance(source, pd.DataFrame):
        return source
    with open_engine(source) as engine:
        engine.register("source", source, schema)
        return engine.frame(f"SELECT * FROM source ORDER BY {order}", schema)  # noqa: S608 - our own


class Pieces:
    """The rows of such a file in their order, in frames of some rows; may be gone through again."""

    def __init__(self, dataset: Dataset) -> None:
        self._dataset = dataset

    def __len__(self) -> int:
        """Return how many rows there are."""
        return sum(pq.read_metadata(path).num_rows for path in self._dataset.paths)

    def __iter__(self) -> Iterator[pd.DataFrame]:
        """Yield the frames; at least one, for its columns."""
        for path in self._dataset.paths:
            with pq.ParquetFile(path) as file:
                yield columns.from_arrow(file.schema_arrow.empty_table())
                for batch in file.iter_batches(_SHOWN):
                    yield columns.from_arrow(pa.table(batch))

    def head(self, rows: int) -> pd.DataFrame:
        """Return the first rows as one frame."""
        found: list[pd.DataFrame] = []
        for piece in self:
            found.append(piece.head(rows - sum(map(len, found))))
            if sum(map(len, found)) >= rows:
                break
        return pd.concat(found, ignore_index=True)
