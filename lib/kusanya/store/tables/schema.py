"""The tables, in one place, for both engines.

Facts (`delivery`, `observation`, `intent_change`, `note`, `audit`) are keyed by their position in
the journal, `seq`, and never change what they say. `event`, `collection` and `rollup` follow from
them. An event or a collection is known by its id and the mode in which it was heard: the mode of
the API key or signing secret, never of a body. Every index names the query that it serves.
"""

from collections.abc import Callable
from typing import Any, Final

from sqlalchemy import (
    DDL,
    BigInteger,
    CheckConstraint,
    Column,
    Connection,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    Table,
    Text,
    UniqueConstraint,
    text,
)
from sqlalchemy.event import listen as listens_for

metadata: Final = MetaData(
    naming_convention={
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "ck": "ck_%(table_name)s_%(constraint_name)s",
        "pk": "pk_%(table_name)s",
    }
)

# SQLite makes a table's own row number of an INTEGER primary key: no second tree for seq.
SEQ: Final = BigInteger().with_variant(Integer, "sqlite")
# Bytewise order on both engines: ranges find prefixes, and keyset pages agree with Python.
ID: Final = Text().with_variant(Text(collation="C"), "postgresql")


def _seq() -> Column[int]:
    return Column("seq", SEQ, primary_key=True, autoincrement=False)


def _only(where: str) -> dict[str, Any]:
    """Return the options of an index that holds only the rows that pass `where`."""
    return {"sqlite_where": text(where), "info": {"where": where}}


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
    # search_reference: places up to here are in its index.
    Column("searched", BigInteger, nullable=False),
    CheckConstraint("one = 1", name="one_row"),
)

delivery: Final = Table(
    "delivery",
    metadata,
    # Its id follows from seq: no second tree of ids.
    _seq(),
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
    # deliveries: newest first.
    Index(None, "mode", "arrived_at", "seq"),
    # deliveries(where=unwell).
    Index(
        "ix_delivery_unwell",
        "mode",
        "arrived_at",
        "seq",
        **_only("verdict <> 'verified'"),
    ),
    # deliveries(where=endpoints): how one endpoint does, however quiet it is among others.
    Index(None, "mode", "endpoint", "arrived_at", "seq"),
    # deliveries(where=event_id) and (where=collection_id): `event` knows the place of the first
    # arrival, which is almost all of them, and these the places of the others.
    Index(
        "ix_delivery_again_event_id",
        "event_id",
        **_only("verdict <> 'verified'"),
    ),
    Index(
        "ix_delivery_again_collection_id",
        "collection_id",
        **_only("verdict <> 'verified'"),
    ),
    # The bound on rejected deliveries.
    Index(
        "ix_delivery_rejected",
        "endpoint",
        "reason",
        "seq",
        **_only("verdict = 'rejected'"),
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
    # events_of.
    Index(None, "collection_id"),
    # unchecked_events: what was never compared with GET /v1/events/{id}.
    Index(
        "ix_event_unchecked",
        "mode",
        "first_arrived_at",
        "id",
        **_only("checked_at IS NULL"),
    ),
    sqlite_with_rowid=False,
)

observation: Final = Table(
    "observation",
    metadata,
    _seq(),
    Column("collection_id", ID, nullable=False),
    # The mode in which it was heard.
    Column("mode", ID, nullable=False),
    Column("observed_at", BigInteger, nullable=False),
    # Of source, source id, mode and everything said: the same saying is kept once.
    Column("digest", LargeBinary, nullable=False),
    Column("payload", LargeBinary, nullable=False),
    # observations, the fold of a collection, and the saying heard before. Facts of both modes lie
    # side by side: what one mode says of an id is evidence in the other.
    UniqueConstraint("collection_id", "digest"),
)

collection: Final = Table(
    "collection",
    metadata,
    Column("id", ID, primary_key=True),
    Column("seq", BigInteger, nullable=False),
    Column("mode", ID, primary_key=True),
    Column("status", ID, nullable=False),
    Column("amount", BigInteger, nullable=False),
    Column("fee", BigInteger, nullable=False),
    Column("currency", Text, nullable=False),
    Column("channel", ID, nullable=False),
    Column("phone", ID, nullable=False),
    Column("reference", ID, nullable=False),
    Column("description", Text),
    Column("failure_code", ID),
    Column("failure_message", Text),
    Column("created_at", BigInteger, nullable=False),
    Column("completed_at", BigInteger),
    Column("first_seen_at", BigInteger, nullable=False),
    Column("final_seen_at", BigInteger),
    Column("learned_from", Text),
    Column("event_id", ID),
    Column("contradictions", Integer, nullable=False),
    Column("unwell", Integer, nullable=False),
    # collections(order=CREATED): the newest page, and a day's.
    Index(None, "mode", "created_at", "id"),
    # collections(order=FINAL).
    Index(None, "mode", "final_seen_at", "id"),
    # collections(order=AMOUNT), and an amount with a time window.
    Index(None, "mode", "amount", "id"),
    # collections_by_reference, and prefixes by range.
    Index(None, "mode", "reference"),
    # collections_by_phone.
    Index(None, "mode", "phone", "created_at"),
    # open_collections: what the poller still has to ask about.
    Index(
        "ix_collection_open",
        "mode",
        "created_at",
        "id",
        **_only("final_seen_at IS NULL"),
    ),
    # collections(where=channels), of one channel.
    Index(None, "mode", "channel", "created_at", "id"),
    # collections(where=failure_codes), of one code.
    Index(
        "ix_collection_failure_code",
        "mode",
        "failure_code",
        "created_at",
        "id",
        **_only("failure_code IS NOT NULL"),
    ),
    # deliveries with the missing events among them.
    Index(
        "ix_collection_missing_event",
        "mode",
        "final_seen_at",
        "id",
        **_only("event_id IS NULL AND final_seen_at IS NOT NULL"),
    ),
    # collections(where=unwell).
    Index(
        "ix_collection_unwell",
        "mode",
        "created_at",
        "id",
        **_only("unwell = 1"),
    ),
)

rollup: Final = Table(
    "rollup",
    metadata,
    # rollups: a span of hours of one mode. No failure code is the empty text: NULLs never collide.
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
    # delivery_rollups: every arrival is counted here, kept or not.
    Column("mode", ID, primary_key=True),
    Column("hour", BigInteger, primary_key=True),
    Column("endpoint", ID, primary_key=True),
    Column("verdict", ID, primary_key=True),
    Column("reason", ID, primary_key=True),
    Column("count", BigInteger, nullable=False),
    sqlite_with_rowid=False,
)

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
    # intent_by_key; one key is one intent.
    UniqueConstraint("mode", "profile", "idempotency_key"),
    # intents: newest first, of one mode or of all.
    Index(None, "prepared_at", "id"),
    # intents(states=...): the few that are not over.
    Index(None, "state", "prepared_at", "id"),
    # intents_by_reference: an event tells by its reference which intent it settles.
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
    _seq(),
    Column("intent_id", ID, nullable=False),
    Column("mode", ID, nullable=False),
    Column("at", BigInteger, nullable=False),
    Column("state", Text, nullable=False),
    Column("collection_id", ID),
    Column("outcome", Text),
)

