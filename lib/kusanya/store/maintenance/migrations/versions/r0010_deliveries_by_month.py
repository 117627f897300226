"""On PostgreSQL deliveries are kept by month of their arrival: each month is a table of its own.

Programs of the revision before go on with it: they name the same table with the same columns.
"""

from alembic import op

from kusanya.store.maintenance.migrations.parting_deliveries import part_by_month

revision = "0010"
down_revision = "0009"
additive = True


def upgrade() -> None:
    """Part the deliveries of a server; a file stays as it is."""
    context = op.get_context()
    if context.dialect.name == "postgresql":
        part_by_month(op.get_bind(), context.opts["now"])
