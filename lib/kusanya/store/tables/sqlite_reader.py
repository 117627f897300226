"""SQLAlchemy's dialect of SQLite for connections that only read."""

from typing import Any

from sqlalchemy.dialects.sqlite.pysqlite import SQLiteDialect_pysqlite


class SqliteReader(SQLiteDialect_pysqlite):
    """Begins each transaction by the driver's own call.

    As a listener BEGIN would be a statement of SQLAlchemy's, and every other one would look for
    listeners of its own: that is a fifth of the time of a look-up by id.
    """

    supports_statement_cache = True

    def do_begin(self, dbapi_connection: Any) -> None:
        """Begin what sees one moment's committed rows from its first query on."""
        dbapi_connection.execute("BEGIN")
