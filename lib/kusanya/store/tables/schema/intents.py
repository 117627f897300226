"""Our decisions to create a collection, and each attempt at it."""

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

from kusanya.store.tables.schema.base import ID, metadata, seq

intent: Final = Table(
    "intent",
    metadata,
    Column("id", ID, primary_key=True),
    Column("seq", BigInteger, nullable=False),
    Column("idempotency_key", ID, nullable=False),
    Column("body", LargeBinary, nullable=False),
    Column("mode", ID, nullable=False),
    Column("profile", ID, nullable=False),
    Column("reference", ID, nullable=False),
    Column("amount", BigInteger, nullable=False),
    Column("phone", Text, nullable=False),
    Column("state", ID, nullable=False),
    Column("prepared_at", BigInteger, nullable=False),
    Column("first_sent_at", BigInteger),
    Column("collection_id", ID),
    Column("outcome", Text),
    Column("attempts", Integer, nullable=False),
    Column("claimed_by", Text),
    Column("claimed_until", BigInteger),
    Column("target", Text),
    Column("window_closed_at", BigInteger),
    # intents.by_key; one key is one intent.
    UniqueConstraint("mode", "profile", "idempotency_key"),
    # intents.page: newest first, of one mode or of all.
    Index(None, "prepared_at", "id"),
    # intents.page(states=...): the few that are not over.
    Index(None, "state", "prepared_at", "id"),
    # intents.by_reference: the reference of an event says which intent it resolves.
    Index(None, "mode", "reference"),
)


intent_attempt: Final = Table(
    "intent_attempt",
    metadata,
    Column("intent_id", ID, primary_key=True),
    Column("number", Integer, primary_key=True, autoincrement=False),
    Column("sent_at", BigInteger, nullable=False),
    Column("ended_at", BigInteger),
    Column("outcome", Text),
    Column("status", Integer),
    Column("request_id", Text),
    Column("took_us", BigInteger),
    sqlite_with_rowid=False,
)


intent_change: Final = Table(
    "intent_change",
    metadata,
    seq(),
    Column("intent_id", ID, nullable=False),
    Column("mode", ID, nullable=False),
    Column("at", BigInteger, nullable=False),
    Column("state", Text, nullable=False),
    Column("collection_id", ID),
    Column("outcome", Text),
)
