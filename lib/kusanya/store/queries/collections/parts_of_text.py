"""Collections by any part of their reference or description.

An index of three-letter pieces leads to few candidates, and each is then looked at; what
`indexing` has not reached yet is looked through one by one.
"""

from collections.abc import Generator, Sequence
from contextlib import closing
from typing import Any, Final

import msgspec
from sqlalchemy import (
    Column,
    Connection,
    Select,
    and_,
    bindparam,
    column,
    func,
    select,
    table,
    text,
)

from kusanya.domain.collection_columns import NAME_MAX
from kusanya.store.queries.base import StorePart
from kusanya.store.queries.planner_hints import unindexed
from kusanya.store.records import CollectionRow
from kusanya.store.tables.schema import collection, feed_head, observation
from kusanya.store.tables.sessions import are_masked
from kusanya.store.tables.values import clean
from kusanya.store.writer.projection import SHOWN, to_row
from kusanya.wire import Mode

PIECE: Final = 3
"""Characters of an indexed piece, and the fewest of a fragment."""
_PIECES_ASKED: Final = 12
"""More pieces of a long fragment exclude nothing that looking at the candidates would not."""
_PIECES_ALL: Final = 6
"""So few pieces are all asked for."""
_DIGIT_PIECES: Final = 3
"""So many pieces with a digit may tell a text from most others."""
_FEW: Final = 5_000
"""So few candidates are all looked at, whatever else was asked for: 40 ms for so many."""
_LOOKED_AT: Final = 20_000
"""Candidates that are looked at before giving up: a bound on the time of one question."""

_AT_A_TIME: Final = 200
# Made once: building a statement costs more than running it does.
BY_ID: Final = select(*SHOWN).where(
    collection.c.id.in_(bindparam("ids", expanding=True)),
    collection.c.mode == bindparam("of_mode"),
)
"""The collections with `ids` of a mode, `of_mode`."""


class PieceIndex(msgspec.Struct, frozen=True):
    """An index of three-letter pieces: its table, what it indexes, and how far it has come."""

    name: str
    said: Column[Any]
    reached: Column[int]


REFERENCES: Final = PieceIndex("reference_search", collection.c.reference, feed_head.c.searched)
DESCRIPTIONS: Final = PieceIndex(
    "description_search", collection.c.description, feed_head.c.texts_searched
)


class TextPartSearch(StorePart):
    """Finding collections by a part of their reference or description."""

    def containing(
        self, mode: Mode, fragment: str, *, limit: int = 50
    ) -> tuple[CollectionRow, ...]:
        """Return collections whose reference contains `fragment` in any case.

        Those with the newest fact come first. Raises ValueError for fewer than 3 characters.
        """
        return self._containing(REFERENCES, mode, fragment, limit)

    def described(self, mode: Mode, fragment: str, *, limit: int = 50) -> tuple[CollectionRow, ...]:
        """Return collections whose description contains `fragment` in any case.

        Those with the newest fact come first. Raises ValueError for fewer than 3 characters.
        """
        return self._containing(DESCRIPTIONS, mode, fragment, limit)

    def _containing(
        self, index: PieceIndex, mode: Mode, fragment: str, limit: int
    ) -> tuple[CollectionRow, ...]:
        wanted = clean(fragment, NAME_MAX).casefold()
        if len(wanted) < PIECE:
            raise ValueError(f"a part of a {index.said.name} has at least {PIECE} characters")
        with self._reading(f"search {index.said.name}s") as connection:
            if are_masked(connection):
                return _masked_containing(connection, index, mode, wanted, limit)
            found: dict[str, CollectionRow] = {}
            with closing(_places(connection, index, wanted)) as places:
                for seqs in places:
                    ids = _matching(connection, index, mode, wanted, seqs)
                    asked = {"ids": ids, "of_mode": mode.value}
                    rows = {row[0]: row for row in connection.execute(BY_ID, asked)} if ids else {}
                    for id_ in ids:
                        found.setdefault(id_, to_row(rows[id_]))
                    if len(found) >= limit:
                        break
            return tuple(found.values())[:limit]


def _masked_containing(
    connection: Connection, index: PieceIndex, mode: Mode, wanted: str, limit: int
) -> tuple[CollectionRow, ...]:
    """Look through all texts as they are shown: pieces of what is hidden would tell it."""
    it, said = collection.c, func.lower(index.said)
    query = select(*SHOWN).where(it.mode == mode.value, said.contains(wanted, autoescape=True))
    rows = connection.execute(query.order_by(it.seq.desc()).limit(limit))
    return tuple(map(to_row, rows))


