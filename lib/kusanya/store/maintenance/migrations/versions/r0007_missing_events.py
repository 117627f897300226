"""Final states without an event have an index of their own: they stand among the deliveries."""

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"
additive = False


def upgrade() -> None:
    """Make the index; an event that arrives takes its collection out of it again."""
    missing = sa.text("event_id IS NULL AND final_seen_at IS NOT NULL")
    op.create_index(
        "ix_collection_missing_event",
        "collection",
        ["mode", "final_seen_at", "id"],
        sqlite_where=missing,
        postgresql_where=missing,
    )