note: Final = Table(
    "note",
    metadata,
    _seq(),
    Column("id", ID, nullable=False),
    Column("subject", ID, nullable=False),
    Column("mode", ID, nullable=False),
    Column("author", Text, nullable=False),
    Column("at", BigInteger, nullable=False),
    Column("text", Text, nullable=False),
    UniqueConstraint("id"),
    # notes of one subject.
    Index(None, "subject", "seq"),
)

audit: Final = Table(
    "audit",
    metadata,
    _seq(),
    Column("id", ID, nullable=False),
    Column("at", BigInteger, nullable=False),
    Column("actor", Text, nullable=False),
    Column("act", Text, nullable=False),
    Column("subject", ID),
    Column("detail", Text, nullable=False),
    Column("outcome", Text, nullable=False),
    UniqueConstraint("id"),
)

claim: Final = Table(
    "claim",
    metadata,
    # claim_open: which process asks about a collection, and until when it may.
    Column("collection_id", ID, primary_key=True),
    Column("mode", ID, primary_key=True),
    Column("claimed_by", Text, nullable=False),
    Column("claimed_until", BigInteger, nullable=False),
    sqlite_with_rowid=False,
)

# search_reference: pieces of three letters of each reference, under the place of the fact that
# brought it. Each engine has its own kind of index for that, both without extensions.
SEARCH: Final = {
    "sqlite": (
        """CREATE VIRTUAL TABLE reference_search USING fts5(
            reference, content='', columnsize=0, detail='none',
            tokenize='trigram case_sensitive 1'
        )""",
    ),
    "postgresql": (
        """CREATE TABLE reference_search (
            seq BIGINT NOT NULL,
            grams TEXT[] NOT NULL,
            CONSTRAINT pk_reference_search PRIMARY KEY (seq)
        )""",
        "CREATE INDEX ix_reference_search_grams ON reference_search USING gin (grams)",
    ),
}


def _tell_postgresql(_target: MetaData, connection: Connection, **_told: Any) -> None:
    # As `postgresql_where` it would load that engine's dialect wherever a store is opened.
    if connection.dialect.name == "postgresql":
        for table in metadata.tables.values():
            for index in table.indexes:
                if "where" in index.info:
                    index.dialect_options["postgresql"]["where"] = text(index.info["where"])


listens_for(metadata, "before_create", _tell_postgresql)
_ddl: Final[Callable[[str], DDL]] = DDL
for _engine, _statements in SEARCH.items():
    for _statement in _statements:
        listens_for(metadata, "after_create", _ddl(_statement).execute_if(dialect=_engine))
listens_for(metadata, "before_drop", _ddl("DROP TABLE IF EXISTS reference_search"))
