"""Outcomes of orders, those who consume them, and what they have not done yet."""

import sqlalchemy as sa
from alembic import op

revision = "0013"
down_revision = "0012"
additive = True

_ID = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")
_SEQ = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    """Make the three tables, empty: outcomes are told from when the first consumer is added."""
    op.create_table(
        "outcome",
        sa.Column("seq", _SEQ, autoincrement=False, nullable=False),
        sa.Column("id", _ID, nullable=False),
        sa.Column("mode", _ID, nullable=False),
        sa.Column("reference", _ID, nullable=False),
        sa.Column("kind", _ID, nullable=False),
        sa.Column("collection_id", _ID),
        sa.Column("intent_id", _ID),
        sa.Column("is_paid", sa.Boolean(), nullable=False),
        sa.Column("amount", sa.BigInteger(), nullable=False),
        sa.Column("fee", sa.BigInteger(), nullable=False),
        sa.Column("currency", sa.Text(), nullable=False),
        sa.Column("expected_amount", sa.BigInteger()),
        sa.Column("failure_code", sa.Text()),
        sa.Column("ordinal", sa.Integer(), nullable=False),
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.Column("previous", _ID),
        sa.Column("evidence", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("seq", name=op.f("pk_outcome")),
        sa.UniqueConstraint("id", name=op.f("uq_outcome_id")),
    )
    op.create_index(op.f("ix_outcome_mode_reference_seq"), "outcome", ["mode", "reference", "seq"])
    op.create_index(op.f("ix_outcome_mode_seq"), "outcome", ["mode", "seq"])
    op.create_table(
        "consumer",
        sa.Column("name", _ID, nullable=False),
        sa.Column("mode", _ID, nullable=False),
        sa.Column("place", sa.BigInteger(), nullable=False),
        sa.Column("begins_at", sa.BigInteger()),
        sa.Column("epoch", sa.Text(), nullable=False),
        sa.Column("added_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("name", name=op.f("pk_consumer")),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "outcome_work",
        sa.Column("consumer", _ID, nullable=False),
        sa.Column("seq", _SEQ, autoincrement=False, nullable=False),
        sa.Column("parked", sa.Boolean(), nullable=False),
        sa.Column("tries", sa.Integer(), nullable=False),
        sa.Column("due_at", sa.BigInteger(), nullable=False),
        sa.Column("why", sa.Text(), nullable=False),
        sa.Column("claimed_by", sa.Text()),
        sa.Column("claimed_until", sa.BigInteger()),
        sa.PrimaryKeyConstraint("consumer", "seq", name=op.f("pk_outcome_work")),
        sqlite_with_rowid=False,
    )
