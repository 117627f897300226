"""The journal's statements as the driver's own text, made once per engine.

They run thousands of times a second with rows as plain tuples: every column is an integer, a text
or bytes, which both drivers take as they are.
"""

from collections.abc import Callable, Sequence
from typing import Any, Final

import msgspec
from sqlalchemy import Column, Dialect, Table, bindparam, update
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.sql import ClauseElement

from kusanya.store.schema import (
    collection,
    delivery,
    delivery_rollup,
    event,
    observation,
    rollup,
)


class Statements(msgspec.Struct, frozen=True, kw_only=True):
    """One text per table and purpose; parameters stand in the order of the table's columns."""

    delivery: str
    event: str
    event_arrivals: str
    """arrivals, id, mode."""
    event_checked: str
    """instant, id, mode."""
    observation: str
    collection: str
    """Inserts or replaces the whole row."""
    rollup: str
    """Adds count, amount and fee to the bucket."""
    delivery_rollup: str
    """Adds count to the bucket."""


_POSITIONAL: Final = {"sqlite": "qmark", "postgresql": "format"}


def statements(dialect: Dialect) -> Statements:
    """Return the statements for `dialect`."""
    return Statements(
        delivery=_text(_insert(delivery, dialect), dialect),
        event=_text(_insert(event, dialect), dialect),
        event_arrivals=_text(
            update(event)
            .values(arrivals=event.c.arrivals + bindparam("more"))
            .where(event.c.id == bindparam("of"), event.c.mode == bindparam("in"))
            .inline(),
            dialect,
        ),
        event_checked=_text(
            update(event)
            .values(checked_at=bindparam("now"))
            .where(event.c.id == bindparam("of"), event.c.mode == bindparam("in"))
            .inline(),
            dialect,
        ),
        observation=_text(_insert(observation, dialect), dialect),
        collection=_text(_replace(collection, dialect), dialect),
        rollup=_text(_add(rollup, ("count", "amount", "fee"), dialect), dialect),
        delivery_rollup=_text(_add(delivery_rollup, ("count",), dialect), dialect),
    )


def _insert(table: Table, dialect: Dialect) -> Any:
    return (postgresql if dialect.name == "postgresql" else sqlite).insert(table)


def _replace(table: Table, dialect: Dialect) -> Any:
    insert = _insert(table, dialect)
    values = {c.name: insert.excluded[c.name] for c in table.c if not c.primary_key}
    return insert.on_conflict_do_update(index_elements=_key(table), set_=values)


def _add(table: Table, sums: Sequence[str], dialect: Dialect) -> Any:
    insert = _insert(table, dialect)
    values = {name: table.c[name] + insert.excluded[name] for name in sums}
    return insert.on_conflict_do_update(index_elements=_key(table), set_=values)


def _key(table: Table) -> list[Column[Any]]:
    return list(table.primary_key.columns)


def _text(statement: ClauseElement, dialect: Dialect) -> str:
    make: Callable[..., Dialect] = type(dialect)
    spoken = make(paramstyle=_POSITIONAL[dialect.name])
    return str(statement.compile(dialect=spoken))
