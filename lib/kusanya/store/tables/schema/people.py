"""What people write, do and decide, and the receipts that they bring."""

from typing import Final

from sqlalchemy import BigInteger, Column, Index, Table, Text, UniqueConstraint

from kusanya.store.tables.schema.base import ID, metadata, seq

note: Final = Table(
    "note",
    metadata,
    seq(),
    Column("id", ID, nullable=False),
    Column("subject", ID, nullable=False),
    Column("mode", ID, nullable=False),
    Column("author", Text, nullable=False),
    Column("at", BigInteger, nullable=False),
    Column("text", Text, nullable=False),
    UniqueConstraint("id"),
    # notes.of.
    Index(None, "subject", "seq"),
)


audit: Final = Table(
    "audit",
    metadata,
    seq(),
    Column("id", ID, nullable=False),
    Column("at", BigInteger, nullable=False),
    Column("actor", Text, nullable=False),
    Column("act", Text, nullable=False),
    Column("subject", ID),
    Column("detail", Text, nullable=False),
    Column("outcome", Text, nullable=False),
    UniqueConstraint("id"),
)


acknowledgement: Final = Table(
    "acknowledgement",
    metadata,
    # The place of its audit row, which tells the feed of it.
    seq(),
    # The id of one outbreak; of what is muted its name in every outbreak.
    Column("alarm", ID, nullable=False),
    Column("at", BigInteger, nullable=False),
    Column("actor", Text, nullable=False),
    # When a mute ends; missing where somebody looks after the alarm.
    Column("until", BigInteger),
    Column("reason", Text, nullable=False),
    # acknowledgements.newest.
    Index(None, "alarm", "seq"),
)


break_fact: Final = Table(
    "break_fact",
    metadata,
    seq(),
    # Follows from what the break is about, so that it is the same in the next run.
    Column("break_id", ID, nullable=False),
    Column("mode", ID, nullable=False),
    Column("at", BigInteger, nullable=False),
    Column("actor", Text, nullable=False),
    # Missing where the fact does not speak of it.
    Column("status", ID),
    Column("owner", Text),
    Column("note", Text),
    # The run in which the person saw the break, and what it was then.
    Column("run_id", ID),
    Column("leg", ID, nullable=False),
    Column("code", ID, nullable=False),
    Column("reference", ID),
    Column("collection_id", ID),
    Column("currency", Text),
    Column("amount", BigInteger),
    # Every amount and fee of both sides, as one text: a decision covers no others.
    Column("figures", Text, nullable=False),
    # breaks.of.
    Index(None, "mode", "break_id", "seq"),
    # breaks.page, and all of them up to a place of the journal.
    Index(None, "mode", "seq"),
)


receipt: Final = Table(
    "receipt",
    metadata,
    seq(),
    Column("collection_id", ID, nullable=False),
    Column("mode", ID, nullable=False),
    Column("receipt", ID, nullable=False),
    # Without spaces around it and in one case: people type it from a phone.
    Column("receipt_key", ID, nullable=False),
    # Which file said so.
    Column("source", Text, nullable=False),
    Column("at", BigInteger, nullable=False),
    Column("actor", Text, nullable=False),
    # receipts.find; the same is recorded once.
    UniqueConstraint("mode", "receipt_key", "collection_id"),
    # receipts.of.
    Index(None, "collection_id", "mode"),
)
