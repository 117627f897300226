"""INSERT as each engine spells it, with ON CONFLICT; and what a store keeps by a name."""

from typing import Any

from sqlalchemy import Connection, Dialect, Table

from kusanya.store.tables.schema import store_meta


def insert_into(table: Table, dialect: Dialect) -> Any:
    """Return the insert of `dialect`, which knows `on_conflict_do_update` and `excluded`."""
    # Late: each dialect is a large package, and a process speaks one of them.
    if dialect.name == "postgresql":
        from sqlalchemy.dialects import postgresql

        return postgresql.insert(table)
    from sqlalchemy.dialects import sqlite

    return sqlite.insert(table)


def keep_in_meta(connection: Connection, name: str, value: str) -> None:
    """Keep a value in `store_meta` by its name, in the place of an earlier one."""
    insert = insert_into(store_meta, connection.dialect).values(name=name, value=value)
    connection.execute(
        insert.on_conflict_do_update(
            index_elements=[store_meta.c.name], set_={"value": insert.excluded.value}
        )
    )
