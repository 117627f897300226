"""One moment of the store, read in bulk as of any place of its journal up to then.

A collection that changed after the place is folded again from the facts up to it, so that a closed
month can be run again: later facts do not exist for it.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import datetime
from functools import partial
from typing import Any, Final

import pyarrow as pa
from pyarrow import compute
from sqlalchemy import (
    ColumnElement,
    Connection,
    Select,
    and_,
    exists,
    func,
    or_,
    select,
)

from kusanya.domain.status import PAID
from kusanya.errors import StoreError
from kusanya.store.queries.bulk.fee_sources import (
    facts_of,
    sources_seen,
    with_fees_apart,
)
from kusanya.store.queries.bulk.keys import is_among
from kusanya.store.queries.bulk.pieces import (
    TAKEN,
    collections_arrow,
    collections_table,
    read_pieces,
    read_table,
)
from kusanya.store.queries.planner_hints import unindexed
from kusanya.store.queries.rollups import collection_rollups
from kusanya.store.records import IntentState, RollupRow
from kusanya.store.tables.schema import (
    collection,
    event,
    feed_head,
    intent,
    intent_change,
    observation,
    receipt,
)
from kusanya.store.tables.sessions import are_masked
from kusanya.store.tables.values import from_us, to_us
from kusanya.store.writer.projection import project_facts
from kusanya.wire import Mode

_KEYS: Final = 20_000
"""Keys named in one query."""
_UNKNOWN: Final = (IntentState.UNKNOWN.value, IntentState.SENT.value)
_KEY_COLUMNS: Final = {"id": pa.string(), "reference": pa.string()}
_INTENT_COLUMNS: Final = {
    **_KEY_COLUMNS,
    "amount": pa.int64(),
    "sent_at": pa.timestamp("us", tz="UTC"),
}
Progress = Callable[[str, int], None]
"""Called with what is being read, and how many rows of it are read."""
_RECEIPT_COLUMNS: Final = {"collection_id": pa.string(), "receipt": pa.string()}


class BulkSnapshot:
    """What the store holds at one moment; `as_of` is a place of its journal, `head` the last one.

    Tables are pyarrow's: amounts int64, instants UTC microseconds. Phones in them are whole: mask
    them before anybody sees one.
    """

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self.head: int = connection.execute(select(feed_head.c.seq)).scalar_one()

    def collections(
        self,
        mode: Mode,
        *,
        since: datetime,
        until: datetime,
        as_of: int,
        fees_apart: bool = False,
        progress: Progress | None = None,
    ) -> pa.Table:
        """Return the collections of a span, as of a place.

        They were created from `since` up to, not including, `until`, or before and final since.
        Beside the store's own columns `event_at` says when the final event was made, where the
        service left `completed_at` out. `fees_apart` also reads which fee the 202, the event and
        the GET said: fee_202, fee_event, fee_get, missing otherwise. `progress` is called with
        what is being read and how far. Raises StoreError for a fact of no known source.
        """
        step = progress or (lambda _, __: None)
        pieces = self.pieces(mode, since=since, until=until, as_of=as_of, progress=step)
        found = pa.concat_tables([collections_arrow().empty_table(), *pieces])
        if not fees_apart:
            return found
        seen = self.sources_of_fees(found["id"].combine_chunks(), as_of=as_of, progress=step)
        return self.with_fees_apart(found, seen, mode=mode, as_of=as_of)

    def pieces(
        self,
        mode: Mode,
        *,
        since: datetime,
        until: datetime,
        as_of: int,
        progress: Progress | None = None,
    ) -> Iterator[pa.Table]:
        """Yield the same collections in pieces, without `fees_apart`."""
        query = _collections(mode, _around(since, until))
        reported = None if progress is None else partial(progress, "reading collections")
        yield from self._read([query], mode, as_of, progress=reported)

    def sources_of_fees(
        self, ids: pa.Array, *, as_of: int, progress: Progress | None = None
    ) -> Any:
        """Return for each id which kinds of source said its fee, for `with_fees_apart`.

        Raises StoreError for a fact of no known source, and for a login that facts are hidden from.
        """
        if are_masked(self._connection):
            raise StoreError(
                "this login sees masked views of the store, in which it is hidden who said a fee: "
                "reconcile with a login of the role kusanya_ask"
            )
        reported = None if progress is None else partial(progress, "reading who said a fee")
        return sources_seen(self._connection, ids, as_of=as_of, progress=reported)

    def with_fees_apart(
        self, collections: pa.Table, seen: Any, *, mode: Mode, as_of: int
    ) -> pa.Table:
        """Return collections with the fees that the 202, the event and the GET said.

        `seen` is what `sources_of_fees` says of their ids, in their order.
        """
        return with_fees_apart(self._connection, collections, seen, mode=mode, as_of=as_of)

    def collections_named(
        self,
        mode: Mode,
        *,
        ids: Sequence[str],
        references: Sequence[str],
        since: datetime,
        until: datetime,
        as_of: int,
    ) -> pa.Table:
        """Return the collections that have one of the ids or references, each once.

        They were created before `since` or from `until` on: between the two all are known already.
        """
        it = collection.c
        # Found by their keys: by their days they would be looked for in the whole past.
        at = unindexed(it.created_at)
        is_beyond = or_(at < to_us(since), at >= to_us(until))
        queries = (
            _collections(mode, and_(is_among(self._connection, column, part), is_beyond))
            for column, named in ((it.id, ids), (it.reference, references))
            for part in _parts(named)
        )
        empty = collections_arrow().empty_table()
        found = pa.concat_tables([empty, *self._read(queries, mode, as_of)])
        places = {id_: place for place, id_ in reversed([*enumerate(found["id"].to_pylist())])}
        return found.take(pa.array(sorted(places.values()), pa.int64()))

    def changed_after(self, mode: Mode, place: int, *, created_before: datetime) -> list[str]:
        """Return the ids of older collections of which facts came after a place."""
        it, fact = collection.c, observation.c
        of = and_(it.id == fact.collection_id, it.mode == fact.mode)
        # Found by the facts: by their days they would be looked for in the whole past.
        is_older = unindexed(it.created_at) < to_us(created_before)
        query = (
            select(fact.collection_id)
            .join(collection, of)
            .where(fact.mode == mode.value, fact.seq > place, is_older)
        )
        return sorted(set(self._connection.execute(query).scalars()))

    def keys(self, mode: Mode, *, since: datetime, until: datetime, as_of: int) -> pa.Table:
        """Return id and reference of every collection created from `since` up to `until`."""
        it, fact = collection.c, observation.c
        known = exists().where(fact.collection_id == it.id, fact.mode == it.mode, fact.seq <= as_of)
        query = (
            select(it.id, it.reference)
            .where(it.mode == mode.value, _within(it.created_at, since, until))
            .where(or_(it.seq <= as_of, known))
            .order_by(it.created_at, it.id)
        )
        return read_table(self._connection, query, _KEY_COLUMNS)

    def unanswered_intents(self, mode: Mode, *, as_of: int) -> pa.Table:
        """Return id, reference, amount and sent_at of what was sent and had no known answer."""
        it, change = intent.c, intent_change.c
        plain = select(
            it.id, it.reference, it.amount, it.first_sent_at.label("sent_at"), it.prepared_at
        )
        query = plain.where(it.mode == mode.value, it.seq <= as_of, it.state.in_(_UNKNOWN))
        moved = select(it.seq).where(it.mode == mode.value, it.seq > as_of).limit(1)
        if self._connection.execute(moved).first() is not None:
            latest = (
                select(func.max(change.seq).label("seq"))
                .where(change.mode == mode.value, change.seq <= as_of)
                .group_by(change.intent_id)
                .subquery()
            )
            then = plain.join(intent_change, change.intent_id == it.id)
            then = then.join(latest, latest.c.seq == change.seq)
            query = query.union_all(then.where(it.seq > as_of, change.state.in_(_UNKNOWN)))  # type: ignore[assignment]  # a union is read like a select
        listed = query.subquery()
        chosen = select(*[listed.c[name] for name in _INTENT_COLUMNS])
        ordered = chosen.order_by(listed.c.prepared_at, listed.c.id)
        return read_table(self._connection, ordered, _INTENT_COLUMNS)

    def paid_before(
        self, mode: Mode, *, since: datetime, until: datetime, before: datetime
    ) -> list[str]:
        """Return the references paid between two instants that were paid before a third one too.

        One reference names one order: it is paid twice, however long ago the first payment was.
        """
        it, earlier = collection.c, collection.alias("earlier")
        older = select(it.id).where(it.mode == mode.value, it.created_at < to_us(before)).limit(1)
        if self._connection.execute(older).first() is None:
            return []
        # Found by its reference: by its day it would be looked for in the whole past, row by row.
        first = exists().where(
            earlier.c.mode == it.mode,
            earlier.c.reference == it.reference,
            earlier.c.status.in_(PAID),
            unindexed(earlier.c.created_at) < to_us(before),
        )
        query = select(it.reference).where(
            it.mode == mode.value, it.status.in_(PAID), _around(since, until), first
        )
        return sorted(set(self._connection.execute(query).scalars()))

    def heard_at(self, mode: Mode, *, as_of: int) -> tuple[datetime, datetime] | None:
        """Return when the first and the last fact of the service was observed; None for none.

        What people write into the store says nothing of the service, and does not count.
        """
        it = observation.c
        mine = select(it.observed_at).where(it.mode == mode.value, it.seq <= as_of)
        # Along the journal from its ends: an aggregate would read all of it.
        first = self._connection.execute(mine.order_by(it.seq).limit(1)).scalar()
        last = self._connection.execute(mine.order_by(it.seq.desc()).limit(1)).scalar()
        return None if first is None or last is None else (from_us(first), from_us(last))

    def receipts(self, mode: Mode, *, as_of: int) -> pa.Table:
        """Return collection_id and receipt of the operator's known receipts, the oldest first."""
        it = receipt.c
        query = select(it.collection_id, it.receipt).where(it.mode == mode.value, it.seq <= as_of)
        return read_table(self._connection, query.order_by(it.seq), _RECEIPT_COLUMNS)

    def rollups(
        self, mode: Mode, *, since: datetime, until: datetime, as_of: int
    ) -> tuple[RollupRow, ...] | None:
        """Return what `store.rollups.collections` does; None where they have moved past `as_of`.

        Rollups know no past.
        """
        if as_of != self.head:
            return None
        return collection_rollups(self._connection, mode, since=since, until=until)

    def _read(
        self,
        queries: Iterable[Select[Any]],
        mode: Mode,
        as_of: int,
        *,
        progress: Callable[[int], None] | None = None,
    ) -> Iterator[pa.Table]:
        """Yield what the queries find as it was at `as_of`."""
        changed: list[str] = []
        read = 0
        for query in queries:
            for piece in read_pieces(self._connection, query):
                current = compute.less_equal(piece["seq"], as_of)
                if compute.all(current, min_count=0).as_py():
                    yield piece
                else:
                    yield piece.filter(current)
                    changed += piece["id"].filter(compute.invert(current)).to_pylist()
                read += len(piece)
                if progress is not None:
                    progress(read)
        if changed:
            yield self._folded(changed, mode, as_of)

    def _folded(self, ids: Sequence[str], mode: Mode, as_of: int) -> pa.Table:
        rows = []
        for seq, facts in facts_of(self._connection, ids, as_of=as_of):
            row = project_facts(facts, mode, seq)
            if row is not None:
                ours = [fact for fact in facts if fact.counts_in(mode)]
                times = [fact.event_created_at for fact in ours if fact.event_id == row.event_id]
                event_at = (
                    to_us(times[0]) if times and times[0] and row.completed_at is None else None
                )
                said = (getattr(row, name) for name in TAKEN)
                rows.append((*said, event_at))
        return collections_table(rows)


def _collections(mode: Mode, wanted: ColumnElement[bool]) -> Select[Any]:
    it = collection.c
    # An event is looked up only where the service left completed_at out.
    joined = collection.outerjoin(
        event,
        and_(it.completed_at.is_(None), event.c.id == it.event_id, event.c.mode == it.mode),
    )
    chosen = select(*[it[name] for name in TAKEN], event.c.created_at.label("event_at"))
    return chosen.select_from(joined).where(it.mode == mode.value, wanted)


def _around(since: datetime, until: datetime) -> ColumnElement[bool]:
    it = collection.c
    return or_(
        _within(it.created_at, since, until),
        # Created before, final since: its business day may lie in between.
        and_(it.created_at < to_us(since), it.final_seen_at >= to_us(since)),
    )


def _within(column: ColumnElement[Any], since: datetime, until: datetime) -> ColumnElement[bool]:
    return and_(column >= to_us(since), column < to_us(until))


def _parts(values: Sequence[str]) -> Iterator[list[str]]:
    named = list(dict.fromkeys(values))
    yield from (named[start : start + _KEYS] for start in range(0, len(named), _KEYS))
