"""The journal's statements as the driver's own text, made once per kind of engine.

They run thousands of times a second with rows as plain tuples: every column is an integer, a text
or bytes, which both drivers take as they are. A list of ids is one parameter.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from typing import Any, Final

import msgspec
from sqlalchemy import (
    ARRAY,
    Column,
    ColumnElement,
    Dialect,
    Table,
    Text,
    any_,
    bindparam,
    func,
    select,
    update,
)
from sqlalchemy.sql import ClauseElement

from kusanya.store.tables.inserting import insert_into
from kusanya.store.tables.schema import (
    collection,
    delivery,
    delivery_rollup,
    event,
    feed_head,
    observation,
    rollup,
)
from kusanya.store.writer.projection import SELECTED


class Statements(msgspec.Struct, frozen=True, kw_only=True):
    """One text per purpose; parameters of inserts stand in the order of the table's columns."""

    listed: Callable[[Iterable[str]], Any]
    """Makes the one parameter that a list of ids is."""
    lock_head: str
    move_head: str
    """seq."""
    known_events: str
    """ids; gives id, mode, digest, collection_id, arrivals."""
    known_observations: str
    """ids of collections; gives collection_id, seq, digest, payload in the journal's order, of both
    modes."""
    known_collections: str
    """ids; gives whole rows, of both modes."""
    delivery: str
    event: str
    event_arrivals: str
    """arrivals, id, mode."""
    event_checked: str
    """instant, id, mode."""
    observation: str
    new_collection: str
    changed_collection: str
    """Inserts or replaces the whole row."""
    rollup: str
    """Adds count, amount and fee to the bucket."""
    delivery_rollup: str
    """Adds count to the bucket."""
    copies: Mapping[str, str]
    """For an insert its COPY, where the engine has one: many rows at a quarter of the cost."""
    together: Mapping[str, tuple[tuple[int, str], ...]]
    """For an insert its texts for so many rows at once, the most first, where the engine lives in
    our process: it lets go of the interpreter once per statement, and the next to take it keeps
    it for some milliseconds."""


_SIZES: Final = (64, 32, 16, 8, 4, 2)
"""Rows of one statement: few texts, so that all of them stay prepared."""
_POSITIONAL: Final = {"sqlite": "qmark", "postgresql": "format"}


def statements(dialect: Dialect) -> Statements:
    """Return the statements for `dialect`."""
    kind: Callable[..., Dialect] = type(dialect)
    return _compiled(kind, paramstyle=_POSITIONAL[dialect.name])


@cache  # a program opens many a store, and they take longer to make than one takes to open
def _compiled(kind: Callable[..., Dialect], paramstyle: str) -> Statements:
    dialect = kind(paramstyle=paramstyle)

    def text(statement: ClauseElement) -> str:
        return str(statement.compile(dialect=dialect))

    inserts = {
        table: text(insert_into(table, dialect))
        for table in (delivery, event, observation, collection)
    }
    changed = text(_replace(collection, dialect))
    counted = text(_add(rollup, ("count", "amount", "fee"), dialect))
    counted_delivery = text(_add(delivery_rollup, ("count",), dialect))
    return Statements(
        listed=list if dialect.name == "postgresql" else _json_list,
        lock_head=text(select(feed_head.c.seq).with_for_update()),
        move_head=text(update(feed_head).values(seq=bindparam("to"))),
        known_events=text(_known_events(dialect)),
        known_observations=text(_known_observations(dialect)),
        known_collections=text(select(*SELECTED).where(_among(collection.c.id, dialect))),
        delivery=inserts[delivery],
        event=inserts[event],
        event_arrivals=text(_change_event(arrivals=event.c.arrivals + bindparam("more"))),
        event_checked=text(_change_event(checked_at=bindparam("now"))),
        observation=inserts[observation],
        new_collection=inserts[collection],
        changed_collection=changed,
        rollup=counted,
        delivery_rollup=counted_delivery,
        copies={insert: _copy(table) for table, insert in inserts.items()}
        if dialect.name == "postgresql"
        else {},
        together={
            insert: _together(insert)
            for insert in (*inserts.values(), changed, counted, counted_delivery)
        }
        if dialect.name == "sqlite"
        else {},
    )


def _known_events(dialect: Dialect) -> ClauseElement:
    asked = ("id", "mode", "digest", "collection_id", "arrivals")
    return select(*(event.c[name] for name in asked)).where(_among(event.c.id, dialect))


def _known_observations(dialect: Dialect) -> ClauseElement:
    asked = observation.c
    return (
        select(asked.collection_id, asked.seq, asked.digest, asked.payload)
        .where(_among(asked.collection_id, dialect))
        .order_by(asked.seq)
    )


def _change_event(**values: ColumnElement[Any]) -> ClauseElement:
    is_it = (event.c.id == bindparam("of"), event.c.mode == bindparam("in"))
    return update(event).values(**values).where(*is_it).inline()


def _among(column: Column[str], dialect: Dialect) -> ColumnElement[bool]:
    # One statement text for any number of ids, so that each engine prepares it once.
    if dialect.name == "postgresql":
        return column == any_(bindparam("ids", type_=ARRAY(Text)))
    return column.in_(select(func.json_each(bindparam("ids")).table_valued("value").c.value))


def _json_list(ids: Iterable[str]) -> str:
    return msgspec.json.encode(list(ids)).decode()


def _copy(table: Table) -> str:
    return f"COPY {table.name} ({', '.join(column.name for column in table.c)}) FROM STDIN"


def _together(insert: str) -> tuple[tuple[int, str], ...]:
    """Return `insert` for each of SIZES rows, and the size."""
    before, values, row_and_after = insert.partition(" VALUES ")
    row, closing, after = row_and_after.partition(")")
    one = row + closing
    return tuple((size, f"{before}{values}{', '.join([one] * size)}{after}") for size in _SIZES)


def _replace(table: Table, dialect: Dialect) -> Any:
    insert = insert_into(table, dialect)
    values = {c.name: insert.excluded[c.name] for c in table.c if not c.primary_key}
    return insert.on_conflict_do_update(index_elements=_key(table), set_=values)


def _add(table: Table, sums: Sequence[str], dialect: Dialect) -> Any:
    insert = insert_into(table, dialect)
    values = {name: table.c[name] + insert.excluded[name] for name in sums}
    return insert.on_conflict_do_update(index_elements=_key(table), set_=values)


def _key(table: Table) -> list[Column[Any]]:
    return list(table.primary_key.columns)
