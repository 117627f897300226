"""The projection computed anew from the facts: beside what is kept, and in its place.

A slice of ids at a time, so that memory does not grow with the history.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final

import msgspec
from sqlalchemy import ColumnElement, Connection, and_, delete, exists, select

from kusanya.errors import StoreUnavailable, WireError
from kusanya.state.observation import Observation
from kusanya.store.records import RebuildResult, StoreFinding
from kusanya.store.tables.payload import pack, unpack
from kusanya.store.tables.schema import collection, observation, rollup
from kusanya.store.tables.values import HOUR_US
from kusanya.store.writer.batch import Transaction
from kusanya.store.writer.projection import SELECTED, ProjectedRow, project_facts
from kusanya.wire import Mode

_SLICE: Final = 2_000
"""Ids that are folded at a time."""
Sums = defaultdict[tuple[Any, ...], list[int]]
"""Count, amount and fee by bucket."""
Pair = tuple[ProjectedRow | None, ProjectedRow | None]
"""What a row should be beside what it is; None where there should be none, or is none."""


def empty_sums() -> Sums:
    """Return sums of nothing."""
    return defaultdict(lambda: [0, 0, 0])


def add_to(sums: Sums, row: ProjectedRow, sign: int = 1) -> None:
    """Add what a row counts to its bucket, or take it away."""
    total = sums[row.bucket]
    for index, number in enumerate(row.counted):
        total[index] += sign * number


def kept_sums(
    connection: Connection, *where: ColumnElement[bool]
) -> dict[tuple[Any, ...], list[int]]:
    """Return the rollups that count anything."""
    rows = connection.execute(select(rollup).where(*where))
    return {tuple(row[:6]): list(row[6:]) for row in rows if any(row[6:])}


def rows_summed(
    connection: Connection, begin: int, older: Iterable[int]
) -> dict[tuple[Any, ...], list[int]]:
    """Return what the collections add up to that were created from `begin` on or in older hours."""
    sums, it = empty_sums(), collection.c
    created = [it.created_at >= begin]
    created += [and_(it.created_at >= hour, it.created_at < hour + HOUR_US) for hour in older]
    for within in created:
        # By mode, as the index has them.
        query = select(*SELECTED).where(it.mode.in_([mode.value for mode in Mode]), within)
        for row in connection.execute(query):
            add_to(sums, ProjectedRow._make(row))
    return dict(sums)


def orphans(connection: Connection) -> Sequence[str]:
    """Return the ids of rows of which there is no observation at all."""
    facts = exists().where(observation.c.collection_id == collection.c.id)
    return connection.execute(select(collection.c.id).where(~facts).distinct()).scalars().all()


def projections(connection: Connection) -> Iterator[Pair | StoreFinding]:
    """Yield every row as it should be and as it is, and a StoreFinding for each damaged fact."""
    last = ""
    while True:
        ids = (
            select(observation.c.collection_id)
            .where(observation.c.collection_id > last)
            .group_by(observation.c.collection_id)
            .order_by(observation.c.collection_id)
            .limit(_SLICE)
        )
        wanted = connection.execute(ids).scalars().all()
        if not wanted:
            return
        first, last = wanted[0], wanted[-1]
        it, of = collection.c.id, observation.c.collection_id
        # No BETWEEN: PostgreSQL does not read a collation inside one.
        of_facts, of_rows = and_(of >= first, of <= last), and_(it >= first, it <= last)
        yield from _folded(connection, of_facts, of_rows)


def projections_of(connection: Connection, ids: Sequence[str]) -> Iterator[Pair | StoreFinding]:
    """Yield the rows of these ids as `projections` does."""
    for start in range(0, len(ids), _SLICE // 4):
        some = ids[start : start + _SLICE // 4]
        yield from _folded(
            connection, observation.c.collection_id.in_(some), collection.c.id.in_(some)
        )


def _folded(
    connection: Connection, of_facts: ColumnElement[bool], of_rows: ColumnElement[bool]
) -> Iterator[Pair | StoreFinding]:
    rows = connection.execute(select(*SELECTED).where(of_rows))
    kept = {(row.id, row.mode): row for row in map(ProjectedRow._make, rows)}
    it = observation.c
    rows = connection.execute(
        select(it.collection_id, it.seq, it.digest, it.payload)
        .where(of_facts)
        .order_by(it.collection_id, it.seq)
    )
    facts: defaultdict[str, list[Observation]] = defaultdict(list)
    places: dict[str, int] = {}
    for collection_id, seq, digest, payload in rows:
        read = _read(collection_id, digest, payload)
        if isinstance(read, StoreFinding):
            yield read
            continue
        facts[collection_id].append(read)
        places[collection_id] = seq
    for collection_id, said in facts.items():
        for mode in Mode:
            row = project_facts(said, mode, places[collection_id])
            known = kept.get((collection_id, mode.value))
            if row is not None or known is not None:
                yield row, known


def _read(collection_id: str, digest: bytes, payload: bytes) -> Observation | StoreFinding:
    try:
        fact = unpack(payload)
        if pack(fact)[0] == bytes(digest):
            return fact
    except (WireError, msgspec.MsgspecError, ValueError):
        pass
    return StoreFinding(
        kind="fact",
        subject=collection_id,
        sentence="an observation is not the one that was written; restore a backup",
    )


def rebuild(writing: Transaction) -> RebuildResult:
    """Compute all rows and rollups again; return how many changed.

    Raises StoreUnavailable for a damaged fact: from what is left nothing follows.
    """
    connection = writing.connection
    sums = empty_sums()
    changed = _replaced(writing, projections(connection), sums)
    lost = orphans(connection)
    if lost:
        connection.execute(delete(collection).where(collection.c.id.in_(lost)))
    before = kept_sums(connection)
    differing = [key for key in before.keys() | sums.keys() if before.get(key) != sums.get(key)]
    if differing:
        connection.execute(delete(rollup))
        _write_sums(writing, sums)
    return RebuildResult(collections=changed + len(lost), rollups=len(differing))


def _replaced(writing: Transaction, pairs: Iterable[Pair | StoreFinding], sums: Sums) -> int:
    """Write the rows that differ, add all rows to `sums` and return how many differed."""
    changed: list[ProjectedRow] = []
    gone: list[ProjectedRow] = []
    for pair in pairs:
        if isinstance(pair, StoreFinding):
            raise StoreUnavailable(f"{pair.subject}: {pair.sentence}")
        row, known = pair
        if row is not None:
            add_to(sums, row)
            if row != known:
                changed.append(row)
        elif known is not None:
            gone.append(known)
    it = collection.c
    for row in gone:
        writing.connection.execute(delete(collection).where(it.id == row.id, it.mode == row.mode))
    writing.many(writing.statements.changed_collection, changed)
    return len(changed) + len(gone)


def _write_sums(writing: Transaction, sums: Sums) -> None:
    rows = [(*bucket, *total) for bucket, total in sorted(sums.items()) if any(total)]
    writing.many(writing.statements.rollup, rows)


def refold(writing: Transaction, ids: Iterable[str]) -> int:
    """Fold the rows of these ids anew, with their rollups; return how many changed.

    Raises StoreUnavailable for a damaged fact.
    """
    connection, changed, wanted = writing.connection, 0, sorted(ids)
    for start in range(0, len(wanted), _SLICE // 4):
        some = wanted[start : start + _SLICE // 4]
        of_rows, of_facts = collection.c.id.in_(some), observation.c.collection_id.in_(some)
        sums = empty_sums()
        for row in connection.execute(select(*SELECTED).where(of_rows)):
            add_to(sums, ProjectedRow._make(row), -1)
        changed += _replaced(writing, _folded(connection, of_facts, of_rows), sums)
        _write_sums(writing, sums)
    return changed
