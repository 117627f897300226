"""Metadata by its values, and the index of it and of descriptions.

Metadata is no column of a collection: its entries are kept in an index of their own, and so are the
pieces of descriptions. The journal keeps both when it has nothing better to do; what it has not
reached yet is looked through one by one.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import msgspec
from sqlalchemy import (
    ARRAY,
    BigInteger,
    ColumnElement,
    Connection,
    FromClause,
    Row,
    Text,
    and_,
    bindparam,
    exists,
    func,
    literal,
    literal_column,
    or_,
    select,
    update,
)

from kusanya.collection_columns import NAME_MAX
from kusanya.store.queries.collections.references import (
    BY_ID,
    DESCRIPTIONS,
    PIECE,
    STEP,
    PieceSearch,
    add_pieces,
    index_references,
)
from kusanya.store.records import CollectionRow, MetadataTerm
from kusanya.store.tables.inserting import insert_into
from kusanya.store.tables.payload import unpack
from kusanya.store.tables.schema import collection, feed_head, metadata_entry, observation
from kusanya.store.tables.values import clean, to_us
from kusanya.store.writer.batch import Transaction
from kusanya.store.writer.projection import to_row
from kusanya.wire import Mode

_INDEXED: Final = 1_000
"""Characters of a description that are indexed."""
_LOOKED_AT: Final = 1_000
"""Entries of one value that are looked at for the newest of them."""
# Made once: building a statement costs more than running it does.
_BY_VALUE: Final = (
    select(metadata_entry.c.collection_id)
    .where(
        metadata_entry.c.mode == bindparam("of_mode"), metadata_entry.c.value == bindparam("value")
    )
    # As its key is ordered: of one name the newest.
    .order_by(
        metadata_entry.c.name.desc(),
        metadata_entry.c.created_at.desc(),
        metadata_entry.c.collection_id.desc(),
    )
    .limit(literal_column(str(_LOOKED_AT)))
)
_REACHED: Final = select(feed_head.c.texts_searched)
# All modes: with a condition on it a planner would begin with every fact of the mode.
_FRESH: Final = (
    select(observation.c.collection_id, observation.c.mode, observation.c.payload)
    .where(observation.c.seq > bindparam("reached"))
    .order_by(observation.c.seq.desc())
)


class TextSearch(PieceSearch):
    """Finding collections by their metadata, beside their references and descriptions."""

    def by_metadata(self, mode: Mode, value: str, *, limit: int = 50) -> tuple[CollectionRow, ...]:
        """Return the collections with this whole value in their metadata, under any name.

        In any case, newest first among the newest thousand; where it stands under several names,
        among the newest of the last of these.
        """
        wanted = folded(value)
        with self._reading("search metadata") as connection:
            found = connection.execute(_BY_VALUE, {"of_mode": mode.value, "value": wanted})
            ids = set(found.scalars())
            ids |= {
                id_
                for id_, entries in _fresh(connection, mode)
                if any(said == wanted for _, said in entries)
            }
            if not ids:
                return ()
            rows = connection.execute(BY_ID, {"of_mode": mode.value, "ids": sorted(ids)})
            newest = sorted(map(to_row, rows), key=lambda row: row.key, reverse=True)
        return tuple(newest[:limit])

    def _fresh_ids(self, mode: Mode, term: MetadataTerm) -> list[str]:
        """Return collections with an entry of `term` that the index has not reached yet."""
        wanted = {(folded(name), folded(value)) for name, value in term.entries}
        with self._reading("search metadata") as connection:
            fresh = _fresh(connection, mode)
            return [id_ for id_, entries in fresh if not wanted.isdisjoint(entries)]


def has_entry(mode: Mode, term: MetadataTerm) -> ColumnElement[bool]:
    """Return the condition that a collection has one of the entries of `term` in the index."""
    entry = metadata_entry.alias("entry").c
    named = (
        and_(entry.value == folded(value), entry.name == folded(name))
        for name, value in term.entries
    )
    return exists().where(
        entry.mode == mode.value,
        entry.created_at == collection.c.created_at,
        entry.collection_id == collection.c.id,
        or_(*named),
    )


def with_entry(mode: Mode, name: str, value: str) -> tuple[FromClause, ColumnElement[bool]]:
    """Return the collections beside their entry of one name and value, and the condition for it.

    `metadata_entry.c.created_at` and `collection_id` then list them in the order of creation.
    """
    entry, it = metadata_entry.c, collection.c
    beside = metadata_entry.join(
        collection,
        and_(
            it.id == entry.collection_id,
            it.mode == entry.mode,
            # Not "equals": PostgreSQL takes that for rare, expects no second row and would rather
            # join and sort the whole history than walk it in its order until the page is full.
            it.created_at.between(entry.created_at, entry.created_at),
        ),
    )
    held = and_(entry.mode == mode.value, entry.value == folded(value), entry.name == folded(name))
    return beside, held


def folded(text: str) -> str:
    """Return a name or a value of metadata as it is compared: in one case, of bounded length."""
    return clean(text.strip().casefold(), NAME_MAX)


def entries_of(metadata: Mapping[str, Any] | None) -> frozenset[tuple[str, str]]:
    """Return name and value of each entry; numbers and the like as JSON writes them."""
    return frozenset(
        (
            folded(name),
            folded(value if isinstance(value, str) else msgspec.json.encode(value).decode()),
        )
        for name, value in (metadata or {}).items()
    )


def _fresh(connection: Connection, mode: Mode) -> Iterator[tuple[str, frozenset[tuple[str, str]]]]:
    """Yield what the index has not reached: ids of collections, each with entries of one fact."""
    reached = connection.execute(_REACHED).scalar_one()
    for id_, of, payload in connection.execute(_FRESH, {"reached": reached}):
        if of == mode.value and _may_name(payload, b"metadata"):
            fact = unpack(payload)
            if fact.counts_in(mode):
                yield id_, entries_of(fact.collection.metadata)


def _may_name(payload: bytes, field: bytes) -> bool:
    # Bytes as they came: a field's name stands in them, or is written with escapes.
    return field in payload or rb"\u" in payload


def index_all(writing: Transaction, *, step: int = STEP) -> bool:
    """Index references and texts of the next places; tell whether more are left."""
    references, texts = index_references(writing, step=step), index_texts(writing, step=step)
    return references or texts


def index_texts(writing: Transaction, *, step: int = STEP) -> bool:
    """Index the texts of the next places of the journal; tell whether more are left."""
    connection = writing.connection
    reached: int = connection.execute(_REACHED).scalar_one()
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
        if not _may_name(row.payload, b"metadata"):
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
    if not _may_name(row.payload, b"description"):
        return False
    observed = observation.c
    query = select(observed.payload).where(
        observed.collection_id == row.id, observed.mode == row.mode, observed.seq < row.seq
    )
    return not any(
        _may_name(payload, b"description") and unpack(payload).collection.description is not None
        for payload in connection.execute(query).scalars()
    )
