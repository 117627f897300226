"""An intent remembers where it was sent first."""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"
additive = False


def upgrade() -> None:
    """Add the column; of intents that are kept already it is not known."""
    # The table is made anew on SQLite; r0009 shows that adding the column would have been enough.
    with op.batch_alter_table(
        "intent",
        recreate="always" if op.get_context().dialect.name == "sqlite" else "never",
    ) as batch:
        batch.add_column(sa.Column("target", sa.Text()))
