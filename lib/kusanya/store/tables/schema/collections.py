"""Collections, what finds them, and the sums of an hour: all of it follows from facts."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from sqlalchemy import BigInteger, Column, Index, Integer, Table, Text

from kusanya.domain.collection_columns import COLUMNS, ColumnType, IndexScope
from kusanya.store.tables.schema.base import ID, metadata, only

_TYPES: Final[Mapping[ColumnType, Any]] = {
    ColumnType.NAME: ID,
    ColumnType.TEXT: Text,
    ColumnType.WHOLE: BigInteger,
    ColumnType.COUNT: Integer,
    ColumnType.INSTANT: BigInteger,
}


def _declared() -> Iterator[Column[Any] | Index]:
    """Yield the columns of a collection, and the index of each that has one."""
    for it in COLUMNS:
        key = it.name in {"id", "mode"}
        yield Column(it.name, _TYPES[it.type], primary_key=key, nullable=it.optional)
    for it in COLUMNS:
        # collections.page(where=...), of one value of the column.
        within = ("mode", it.name, "created_at", "id")
        if it.indexed is IndexScope.ALL:
            yield Index(None, *within)
        elif it.indexed is IndexScope.PRESENT:
            present = only(f"{it.name} IS NOT NULL")
            yield Index(f"ix_collection_{it.name}", *within, **present)


collection: Final = Table(
    "collection",
    metadata,
    *_declared(),
    # collections.page(order=CREATED): the newest page, and a day's.
    Index(None, "mode", "created_at", "id"),
    # collections.page(order=FINAL).
    Index(None, "mode", "final_seen_at", "id"),
    # collections.page(order=AMOUNT), and an amount with a time window.
    Index(None, "mode", "amount", "id"),
    # collections.by_reference, and by_prefix by range.
    Index(None, "mode", "reference"),
    # collections.by_phone.
    Index(None, "mode", "phone", "created_at"),
    # collections.still_open: what the poller still has to ask about.
    Index(
        "ix_collection_open",
        "mode",
        "created_at",
        "id",
        **only("final_seen_at IS NULL"),
    ),
    # deliveries.page_with_missing and deliveries.count_missing.
    Index(
        "ix_collection_missing_event",
        "mode",
        "final_seen_at",
        "id",
        **only("event_id IS NULL AND final_seen_at IS NOT NULL"),
    ),
    # collections.page(where=unwell).
    Index(
        "ix_collection_unwell",
        "mode",
        "created_at",
        "id",
        **only("unwell = 1"),
    ),
)


metadata_entry: Final = Table(
    "metadata_entry",
    metadata,
    # collections.page(where=metadata) in the order of creation, and collections.by_metadata. Both
    # in one case. It follows from facts; the journal writes it when it has nothing better to do.
    Column("mode", ID, primary_key=True),
    Column("value", ID, primary_key=True),
    Column("name", ID, primary_key=True),
    Column("created_at", BigInteger, primary_key=True, autoincrement=False),
    Column("collection_id", ID, primary_key=True),
    sqlite_with_rowid=False,
)


rollup: Final = Table(
    "rollup",
    metadata,
    # rollups.collections: a span of hours. No failure code is the empty text: NULLs never collide.
    Column("mode", ID, primary_key=True),
    Column("hour", BigInteger, primary_key=True),
    Column("channel", ID, primary_key=True),
    Column("currency", ID, primary_key=True),
    Column("status", ID, primary_key=True),
    Column("failure_code", ID, primary_key=True),
    Column("count", BigInteger, nullable=False),
    Column("amount", BigInteger, nullable=False),
    Column("fee", BigInteger, nullable=False),
    sqlite_with_rowid=False,
)


delivery_rollup: Final = Table(
    "delivery_rollup",
    metadata,
    # rollups.deliveries: every arrival is counted here, kept or not.
    Column("mode", ID, primary_key=True),
    Column("hour", BigInteger, primary_key=True),
    Column("endpoint", ID, primary_key=True),
    Column("verdict", ID, primary_key=True),
    Column("reason", ID, primary_key=True),
    Column("count", BigInteger, nullable=False),
    sqlite_with_rowid=False,
)
