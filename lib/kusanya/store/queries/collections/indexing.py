"""The indexes of references, descriptions and metadata, brought up to the head of the journal.

The journal does this when it has nothing better to do, so that arrivals do not pay for it.
"""

from collections.abc import Sequence
from typing import Any, Final

from sqlalchemy import (
    ARRAY,
    BigInteger,
    Connection,
    Row,
    Text,
    and_,
    exists,
    func,
    literal,
    or_,
    select,
    update,
)

from kusanya.store.queries.collections.metadata import TEXTS_REACHED, entries_of, may_name
from kusanya.store.queries.collections.parts_of_text import (
    DESCRIPTIONS,
    PIECE,
    REFERENCES,
    add_pieces,
)
from kusanya.store.tables.inserting import insert_into
from kusanya.store.tables.payload import unpack
from kusanya.store.tables.schema import collection, feed_head, metadata_entry, observation
from kusanya.store.tables.values import to_us
from kusanya.store.writer.batch import Transaction
from kusanya.wire import Mode

STEP: Final = 400
"""Places of the journal that are indexed in one transaction: about ten milliseconds."""
_INDEXED: Final = 1_000
"""Characters of a description that are indexed."""


def index_all(writing: Transaction, *, step: int = STEP) -> bool:
    """Index references and texts of the next places; tell whether more are left."""
    references, texts = index_references(writing, step=step), index_texts(writing, step=step)
    return references or texts


def index_references(writing: Transaction, *, step: int = STEP) -> bool:
    """Index the next `step` places of the journal; tell whether more are left."""
    connection = writing.connection
    reached: int = connection.execute(select(feed_head.c.searched)).scalar_one()
    upto = min(reached + step, writing.head)
    if upto == reached:
        return False
    earlier = observation.alias("earlier")
    it = observation.c
    query = (
        select(it.seq, collection.c.reference)
        .join(collection, and_(collection.c.id == it.collection_id, collection.c.mode == it.mode))
        .where(
            it.seq > reached,
            it.seq <= upto,
            # Once per collection; again where facts differ, since another reference may show then.
            or_(
                collection.c.contradictions > 0,
                ~exists().where(
                    earlier.c.collection_id == it.collection_id,
                    earlier.c.mode == it.mode,
                    earlier.c.seq < it.seq,
                ),
            ),
        )
    )
    rows = [(seq, said.casefold()) for seq, said in connection.execute(query)]
    add_pieces(connection, REFERENCES, rows)
    connection.execute(update(feed_head).values(searched=upto))
    return upto < writing.head


def index_texts(writing: Transaction, *, step: int = STEP) -> bool:
    """Index the texts of the next places of the journal; tell whether more are left."""
    connection = writing.connection
    reached: int = connection.execute(TEXTS_REACHED).scalar_one()
    upto = min(reached + step, writing.head)
    if upto == reached:
        return False
    earlier, observed, it = observation.alias("earlier"), observation.c, collection.c
    query = (
        select(
            observed.seq,
            observed.mode,
            observed.payload,
            it.id,
            it.description,
            it.created_at,
            it.contradictions,
            exists()
            .where(
                earlier.c.collection_id == observed.collection_id,
                earlier.c.mode == observed.mode,
                earlier.c.seq < observed.seq,
            )
            .label("known_before"),
        )
        .join(collection, and_(it.id == observed.collection_id, it.mode == observed.mode))
        .where(observed.seq > reached, observed.seq <= upto)
        .order_by(observed.seq)
    )
    rows = connection.execute(query).all()
    _add_entries(connection, rows)
    _add_descriptions(connection, rows)
    connection.execute(update(feed_head).values(texts_searched=upto))
    return upto < writing.head


def _add_entries(connection: Connection, rows: Sequence[Row[Any]]) -> None:
    values: dict[tuple[Any, ...], None] = {}
    for row in rows:
        if not may_name(row.payload, b"metadata"):
            continue
        fact = unpack(row.payload)
        if not fact.counts_in(Mode(row.mode)):
            continue
        # Where facts differ about the creation, the list stands in the order of the shown one.
        instants = {to_us(fact.collection.created_at), row.created_at}
        for name, value in entries_of(fact.collection.metadata):
            for at in instants:
                key = (row.mode, value, name, at, row.id)
                values[key] = None
    if not values:
        return
    columns = metadata_entry.c
    insert = insert_into(metadata_entry, connection.dialect).on_conflict_do_nothing()
    if connection.dialect.name == "postgresql":
        # One statement for all: row by row they take three times as long.
        lists = [
            literal(list(cells), ARRAY(BigInteger if isinstance(cells[0], int) else Text))
            for cells in zip(*values, strict=True)
        ]
        together = func.unnest(*lists).table_valued(*columns.keys()).render_derived()
        connection.execute(insert.from_select(columns.keys(), select(together)))
        return
    connection.execute(insert, [dict(zip(columns.keys(), key, strict=True)) for key in values])


def _add_descriptions(connection: Connection, rows: Sequence[Row[Any]]) -> None:
    described = [row for row in rows if row.description is not None]
    # Once per collection: with its first fact, or with the first that brings a description.
    new = [
        (row.seq, row.description[:_INDEXED].casefold())
        for row in described
        if row.contradictions or not row.known_before or _is_first_described(connection, row)
    ]
    add_pieces(connection, DESCRIPTIONS, [(seq, said) for seq, said in new if len(said) >= PIECE])


def _is_first_described(connection: Connection, row: Row[Any]) -> bool:
    if not may_name(row.payload, b"description"):
        return False
    observed = observation.c
    query = select(observed.payload).where(
        observed.collection_id == row.id, observed.mode == row.mode, observed.seq < row.seq
    )
    return not any(
        may_name(payload, b"description") and unpack(payload).collection.description is not None
        for payload in connection.execute(query).scalars()
    )
