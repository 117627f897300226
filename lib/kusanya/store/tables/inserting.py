"""INSERT as each engine spells it, with ON CONFLICT."""

from typing import Any

from sqlalchemy import Dialect, Table


def insert_into(table: Table, dialect: Dialect) -> Any:
    """Return the insert of `dialect`, which knows `on_conflict_do_update` and `excluded`."""
    # Late: each dialect is a large package, and a process speaks one of them.
    if dialect.name == "postgresql":
        from sqlalchemy.dialects import postgresql

        return postgresql.insert(table)
    from sqlalchemy.dialects import sqlite

    return sqlite.insert(table)
