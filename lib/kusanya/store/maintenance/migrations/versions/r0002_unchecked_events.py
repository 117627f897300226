"""Events that were never double-checked are found without looking at all of them."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
additive = False


def upgrade() -> None:
    """Add the index that catch-up reads."""
    op.create_index(
        "ix_event_unchecked",
        "event",
        ["mode", "first_arrived_at", "id"],
        unique=False,
        sqlite_where=sa.text("checked_at IS NULL"),
        postgresql_where=sa.text("checked_at IS NULL"),
    )
