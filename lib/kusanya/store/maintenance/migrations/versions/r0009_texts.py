"""Collections are found by their metadata and by any part of their description."""

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0008"
additive = False

_ID = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")
_SEARCH = {
    "sqlite": (
        """CREATE VIRTUAL TABLE description_search USING fts5(
            description, content='', columnsize=0, detail='none',
            tokenize='trigram case_sensitive 1'
        )""",
    ),
    "postgresql": (
        """CREATE TABLE description_search (
            seq BIGINT NOT NULL,
            grams TEXT[] NOT NULL,
            CONSTRAINT pk_description_search PRIMARY KEY (seq)
        )""",
        "CREATE INDEX ix_description_search_grams ON description_search USING gin (grams)",
    ),
}


def upgrade() -> None:
    """Make the two indexes; `migrations.upgrade` fills them from the facts of an older store."""
    op.add_column(
        "feed_head",
        sa.Column("texts_searched", sa.BigInteger(), nullable=False, server_default=sa.text("0")),
    )
    op.create_table(
        "metadata_entry",
        sa.Column("mode", _ID, nullable=False),
        sa.Column("value", _ID, nullable=False),
        sa.Column("name", _ID, nullable=False),
        sa.Column("created_at", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("collection_id", _ID, nullable=False),
        sa.PrimaryKeyConstraint(
            "mode", "value", "name", "created_at", "collection_id", name=op.f("pk_metadata_entry")
        ),
        sqlite_with_rowid=False,
    )
    for statement in _SEARCH[op.get_context().dialect.name]:
        op.execute(statement)
