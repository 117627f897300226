"""Outcomes of orders, who consumes them, and what is not done yet."""

from typing import Final

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Index,
    Integer,
    Table,
    Text,
    UniqueConstraint,
)

from kusanya.store.tables.schema.base import ID, SEQ, metadata, seq

outcome: Final = Table(
    "outcome",
    metadata,
    seq(),
    # Follows from what it says of which attempt: the same is recorded once.
    Column("id", ID, nullable=False),
    Column("mode", ID, nullable=False),
    Column("reference", ID, nullable=False),
    Column("kind", ID, nullable=False),
    Column("collection_id", ID),
    Column("intent_id", ID),
    Column("is_paid", Boolean, nullable=False),
    Column("amount", BigInteger, nullable=False),
    Column("fee", BigInteger, nullable=False),
    Column("currency", Text, nullable=False),
    Column("expected_amount", BigInteger),
    Column("failure_code", Text),
    Column("ordinal", Integer, nullable=False),
    Column("at", BigInteger, nullable=False),
    Column("previous", ID),
    Column("evidence", Text, nullable=False),
    UniqueConstraint("id"),
    # outcomes.of: all that was said of an order.
    Index(None, "mode", "reference", "seq"),
    # outcomes.take: what came after a place.
    Index(None, "mode", "seq"),
)


consumer: Final = Table(
    "consumer",
    metadata,
    Column("name", ID, primary_key=True),
    Column("mode", ID, nullable=False),
    Column("place", BigInteger, nullable=False),
    Column("begins_at", BigInteger),
    Column("epoch", Text, nullable=False),
    Column("added_at", BigInteger, nullable=False),
    sqlite_with_rowid=False,
)


outcome_work: Final = Table(
    "outcome_work",
    metadata,
    Column("consumer", ID, primary_key=True),
    # The outcome's place; the row is removed once it is done.
    Column("seq", SEQ, primary_key=True, autoincrement=False),
    Column("parked", Boolean, nullable=False),
    Column("tries", Integer, nullable=False),
    Column("due_at", BigInteger, nullable=False),
    Column("why", Text, nullable=False),
    Column("claimed_by", Text),
    Column("claimed_until", BigInteger),
    sqlite_with_rowid=False,
)
