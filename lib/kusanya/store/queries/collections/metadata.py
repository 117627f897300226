"""Collections by the entries of their metadata.

Metadata is no column of a collection: its entries are kept in an index of their own. What
`indexing` has not reached yet is looked through one by one.
"""

from collections.abc import Iterator, Mapping
from typing import Any, Final

import msgspec
from sqlalchemy import (
    ColumnElement,
    Connection,
    FromClause,
    and_,
    bindparam,
    exists,
    literal_column,
    or_,
    select,
)

from kusanya.domain.collection_columns import NAME_MAX
from kusanya.store.queries.collections.parts_of_text import BY_ID, TextPartSearch
from kusanya.store.records import CollectionRow, MetadataTerm
from kusanya.store.tables.payload import unpack
from kusanya.store.tables.schema import collection, feed_head, metadata_entry, observation
from kusanya.store.tables.values import clean
from kusanya.store.writer.projection import to_row
from kusanya.wire import Mode

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
TEXTS_REACHED: Final = select(feed_head.c.texts_searched)
"""Up to which place descriptions and metadata are indexed."""
# All modes: with a condition on it a planner would begin with every fact of the mode.
_FRESH: Final = (
    select(observation.c.collection_id, observation.c.mode, observation.c.payload)
    .where(observation.c.seq > bindparam("reached"))
    .order_by(observation.c.seq.desc())
)


class MetadataSearch(TextPartSearch):
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
    reached = connection.execute(TEXTS_REACHED).scalar_one()
    for id_, of, payload in connection.execute(_FRESH, {"reached": reached}):
        if of == mode.value and may_name(payload, b"metadata"):
            fact = unpack(payload)
            if fact.counts_in(mode):
                yield id_, entries_of(fact.collection.metadata)


def may_name(payload: bytes, field: bytes) -> bool:
    """Return whether a fact may say a field: where not, it need not be read."""
    # Bytes as they came: a field's name stands in them, or is written with escapes.
    return field in payload or rb"\u" in payload
