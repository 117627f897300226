"""An intent remembers that its replay window was closed before its time."""

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"
additive = False


def upgrade() -> None:
    """Add the column; of intents that are kept already nothing of the kind is known."""
    # The table is made anew on SQLite; r0009 shows that adding the column would have been enough.
    with op.batch_alter_table(
        "intent",
        recreate="always" if op.get_context().dialect.name == "sqlite" else "never",
    ) as batch:
        batch.add_column(sa.Column("window_closed_at", sa.BigInteger()))
