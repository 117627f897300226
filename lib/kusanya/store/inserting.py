"""INSERT as each engine spells it, with ON CONFLICT."""

from typing import Any

from sqlalchemy import Dialect, Table
from sqlalchemy.dialects import postgresql, sqlite


def insert_into(table: Table, dialect: Dialect) -> Any:
    """Return the insert of `dialect`, which knows `on_conflict_do_update` and `excluded`."""
    return (postgresql if dialect.name == "postgresql" else sqlite).insert(table)
