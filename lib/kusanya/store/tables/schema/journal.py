"""The journal's counter, what tells the store from others, and who asks about what."""

from typing import Final

from sqlalchemy import BigInteger, CheckConstraint, Column, Integer, Table, Text, text

from kusanya.store.tables.schema.base import ID, metadata

store_meta: Final = Table(
    "store_meta",
    metadata,
    Column("name", ID, primary_key=True),
    Column("value", Text, nullable=False),
)


feed_head: Final = Table(
    "feed_head",
    metadata,
    # The one row that every writing transaction locks first: commit order is seq order.
    Column("one", Integer, primary_key=True, autoincrement=False),
    Column("seq", BigInteger, nullable=False),
    # Rejected deliveries that were kept once and made room since; seq is dense but for them.
    Column("removed", BigInteger, nullable=False),
    # collections.containing: places up to here are in its index.
    Column("searched", BigInteger, nullable=False),
    # The same of descriptions and metadata; an older program leaves it where it is.
    Column("texts_searched", BigInteger, nullable=False, server_default=text("0")),
    CheckConstraint("one = 1", name="one_row"),
)


claim: Final = Table(
    "claim",
    metadata,
    # poll_leases.claim: which process asks about a collection, and until when it may; when the
    # service last said that it is open.
    Column("collection_id", ID, primary_key=True),
    Column("mode", ID, primary_key=True),
    Column("claimed_by", Text, nullable=False),
    Column("claimed_until", BigInteger, nullable=False),
    Column("asked_at", BigInteger),
    sqlite_with_rowid=False,
)
