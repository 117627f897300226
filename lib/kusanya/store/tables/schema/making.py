"""How every table and index is made in an empty database."""

from sqlalchemy import Connection, Index, text
from sqlalchemy.schema import CreateIndex, CreateTable

from kusanya.store.tables.schema.base import metadata
from kusanya.store.tables.schema.search import PIECES, SEARCHED


def create_tables(connection: Connection) -> None:
    """Make every table and index in an empty database, in the caller's transaction.

    The order is the same each time: of two indexes that serve a question as well, SQLite takes the
    one that was made later.
    """
    for table in metadata.sorted_tables:
        connection.execute(CreateTable(table))
        for index in sorted(table.indexes, key=_is_partial_and_name):
            if connection.dialect.name == "postgresql" and "where" in index.info:
                # Said at the declaration, it would load that engine's dialect in every program.
                index.dialect_options["postgresql"]["where"] = text(index.info["where"])
            connection.execute(CreateIndex(index))
    for column in SEARCHED:
        for statement in PIECES[connection.dialect.name]:
            connection.exec_driver_sql(statement.format(of=column))


def _is_partial_and_name(index: Index) -> tuple[bool, str]:
    return "where" in index.info, str(index.name)
