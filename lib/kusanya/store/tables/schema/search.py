"""The indexes of texts, which each engine has in its own kind."""

from collections.abc import Callable
from typing import Any, Final

from sqlalchemy import DDL, Connection, MetaData, text
from sqlalchemy.event import listen as listens_for

from kusanya.store.tables.schema.base import metadata

# Pieces of three letters of each reference and description, under the place of the fact that
# brought it. Each engine has its own kind of index for that, both without extensions.
_PIECES: Final = {
    "sqlite": (
        """CREATE VIRTUAL TABLE {of}_search USING fts5(
            {of}, content='', columnsize=0, detail='none',
            tokenize='trigram case_sensitive 1'
        )""",
    ),
    "postgresql": (
        """CREATE TABLE {of}_search (
            seq BIGINT NOT NULL,
            grams TEXT[] NOT NULL,
            CONSTRAINT pk_{of}_search PRIMARY KEY (seq)
        )""",
        "CREATE INDEX ix_{of}_search_grams ON {of}_search USING gin (grams)",
    ),
}
SEARCHED: Final = ("reference", "description")
"""The columns of `collection` that are found by any part of them."""


def _tell_postgresql(_target: MetaData, connection: Connection, **_told: Any) -> None:
    # As `postgresql_where` it would load that engine's dialect wherever a store is opened.
    if connection.dialect.name == "postgresql":
        for table in metadata.tables.values():
            for index in table.indexes:
                if "where" in index.info:
                    index.dialect_options["postgresql"]["where"] = text(index.info["where"])


listens_for(metadata, "before_create", _tell_postgresql)
_ddl: Final[Callable[[str], DDL]] = DDL
for _of in SEARCHED:
    for _engine, _statements in _PIECES.items():
        for _statement in _statements:
            _made = _ddl(_statement.format(of=_of)).execute_if(dialect=_engine)
            listens_for(metadata, "after_create", _made)
    listens_for(metadata, "before_drop", _ddl(f"DROP TABLE IF EXISTS {_of}_search"))
