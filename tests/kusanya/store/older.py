"""A store of an older revision: how it is written, and all that it holds."""

from typing import Any

from sqlalchemy import text

from kusanya.clock import SystemClock
from kusanya.store import Store
from kusanya.store.queries.base import Opened
from kusanya.store.queries.search import index_references
from kusanya.store.tables.engine import Engines
from kusanya.store.tables.schema import metadata
from kusanya.store.writer.journal import Journal, Pace
from kusanya.store.writer.rejected import Limits


def everything(found: Engines) -> dict[str, list[Any]]:
    """Return what every row of every table says: a column that says nothing yet is left out."""
    with found.reader.connect() as connection:
        return {
            name: sorted(
                repr({column: value for column, value in row.items() if value is not None})
                for row in connection.execute(text(f"SELECT * FROM {name}")).mappings()  # noqa: S608 - our own tables' names
            )
            for name in metadata.tables
        }


class Journaled(Store):
    """A store of an older revision, written without bringing it up to date."""

    def __init__(self, found: Engines) -> None:
        journal = Journal(
            found,
            clock=SystemClock(),
            pace=Pace(queue_rows=100, batch_rows=10, batch_wait_s=0.001, chore_rows=100),
            rejected=Limits(rows=10, body_bytes=1_000),
            chore=index_references,
        )
        super().__init__(Opened(found, journal, SystemClock(), ""))

    def close(self) -> None:
        """Stop the writer; the connections are the test's."""
        assert self._journal is not None
        self._journal.close()
