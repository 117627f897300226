"""A store's collections as Parquet on this machine: a month is never held in memory whole.

They are read, masked and written in pieces. Which source said which fee is known only when the
journal is read, so that the pieces are written twice: no whole phone number is in either file.
"""

from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, Final

import pyarrow as pa

from kusanya.wire import Mode
from kusanya_books import columns
from kusanya_books.columns import COLLECTIONS
from kusanya_books.engine import on_disk
from kusanya_books.engine.engine import Dataset
from kusanya_books.engine.spill import LastingFolder
from kusanya_books.read.store.normalisation import normalise

Progress = Callable[[str, int], None]
"""Called with what is being read, and how many rows of it are read."""
_FAST: Final = pa.ipc.IpcWriteOptions(compression="lz4")


def read(
    found: Any,
    mode: Mode,
    *,
    since: datetime,
    until: datetime,
    as_of: int,
    key: str,
    cutoff: timedelta,
    evidence: bool,
    progress: Progress,
) -> tuple[Dataset, int]:
    """Return the collections of a span, normalised, and how many they are.

    `found` is a snapshot of `store.bulk_read`. `key` and `cutoff` are as in `normalise`; with
    `evidence` they say who said which fee.
    """
    pieces = found.pieces(mode, since=since, until=until, as_of=as_of, progress=progress)
    normal = (
        columns.to_arrow(normalise(columns.from_arrow(piece), key=key, cutoff=cutoff), COLLECTIONS)
        for piece in pieces
    )
    if not evidence:
        return _counted(normal)
    folder = LastingFolder()
    path = folder.path / "collections.arrow"
    ids = _write(normal, path)
    seen = found.sources_of_fees(ids, as_of=as_of, progress=progress)
    del ids
    return _counted(_with_fees(found, path, seen, mode=mode, as_of=as_of, progress=progress))


def _counted(tables: Iterator[pa.Table]) -> tuple[Dataset, int]:
    rows = 0

    def counted() -> Iterator[pa.Table]:
        nonlocal rows
        for table in tables:
            rows += len(table)
            yield table

    return on_disk.save(COLLECTIONS, counted()), rows


def _write(tables: Iterator[pa.Table], path: Path) -> pa.Array:
    """Write the tables, and return all their ids in order."""
    ids = []
    with pa.ipc.new_file(path, COLLECTIONS.arrow, options=_FAST) as writer:
        for table in tables:
            whole = table.combine_chunks()
            writer.write_table(whole)
            ids += whole["id"].chunks
    return pa.chunked_array(ids, pa.string()).combine_chunks()


def _with_fees(
    found: Any, path: Path, seen: Any, *, mode: Mode, as_of: int, progress: Progress
) -> Iterator[pa.Table]:
    at = 0
    with pa.OSFile(str(path)) as file, pa.ipc.open_file(file) as reader:
        for number in range(reader.num_record_batches):
            piece = pa.table(reader.get_batch(number))
            some = seen[at : at + len(piece)]
            yield found.with_fees_apart(piece, some, mode=mode, as_of=as_of)
            at += len(piece)
            progress("noting who said a fee", at)
    path.unlink()
