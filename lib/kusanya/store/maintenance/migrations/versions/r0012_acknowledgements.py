"""Who looks after an alarm stands in a table of its own; before it was looked for in the audit."""

import sqlalchemy as sa
from alembic import op

revision = "0012"
down_revision = "0011"
additive = True

_ID = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")
_SEQ = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    """Make the table and take over what was acknowledged; its audit rows stay as they are."""
    op.create_table(
        "acknowledgement",
        sa.Column("seq", _SEQ, autoincrement=False, nullable=False),
        sa.Column("alarm", _ID, nullable=False),
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.Column("actor", sa.Text(), nullable=False),
        sa.Column("until", sa.BigInteger()),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("seq", name=op.f("pk_acknowledgement")),
    )
    op.create_index(op.f("ix_acknowledgement_alarm_seq"), "acknowledgement", ["alarm", "seq"])
    op.execute(
        "INSERT INTO acknowledgement (seq, alarm, at, actor, reason) "
        "SELECT seq, subject, at, actor, detail FROM audit "
        "WHERE act = 'acknowledge' AND subject IS NOT NULL AND outcome = 'done'"
    )
    op.drop_index(op.f("ix_audit_act_subject_seq"), "audit")
