"""A store of an older revision: how it is written, and all that it holds."""

from typing import Any

from sqlalchemy import Connection, Table, inspect, text

from kusanya.clock import SystemClock
from kusanya.store import Store
from kusanya.store.queries.base import StoreParts
from kusanya.store.queries.collections.indexing import index_references
from kusanya.store.tables.engine import Engines
from kusanya.store.tables.schema import collection, metadata, note
from kusanya.store.writer.journal import BatchSettings, Journal
from kusanya.store.writer.rejected import RejectedLimits


def everything(found: Engines) -> dict[str, list[Any]]:
    """Return what every row of every table says: a column that says nothing yet is left out.

    So is how far an index has come, and which older programs can work with the store. Yes and no
    are 1 and 0, as a file keeps them. A table that the store does not have yet holds no row.
    """
    with found.reader.connect() as connection:
        there = set(inspect(connection).get_table_names())
        return {
            name: sorted(
                repr(
                    {
                        column: int(value) if isinstance(value, bool) else value
                        for column, value in row.items()
                        if value is not None and column != "texts_searched"
                    }
                )
                for row in connection.execute(text(f"SELECT * FROM {name}")).mappings()  # noqa: S608 - our own tables' names
                if row.get("name") != "works_from"
            )
            if name in there
            else []
            for name in metadata.tables
        }


class OlderStore(Store):
    """A store of an older revision, written without bringing it up to date.

    While it is open its collections and notes have the columns of today, which the writer knows
    alone.
    """

    def __init__(self, found: Engines) -> None:
        with found.writer.begin() as connection:
            self._added = [
                column
                for table in (collection, note)
                for there in [_columns(connection, table)]
                for column in table.c
                if column.name not in there
            ]
            for column in self._added:
                kind = column.type.compile(connection.dialect)
                table = column.table.name
                connection.execute(text(f"ALTER TABLE {table} ADD COLUMN {column.name} {kind}"))
        journal = Journal(
            found,
            clock=SystemClock(),
            settings=BatchSettings(
                queue_rows=100, batch_rows=10, batch_wait_s=0.001, chore_rows=100
            ),
            rejected=RejectedLimits(rows=10, body_bytes=1_000),
            chore=index_references,
        )
        super().__init__(StoreParts(found, journal, SystemClock(), ""))

    def close(self) -> None:
        """Stop the writer; the connections are the test's."""
        assert self._journal is not None
        self._journal.close()
        with self._engines.writer.begin() as connection:
            for column in self._added:
                table = column.table.name
                connection.execute(text(f"ALTER TABLE {table} DROP COLUMN {column.name}"))


def _columns(connection: Connection, table: Table) -> set[str]:
    return {one["name"] for one in inspect(connection).get_columns(table.name)}