def _matching(
    connection: Connection, index: PieceIndex, mode: Mode, wanted: str, seqs: Sequence[int]
) -> list[str]:
    """Return the ids of the collections behind `seqs` that hold the fragment, last first."""
    it = collection.c
    query = (
        # The mode is looked at afterwards: with a condition on it, a planner without statistics
        # goes through every collection of the mode and asks of each whether a place is its.
        select(it.id, it.mode, index.said)
        .join(
            observation,
            and_(it.id == observation.c.collection_id, it.mode == observation.c.mode),
        )
        .where(observation.c.seq.in_(seqs), index.said.is_not(None))
        .order_by(observation.c.seq.desc())
    )
    found = connection.execute(query)
    return [id_ for id_, of, said in found if of == mode.value and wanted in said.casefold()]


def _places(
    connection: Connection, index: PieceIndex, wanted: str
) -> Generator[Sequence[int], None, None]:
    """Yield where facts stand that may lead to the fragment, last first."""
    # Places first and rows after: a planner that sees both would rather read all facts in order.
    reached: int = connection.execute(select(index.reached)).scalar_one()
    found_in = table(index.name, column("rowid"), column("seq"))
    it = observation.c.seq
    fresh = select(it).where(it > reached).order_by(it.desc())
    pieces = _asked(wanted)
    few: Sequence[int] | None = None
    if connection.dialect.name == "postgresql":
        place = found_in.c.seq
        matches = text(f"{index.name}.grams @> CAST(:pieces AS text[])")
        indexed = select(place).where(matches).params(pieces=pieces)
    else:
        place = found_in.c.rowid
        matches = text(f"{index.name} MATCH :pieces")
        indexed = select(place).where(matches).params(pieces=_all_of(pieces))
    if connection.dialect.name == "postgresql":
        # In order as SQLite's index gives them PostgreSQL would look at every place there is: it
        # thinks each fragment common. What is common shows among the last places.
        near = reached - _LOOKED_AT
        last = indexed.where(place > near).order_by(place.desc())
        others = indexed.where(place <= near).order_by(unindexed(place).desc())
        queries = [fresh, last, others]
    else:
        indexed = indexed.order_by(place.desc())
        few = _few_places(connection, indexed, wanted)
        queries = [fresh, indexed] if few is None else [fresh]
    for query in queries:
        bounded = query.limit(_LOOKED_AT).execution_options(yield_per=_AT_A_TIME)
        with connection.execute(bounded) as found:
            yield from (part for part in found.scalars().partitions())
    if few is not None:
        yield from (few[at : at + _AT_A_TIME] for at in range(0, len(few), _AT_A_TIME))


def _few_places(connection: Connection, indexed: Select[Any], wanted: str) -> Sequence[int] | None:
    """Return the places of all pieces that hold a digit, or None where these are many.

    The words around a number stand in millions of descriptions, and intersecting their lists takes
    ten times as long as looking at what the number alone leads to.
    """
    pieces = _pieces(wanted)
    with_digits = [piece for piece in pieces if any(letter.isdigit() for letter in piece)]
    if len(with_digits) < _DIGIT_PIECES or len(pieces) - len(with_digits) < _DIGIT_PIECES:
        return None
    narrow = indexed.params(pieces=_all_of(with_digits[:_PIECES_ASKED])).limit(_FEW + 1)
    places = connection.execute(narrow).scalars().all()
    return places if len(places) <= _FEW else None


def _all_of(pieces: Sequence[str]) -> str:
    """Return what asks SQLite's index for texts that hold all of the pieces."""
    return " AND ".join('"{}"'.format(piece.replace('"', '""')) for piece in pieces)


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


def add_pieces(connection: Connection, index: PieceIndex, rows: Sequence[tuple[int, str]]) -> None:
    """Index texts, which are in one case, each under the place of its fact."""
    if not rows:
        return
    if connection.dialect.name == "postgresql":
        raw: Any = connection.connection.cursor()
        with closing(raw), raw.copy(f"COPY {index.name} (seq, grams) FROM STDIN") as out:
            for seq, said in rows:
                out.write_row((seq, list(_pieces(said))))
        return
    column_ = index.said.name
    insert = f"INSERT INTO {index.name} (rowid, {column_}) VALUES (:seq, :said)"  # noqa: S608
    connection.execute(text(insert), [{"seq": seq, "said": said} for seq, said in rows])
