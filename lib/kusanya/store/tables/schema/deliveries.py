"""Deliveries, their events, and what was observed of collections."""

from typing import Final

from sqlalchemy import (
    BigInteger,
    Column,
    Index,
    Integer,
    LargeBinary,
    Table,
    Text,
    UniqueConstraint,
)

from kusanya.store.tables.schema.base import ID, metadata, only, seq

delivery: Final = Table(
    "delivery",
    metadata,
    # Its id follows from seq: no second tree of ids.
    seq(),
    Column("arrived_at", BigInteger, nullable=False),
    Column("endpoint", Text, nullable=False),
    Column("mode", ID, nullable=False),
    Column("verdict", ID, nullable=False),
    Column("reason", ID),
    Column("event_id", ID),
    Column("event_type", Text),
    Column("event_created_at", BigInteger),
    Column("event_mode", Text),
    Column("collection_id", ID),
    Column("reference", Text),
    Column("amount", BigInteger),
    Column("currency", Text),
    Column("signed_at", BigInteger),
    Column("attempt", Integer),
    Column("answer", Integer, nullable=False),
    Column("took_us", BigInteger, nullable=False),
    Column("secrets_tried", Integer, nullable=False),
    Column("body_bytes", BigInteger, nullable=False),
    Column("headers", LargeBinary, nullable=False),
    # Last, so that lists read rows without following a long body.
    Column("body", LargeBinary),
    # deliveries.page: newest first.
    Index(None, "mode", "arrived_at", "seq"),
    # deliveries.page(where=unwell).
    Index(
        "ix_delivery_unwell",
        "mode",
        "arrived_at",
        "seq",
        **only("verdict <> 'verified'"),
    ),
    # deliveries.page(where=endpoints): how one endpoint does, however quiet among others.
    Index(None, "mode", "endpoint", "arrived_at", "seq"),
    # deliveries.page(where=event_id) and (where=collection_id): `event` knows the place of the
    # first arrival, which is almost all of them, and these the places of the others.
    Index(
        "ix_delivery_again_event_id",
        "event_id",
        **only("verdict <> 'verified'"),
    ),
    Index(
        "ix_delivery_again_collection_id",
        "collection_id",
        **only("verdict <> 'verified'"),
    ),
    # The bound on rejected deliveries.
    Index(
        "ix_delivery_rejected",
        "endpoint",
        "reason",
        "seq",
        **only("verdict = 'rejected'"),
    ),
)


event: Final = Table(
    "event",
    metadata,
    Column("id", ID, primary_key=True),
    Column("mode", ID, primary_key=True),
    Column("seq", BigInteger, nullable=False),
    Column("type", Text, nullable=False),
    Column("created_at", BigInteger, nullable=False),
    Column("collection_id", ID, nullable=False),
    Column("first_arrived_at", BigInteger, nullable=False),
    Column("endpoint", Text, nullable=False),
    Column("arrivals", BigInteger, nullable=False),
    Column("checked_at", BigInteger),
    Column("digest", LargeBinary, nullable=False),
    # events.of_collection.
    Index(None, "collection_id"),
    # events.unchecked: what was never compared with GET /v1/events/{id}.
    Index(
        "ix_event_unchecked",
        "mode",
        "first_arrived_at",
        "id",
        **only("checked_at IS NULL"),
    ),
    sqlite_with_rowid=False,
)


observation: Final = Table(
    "observation",
    metadata,
    seq(),
    Column("collection_id", ID, nullable=False),
    # The mode in which it was observed.
    Column("mode", ID, nullable=False),
    Column("observed_at", BigInteger, nullable=False),
    # Of source, source id, mode and everything said: the same saying is kept once.
    Column("digest", LargeBinary, nullable=False),
    Column("payload", LargeBinary, nullable=False),
    # observations, the fold of a collection, and the same saying before. Facts of both modes lie
    # side by side: what one mode says of an id is evidence in the other.
    UniqueConstraint("collection_id", "digest"),
)
