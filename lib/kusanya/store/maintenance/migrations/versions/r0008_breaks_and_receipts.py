"""What people decide about breaks, and operators' receipts, become facts of the journal."""

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"
additive = False

_ID = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")
_SEQ = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    """Make the two tables; the facts of an older store are none of theirs."""
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
    op.create_index(
        op.f("ix_break_fact_mode_break_id_seq"), "break_fact", ["mode", "break_id", "seq"]
    )
    op.create_index(op.f("ix_break_fact_mode_seq"), "break_fact", ["mode", "seq"])
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
    op.create_index(op.f("ix_receipt_collection_id_mode"), "receipt", ["collection_id", "mode"])
