"""The first schema: journal, projection, rollups, intents, notes, audit."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
additive = False

_ID = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")
_SEQ = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
_SEARCH = {
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
        sa.Column("claimed_by", sa.Text(), nullable=False),
        sa.Column("claimed_until", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("collection_id", name=op.f("pk_claim")),
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
        sa.PrimaryKeyConstraint("id", name=op.f("pk_collection")),
    )
    op.create_index(
        op.f("ix_collection_mode_amount_id"), "collection", ["mode", "amount", "id"], unique=False
    )
    op.create_index(
        op.f("ix_collection_mode_created_at_id"),
        "collection",
        ["mode", "created_at", "id"],
        unique=False,
    )
    op.create_index(
        op.f("ix_collection_mode_final_seen_at_id"),
        "collection",
        ["mode", "final_seen_at", "id"],
        unique=False,
    )
    op.create_index(
        op.f("ix_collection_mode_phone_created_at"),
        "collection",
        ["mode", "phone", "created_at"],
        unique=False,
    )
    op.create_index(
        op.f("ix_collection_mode_reference"), "collection", ["mode", "reference"], unique=False
    )
    op.create_index(
        "ix_collection_open",
        "collection",
        ["mode", "created_at", "id"],
        unique=False,
        sqlite_where=sa.text("final_seen_at IS NULL"),
        postgresql_where=sa.text("final_seen_at IS NULL"),
    )
    op.create_index(
        "ix_collection_unwell",
        "collection",
        ["mode", "created_at", "id"],
        unique=False,
        sqlite_where=sa.text("unwell = 1"),
        postgresql_where=sa.text("unwell = 1"),
    )
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
    op.create_index(op.f("ix_delivery_collection_id"), "delivery", ["collection_id"], unique=False)
    op.create_index(op.f("ix_delivery_event_id"), "delivery", ["event_id"], unique=False)
    op.create_index(
        op.f("ix_delivery_mode_arrived_at_seq"),
        "delivery",
        ["mode", "arrived_at", "seq"],
        unique=False,
    )
    op.create_index(
        "ix_delivery_rejected",
        "delivery",
        ["endpoint", "reason", "seq"],
        unique=False,
        sqlite_where=sa.text("verdict = 'rejected'"),
        postgresql_where=sa.text("verdict = 'rejected'"),
    )
    op.create_index(
        "ix_delivery_unwell",
        "delivery",
        ["mode", "arrived_at", "seq"],
        unique=False,
        sqlite_where=sa.text("verdict <> 'verified'"),
        postgresql_where=sa.text("verdict <> 'verified'"),
    )
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
    op.create_index(op.f("ix_event_collection_id"), "event", ["collection_id"], unique=False)
    op.create_table(
        "feed_head",
        sa.Column("one", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("seq", sa.BigInteger(), nullable=False),
        sa.Column("removed", sa.BigInteger(), nullable=False),
        sa.Column("searched", sa.BigInteger(), nullable=False),
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
        sa.PrimaryKeyConstraint("id", name=op.f("pk_intent")),
        sa.UniqueConstraint(
            "mode",
            "profile",
            "idempotency_key",
            name=op.f("uq_intent_mode_profile_idempotency_key"),
        ),
    )
    op.create_index(op.f("ix_intent_mode_reference"), "intent", ["mode", "reference"], unique=False)
    op.create_index(op.f("ix_intent_prepared_at_id"), "intent", ["prepared_at", "id"], unique=False)
    op.create_index(
        op.f("ix_intent_state_prepared_at_id"),
        "intent",
        ["state", "prepared_at", "id"],
        unique=False,
    )
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
    op.create_index(op.f("ix_note_subject_seq"), "note", ["subject", "seq"], unique=False)
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
    for statement in _SEARCH[op.get_context().dialect.name]:
        op.execute(statement)
    op.execute("INSERT INTO feed_head (one, seq, removed, searched) VALUES (1, 0, 0, 0)")
    store_id = op.get_context().opts["store_id"]
    op.bulk_insert(
        sa.table("store_meta", sa.column("name"), sa.column("value")),
        [{"name": "store_id", "value": store_id}, {"name": "epoch", "value": "1"}],
    )
