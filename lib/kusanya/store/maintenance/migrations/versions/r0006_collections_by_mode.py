"""A collection is known by its id and the mode in which it was heard of.

Before, facts were gathered by id alone: a test signature that named a live collection finished the
live row. `upgrade` in the package above parts the rows that were mixed so, in this transaction.
"""

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"
additive = False

_ID = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")


def upgrade() -> None:
    """Key collections and claims by id and mode."""
    # Claims end by themselves within minutes: none is worth carrying over.
    op.drop_table("claim")
    op.create_table(
        "claim",
        sa.Column("collection_id", _ID, nullable=False),
        sa.Column("mode", _ID, nullable=False),
        sa.Column("claimed_by", sa.Text(), nullable=False),
        sa.Column("claimed_until", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("collection_id", "mode", name=op.f("pk_claim")),
        sqlite_with_rowid=False,
    )
    if op.get_context().dialect.name == "postgresql":
        op.drop_constraint("pk_collection", "collection", type_="primary")
        op.create_primary_key("pk_collection", "collection", ["id", "mode"])
        return
    op.rename_table("collection", "collection_by_id")
    for name in _INDEXES:
        op.drop_index(name, "collection_by_id")
    _create_collection()
    op.execute("INSERT INTO collection SELECT * FROM collection_by_id")  # the same columns
    op.drop_table("collection_by_id")
    for name, (columns, where) in _INDEXES.items():
        op.create_index(name, "collection", columns, sqlite_where=where)


_INDEXES = {
    "ix_collection_mode_created_at_id": (["mode", "created_at", "id"], None),
    "ix_collection_mode_final_seen_at_id": (["mode", "final_seen_at", "id"], None),
    "ix_collection_mode_amount_id": (["mode", "amount", "id"], None),
    "ix_collection_mode_reference": (["mode", "reference"], None),
    "ix_collection_mode_phone_created_at": (["mode", "phone", "created_at"], None),
    "ix_collection_open": (["mode", "created_at", "id"], sa.text("final_seen_at IS NULL")),
    "ix_collection_mode_channel_created_at_id": (["mode", "channel", "created_at", "id"], None),
    "ix_collection_failure_code": (
        ["mode", "failure_code", "created_at", "id"],
        sa.text("failure_code IS NOT NULL"),
    ),
    "ix_collection_unwell": (["mode", "created_at", "id"], sa.text("unwell = 1")),
}


def _create_collection() -> None:
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
