"""The schema with which the first version is published; what came before it was never kept."""

import sqlalchemy as sa
from alembic import op

from kusanya.store.tables.delivery_months import part_by_month

revision = "0010"
down_revision = None
additive = False

_ID = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")
_SEQ = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
_SEARCHED = ("reference", "description")
_SEARCH = {
    "sqlite": (
        """CREATE VIRTUAL TABLE {of}_search USING fts5(
            {of}, content='', columnsize=0, detail='none',
            tokenize='trigram case_sensitive 1'
        )""",
    ),
    "postgresql": (
        """CREATE TABLE {of}_search (
            seq BIGINT NOT NULL,
            grams TEXT[] NOT NULL,
            CONSTRAINT pk_{of}_search PRIMARY KEY (seq)
        )""",
        "CREATE INDEX ix_{of}_search_grams ON {of}_search USING gin (grams)",
    ),
}


def upgrade() -> None:
    """Create the tables and the two rows that every store has."""
    op.create_table(
        "audit",
        sa.Column("seq", _SEQ, autoincrement=False, nullable=False),
        sa.Column("id", _ID, nullable=False),
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.Column("actor", sa.Text(), nullable=False),
        sa.Column("act", sa.Text(), nullable=False),
        sa.Column("subject", _ID),
        sa.Column("detail", sa.Text(), nullable=False),
        sa.Column("outcome", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("seq", name=op.f("pk_audit")),
        sa.UniqueConstraint("id", name=op.f("uq_audit_id")),
    )
    op.create_table(
        "claim",
        sa.Column("collection_id", _ID, nullable=False),
        sa.Column("mode", _ID, nullable=False),
        sa.Column("claimed_by", sa.Text(), nullable=False),
        sa.Column("claimed_until", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("collection_id", "mode", name=op.f("pk_claim")),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "collection",
        sa.Column("id", _ID, nullable=False),
        sa.Column("seq", sa.BigInteger(), nullable=False),
        sa.Column("mode", _ID, nullable=False),
        sa.Column("status", _ID, nullable=False),
        sa.Column("amount", sa.BigInteger(), nullable=False),
        sa.Column("fee", sa.BigInteger(), nullable=False),
        sa.Column("currency", sa.Text(), nullable=False),
        sa.Column("channel", _ID, nullable=False),
        sa.Column("phone", _ID, nullable=False),
        sa.Column("reference", _ID, nullable=False),
        sa.Column("description", sa.Text()),
        sa.Column("failure_code", _ID),
        sa.Column("failure_message", sa.Text()),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("completed_at", sa.BigInteger()),
        sa.Column("first_seen_at", sa.BigInteger(), nullable=False),
        sa.Column("final_seen_at", sa.BigInteger()),
        sa.Column("learned_from", sa.Text()),
        sa.Column("event_id", _ID),
        sa.Column("contradictions", sa.Integer(), nullable=False),
        sa.Column("unwell", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("id", "mode", name=op.f("pk_collection")),
    )
    _index("collection", "mode", "amount", "id")
    _index("collection", "mode", "channel", "created_at", "id")
    _index("collection", "mode", "created_at", "id")
    _index("collection", "mode", "final_seen_at", "id")
    _index("collection", "mode", "phone", "created_at")
    _index("collection", "mode", "reference")
    _index(
        "collection",
        "mode",
        "failure_code",
        "created_at",
        "id",
        named="failure_code",
        where="failure_code IS NOT NULL",
    )
    _index(
        "collection",
        "mode",
        "final_seen_at",
        "id",
        named="missing_event",
        where="event_id IS NULL AND final_seen_at IS NOT NULL",
    )
    _index("collection", "mode", "created_at", "id", named="open", where="final_seen_at IS NULL")
    _index("collection", "mode", "created_at", "id", named="unwell", where="unwell = 1")
    op.create_table(
        "delivery",
        sa.Column("seq", _SEQ, autoincrement=False, nullable=False),
        sa.Column("arrived_at", sa.BigInteger(), nullable=False),
        sa.Column("endpoint", sa.Text(), nullable=False),
        sa.Column("mode", _ID, nullable=False),
        sa.Column("verdict", _ID, nullable=False),
        sa.Column("reason", _ID),
        sa.Column("event_id", _ID),
        sa.Column("event_type", sa.Text()),
        sa.Column("event_created_at", sa.BigInteger()),
        sa.Column("event_mode", sa.Text()),
        sa.Column("collection_id", _ID),
        sa.Column("reference", sa.Text()),
        sa.Column("amount", sa.BigInteger()),
        sa.Column("currency", sa.Text()),
        sa.Column("signed_at", sa.BigInteger()),
        sa.Column("attempt", sa.Integer()),
        sa.Column("answer", sa.Integer(), nullable=False),
        sa.Column("took_us", sa.BigInteger(), nullable=False),
        sa.Column("secrets_tried", sa.Integer(), nullable=False),
        sa.Column("body_bytes", sa.BigInteger(), nullable=False),
        sa.Column("headers", sa.LargeBinary(), nullable=False),
        sa.Column("body", sa.LargeBinary()),
        sa.PrimaryKeyConstraint("seq", name=op.f("pk_delivery")),
    )
    _index("delivery", "mode", "arrived_at", "seq")
    _index("delivery", "mode", "endpoint", "arrived_at", "seq")
    _index("delivery", "event_id", named="again_event_id", where="verdict <> 'verified'")
    _index("delivery", "collection_id", named="again_collection_id", where="verdict <> 'verified'")
    _index("delivery", "endpoint", "reason", "seq", named="rejected", where="verdict = 'rejected'")
    _index("delivery", "mode", "arrived_at", "seq", named="unwell", where="verdict <> 'verified'")
    op.create_table(
        "delivery_rollup",
        sa.Column("mode", _ID, nullable=False),
        sa.Column("hour", sa.BigInteger(), nullable=False),
        sa.Column("endpoint", _ID, nullable=False),
        sa.Column("verdict", _ID, nullable=False),
        sa.Column("reason", _ID, nullable=False),
        sa.Column("count", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint(
            "mode", "hour", "endpoint", "verdict", "reason", name=op.f("pk_delivery_rollup")
        ),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "event",
        sa.Column("id", _ID, nullable=False),
        sa.Column("mode", _ID, nullable=False),
        sa.Column("seq", sa.BigInteger(), nullable=False),
        sa.Column("type", sa.Text(), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("collection_id", _ID, nullable=False),
        sa.Column("first_arrived_at", sa.BigInteger(), nullable=False),
        sa.Column("endpoint", sa.Text(), nullable=False),
        sa.Column("arrivals", sa.BigInteger(), nullable=False),
        sa.Column("checked_at", sa.BigInteger()),
        sa.Column("digest", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("id", "mode", name=op.f("pk_event")),
        sqlite_with_rowid=False,
    )
    _index("event", "collection_id")
    _index("event", "mode", "first_arrived_at", "id", named="unchecked", where="checked_at IS NULL")
    op.create_table(
        "feed_head",
        sa.Column("one", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("seq", sa.BigInteger(), nullable=False),
        sa.Column("removed", sa.BigInteger(), nullable=False),
        sa.Column("searched", sa.BigInteger(), nullable=False),
        sa.Column("texts_searched", sa.BigInteger(), server_default=sa.text("0"), nullable=False),
        sa.CheckConstraint("one = 1", name=op.f("ck_feed_head_one_row")),
        sa.PrimaryKeyConstraint("one", name=op.f("pk_feed_head")),
    )
    op.create_table(
        "intent",
        sa.Column("id", _ID, nullable=False),
        sa.Column("seq", sa.BigInteger(), nullable=False),
        sa.Column("idempotency_key", _ID, nullable=False),
        sa.Column("body", sa.LargeBinary(), nullable=False),
        sa.Column("mode", _ID, nullable=False),
        sa.Column("profile", _ID, nullable=False),
        sa.Column("reference", _ID, nullable=False),
        sa.Column("amount", sa.BigInteger(), nullable=False),
        sa.Column("phone", sa.Text(), nullable=False),
        sa.Column("state", _ID, nullable=False),
        sa.Column("prepared_at", sa.BigInteger(), nullable=False),
        sa.Column("first_sent_at", sa.BigInteger()),
        sa.Column("collection_id", _ID),
        sa.Column("outcome", sa.Text()),
        sa.Column("attempts", sa.Integer(), nullable=False),
        sa.Column("claimed_by", sa.Text()),
        sa.Column("claimed_until", sa.BigInteger()),
        sa.Column("target", sa.Text()),
        sa.Column("window_closed_at", sa.BigInteger()),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_intent")),
        sa.UniqueConstraint(
            "mode",
            "profile",
            "idempotency_key",
            name=op.f("uq_intent_mode_profile_idempotency_key"),
        ),
    )
    _index("intent", "mode", "reference")
    _index("intent", "prepared_at", "id")
    _index("intent", "state", "prepared_at", "id")
    op.create_table(
        "intent_attempt",
        sa.Column("intent_id", _ID, nullable=False),
        sa.Column("number", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("sent_at", sa.BigInteger(), nullable=False),
        sa.Column("ended_at", sa.BigInteger()),
        sa.Column("outcome", sa.Text()),
        sa.Column("status", sa.Integer()),
        sa.Column("request_id", sa.Text()),
        sa.Column("took_us", sa.BigInteger()),
        sa.PrimaryKeyConstraint("intent_id", "number", name=op.f("pk_intent_attempt")),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "intent_change",
        sa.Column("seq", _SEQ, autoincrement=False, nullable=False),
        sa.Column("intent_id", _ID, nullable=False),
        sa.Column("mode", _ID, nullable=False),
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("collection_id", _ID),
        sa.Column("outcome", sa.Text()),
        sa.PrimaryKeyConstraint("seq", name=op.f("pk_intent_change")),
    )
    op.create_table(
        "note",
        sa.Column("seq", _SEQ, autoincrement=False, nullable=False),
        sa.Column("id", _ID, nullable=False),
        sa.Column("subject", _ID, nullable=False),
        sa.Column("mode", _ID, nullable=False),
        sa.Column("author", sa.Text(), nullable=False),
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.Column("text", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("seq", name=op.f("pk_note")),
        sa.UniqueConstraint("id", name=op.f("uq_note_id")),
    )
    _index("note", "subject", "seq")
    op.create_table(
        "observation",
        sa.Column("seq", _SEQ, autoincrement=False, nullable=False),
        sa.Column("collection_id", _ID, nullable=False),
        sa.Column("mode", _ID, nullable=False),
        sa.Column("observed_at", sa.BigInteger(), nullable=False),
        sa.Column("digest", sa.LargeBinary(), nullable=False),
        sa.Column("payload", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("seq", name=op.f("pk_observation")),
        sa.UniqueConstraint(
            "collection_id", "digest", name=op.f("uq_observation_collection_id_digest")
        ),
    )
    op.create_table(
        "rollup",
        sa.Column("mode", _ID, nullable=False),
        sa.Column("hour", sa.BigInteger(), nullable=False),
        sa.Column("channel", _ID, nullable=False),
        sa.Column("currency", _ID, nullable=False),
        sa.Column("status", _ID, nullable=False),
        sa.Column("failure_code", _ID, nullable=False),
        sa.Column("count", sa.BigInteger(), nullable=False),
        sa.Column("amount", sa.BigInteger(), nullable=False),
        sa.Column("fee", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint(
            "mode", "hour", "channel", "currency", "status", "failure_code", name=op.f("pk_rollup")
        ),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "store_meta",
        sa.Column("name", _ID, nullable=False),
        sa.Column("value", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("name", name=op.f("pk_store_meta")),
    )
    op.create_table(
        "break_fact",
        sa.Column("seq", _SEQ, autoincrement=False, nullable=False),
        sa.Column("break_id", _ID, nullable=False),
        sa.Column("mode", _ID, nullable=False),
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.Column("actor", sa.Text(), nullable=False),
        sa.Column("status", _ID),
        sa.Column("owner", sa.Text()),
        sa.Column("note", sa.Text()),
        sa.Column("run_id", _ID),
        sa.Column("leg", _ID, nullable=False),
        sa.Column("code", _ID, nullable=False),
        sa.Column("reference", _ID),
        sa.Column("collection_id", _ID),
        sa.Column("currency", sa.Text()),
        sa.Column("amount", sa.BigInteger()),
        sa.Column("figures", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("seq", name=op.f("pk_break_fact")),
    )
    _index("break_fact", "mode", "break_id", "seq")
    _index("break_fact", "mode", "seq")
    op.create_table(
        "receipt",
        sa.Column("seq", _SEQ, autoincrement=False, nullable=False),
        sa.Column("collection_id", _ID, nullable=False),
        sa.Column("mode", _ID, nullable=False),
        sa.Column("receipt", _ID, nullable=False),
        sa.Column("receipt_key", _ID, nullable=False),
        sa.Column("source", sa.Text(), nullable=False),
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.Column("actor", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("seq", name=op.f("pk_receipt")),
        sa.UniqueConstraint(
            "mode",
            "receipt_key",
            "collection_id",
            name=op.f("uq_receipt_mode_receipt_key_collection_id"),
        ),
    )
    _index("receipt", "collection_id", "mode")
    op.create_table(
        "metadata_entry",
        sa.Column("mode", _ID, nullable=False),
        sa.Column("value", _ID, nullable=False),
        sa.Column("name", _ID, nullable=False),
        sa.Column("created_at", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("collection_id", _ID, nullable=False),
        sa.PrimaryKeyConstraint(
            "mode", "value", "name", "created_at", "collection_id", name=op.f("pk_metadata_entry")
        ),
        sqlite_with_rowid=False,
    )
    context = op.get_context()
    for column in _SEARCHED:
        for statement in _SEARCH[context.dialect.name]:
            op.execute(statement.format(of=column))
    if context.dialect.name == "postgresql":
        part_by_month(op.get_bind(), context.opts["now"])
    op.execute("INSERT INTO feed_head (one, seq, removed, searched) VALUES (1, 0, 0, 0)")
    store_id = context.opts["store_id"]
    op.bulk_insert(
        sa.table("store_meta", sa.column("name"), sa.column("value")),
        [{"name": "store_id", "value": store_id}, {"name": "epoch", "value": "1"}],
    )


def _index(table: str, *columns: str, named: str = "", where: str | None = None) -> None:
    said = None if where is None else sa.text(where)
    name = op.f(f"ix_{table}_{named or '_'.join(columns)}")
    op.create_index(name, table, [*columns], sqlite_where=said, postgresql_where=said)
