"""The newest act on a subject is found however many came after it."""

from alembic import op

revision = "0011"
down_revision = "0010"
additive = True


def upgrade() -> None:
    """Make the index; the facts stay as they are."""
    op.create_index(op.f("ix_audit_act_subject_seq"), "audit", ["act", "subject", "seq"])
