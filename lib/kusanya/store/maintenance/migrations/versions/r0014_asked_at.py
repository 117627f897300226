"""When the service last said that a collection is open."""

import sqlalchemy as sa
from alembic import op

revision = "0014"
down_revision = "0013"
additive = True


def upgrade() -> None:
    """Add the column, empty: the next poll of each fills it."""
    op.add_column("claim", sa.Column("asked_at", sa.BigInteger()))
