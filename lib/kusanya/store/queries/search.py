"""References by any part of them.

An index of three-letter pieces leads to few candidates, and each is then looked at. The journal
keeps it when it has nothing better to do, so that arrivals do not pay for it; what it has not
reached yet is looked through one by one.
"""

from collections.abc import Generator, Sequence
from contextlib import closing
from typing import Any, Final

from sqlalchemy import (
    Connection,
    Select,
    and_,
    column,
    exists,
    or_,
    select,
    table,
    text,
    update,
)

from kusanya.store.queries.base import StorePart
from kusanya.store.queries.planner_hints import unindexed
from kusanya.store.records import CollectionRow
from kusanya.store.tables.schema import collection, feed_head, observation
from kusanya.store.tables.values import NAME_MAX, clean
from kusanya.store.writer.batch import Writing
from kusanya.store.writer.projection import COLUMNS, to_row
from kusanya.wire import Mode

PIECE: Final = 3
"""Characters of an indexed piece, and the fewest of a fragment."""
STEP: Final = 100
"""Places of the journal that are indexed in one transaction: some milliseconds."""
_PIECES_ASKED: Final = 12
"""More pieces of a long fragment exclude nothing that looking at the candidates would not."""
_PIECES_ALL: Final = 6
"""So few pieces are all asked for."""
_LOOKED_AT: Final = 20_000
"""Candidates that are looked at before giving up: a bound on the time of one question."""

_AT_A_TIME: Final = 200
_search: Final = table("reference_search", column("rowid"), column("seq"))


class ReferenceSearch(StorePart):
    """Finding collections by a part of their reference."""

    def containing(
        self, mode: Mode, fragment: str, *, limit: int = 50
    ) -> tuple[CollectionRow, ...]:
        """Return collections whose reference contains `fragment` in any case.

        Those heard of last come first. Raises ValueError for fewer than 3 characters.
        """
        wanted = clean(fragment, NAME_MAX).casefold()
        if len(wanted) < PIECE:
            raise ValueError(f"a part of a reference has at least {PIECE} characters")
        found: dict[str, CollectionRow] = {}
        with (
            self._reading("search references") as connection,
            closing(_places(connection, wanted)) as places,
        ):
            for seqs in places:
                ids = _matching(connection, mode, wanted, seqs)
                rows = {row[0]: row for row in connection.execute(_whole(mode, ids))} if ids else {}
                for id_ in ids:
                    found.setdefault(id_, to_row(rows[id_]))
                if len(found) >= limit:
                    break
        return tuple(found.values())[:limit]


def _matching(connection: Connection, mode: Mode, wanted: str, seqs: Sequence[int]) -> list[str]:
    """Return the ids of the collections behind `seqs` that hold the fragment, last first."""
    it = collection.c
    query = (
        # The mode is looked at afterwards: with a condition on it, a planner without statistics
        # goes through every collection of the mode and asks of each whether a place is its.
        select(it.id, it.mode, it.reference)
        .join(
            observation,
            and_(it.id == observation.c.collection_id, it.mode == observation.c.mode),
        )
        .where(observation.c.seq.in_(seqs))
        .order_by(observation.c.seq.desc())
    )
    found = connection.execute(query)
    return [id_ for id_, of, said in found if of == mode.value and wanted in said.casefold()]


def _whole(mode: Mode, ids: Sequence[str]) -> Select[Any]:
    return select(*COLUMNS).where(collection.c.id.in_(ids), collection.c.mode == mode.value)


def _places(connection: Connection, wanted: str) -> Generator[Sequence[int], None, None]:
    """Yield where facts stand that may lead to the fragment, last first."""
    # Places first and rows after: a planner that sees both would rather read all facts in order.
    reached: int = connection.execute(select(feed_head.c.searched)).scalar_one()
    it = observation.c.seq
    fresh = select(it).where(it > reached).order_by(it.desc())
    pieces = _asked(wanted)
    if connection.dialect.name == "postgresql":
        place = _search.c.seq
        matches = text("reference_search.grams @> CAST(:pieces AS text[])")
        asked: Any = pieces
    else:
        place = _search.c.rowid
        matches = text("reference_search MATCH :pieces")
        asked = " AND ".join('"{}"'.format(piece.replace('"', '""')) for piece in pieces)
    indexed = select(place).where(matches).params(pieces=asked)
    if connection.dialect.name == "postgresql":
        # In order as SQLite's index gives them PostgreSQL would look at every place there is: it
        # thinks each fragment common. What is common shows among the last places.
        near = reached - _LOOKED_AT
        last = indexed.where(place > near).order_by(place.desc())
        others = indexed.where(place <= near).order_by(unindexed(place).desc())
        queries = [fresh, last, others]
    else:
        queries = [fresh, indexed.order_by(place.desc())]
    for query in queries:
        bounded = query.limit(_LOOKED_AT).execution_options(yield_per=_AT_A_TIME)
        with connection.execute(bounded) as found:
            yield from (part for part in found.scalars().partitions())


def _pieces(reference: str) -> dict[str, None]:
    """Return the different pieces in their order."""
    return dict.fromkeys(
        reference[start : start + PIECE] for start in range(len(reference) - PIECE + 1)
    )


def _asked(fragment: str) -> list[str]:
    """Return the pieces to ask the index for; those of a long fragment lie side by side.

    Each further piece costs its whole list and excludes less than the one before.
    """
    last = len(fragment) - PIECE
    starts = [*range(0, last, 1 if last < _PIECES_ALL else PIECE), last]
    if len(starts) > _PIECES_ASKED:
        # References begin alike and end in numbers.
        starts = starts[: _PIECES_ASKED // 3] + starts[-2 * _PIECES_ASKED // 3 :]
    return list(dict.fromkeys(fragment[start : start + PIECE] for start in starts))


def index_references(writing: Writing) -> bool:
    """Index the next STEP places of the journal; tell whether more are left."""
    connection = writing.connection
    reached: int = connection.execute(select(feed_head.c.searched)).scalar_one()
    upto = min(reached + STEP, writing.head)
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
    if connection.dialect.name == "postgresql":
        insert = text("INSERT INTO reference_search (seq, grams) VALUES (:seq, :said)")
        values = [{"seq": seq, "said": list(_pieces(said))} for seq, said in rows]
    else:
        insert = text("INSERT INTO reference_search (rowid, reference) VALUES (:seq, :said)")
        values = [{"seq": seq, "said": said} for seq, said in rows]
    if values:
        connection.execute(insert, values)
    connection.execute(update(feed_head).values(searched=upto))
    return upto < writing.head
