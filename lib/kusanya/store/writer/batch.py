"""One transaction of the journal: facts in, deliveries, events, projection and rollups out.

The counter row is locked before anything is read, so transactions of all processes stand one behind
the other: what is known stays known, and commit order is the order of `seq`.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from itertools import chain, product
from typing import Any, Final, NamedTuple

import msgspec
from sqlalchemy import Connection

from kusanya.domain.collection_columns import NAME_MAX
from kusanya.errors import KusanyaError, StoreUnavailable
from kusanya.state.observation import Dispute, Observation, Source
from kusanya.store.records import Arrival, DeliveryCommit, Verdict
from kusanya.store.tables.engine import is_outage, why
from kusanya.store.tables.payload import body_digest, pack, unpack
from kusanya.store.tables.values import clean, delivery_id, hour_of, maybe_clean, to_us
from kusanya.store.writer.projection import ProjectedRow, project_facts
from kusanya.store.writer.rejected import RejectedRetention
from kusanya.store.writer.row_values import (
    DeliveryValues,
    EventValues,
    ObservationValues,
    delivery_values,
)
from kusanya.store.writer.statements import Statements
from kusanya.wire import Mode

Act = Callable[["Transaction"], Any]
"""A write of another kind than a fact: it is called inside the transaction."""


class ObservationWrite(msgspec.Struct, frozen=True, kw_only=True):
    """An act and the fact that it comes with: both are durable together."""

    observation: Observation
    act: Act


Item = Arrival | Observation | Act | ObservationWrite
_COPIED: Final = 8
"""From so many rows on, starting a COPY costs less than it saves."""


class WriteFailure(msgspec.Struct, frozen=True):
    """Why one item of a batch was not written."""

    error: Exception


class Transaction:
    """The open transaction: its connection, the time, and the next place in the journal.

    The journal's own statements go to the driver directly, because SQLAlchemy's care for each
    execution costs more than SQLite's.
    """

    def __init__(self, connection: Connection, *, statements: Statements, now: datetime) -> None:
        self.connection = connection
        self.statements = statements
        self.now = now
        self.after_commit: list[Callable[[], None]] = []
        """Called in their order once all of it is durable."""
        made: Any = connection.connection.cursor()
        self._cursor = made
        # Until the transaction is over, every other one stands behind this lock.
        self._cursor.execute(statements.lock_head)
        self._start: int = self._cursor.fetchone()[0]
        self.head: int = self._start

    def seq(self) -> int:
        """Take the next place in the journal."""
        self.head += 1
        return self.head

    def known(self, statement: str, ids: Iterable[str]) -> list[tuple[Any, ...]]:
        """Return the rows that `statement` gives for `ids`."""
        self._cursor.execute(statement, (self.statements.listed(ids),))
        rows: list[tuple[Any, ...]] = self._cursor.fetchall()
        return rows

    def many(self, statement: str, rows: Sequence[tuple[Any, ...]]) -> None:
        """Run `statement` once per row, if there is any."""
        copy = self.statements.copies.get(statement) if len(rows) >= _COPIED else None
        if copy is not None:
            with self._cursor.copy(copy) as out:
                for row in rows:
                    out.write_row(row)
            return
        start = 0
        for size, together in self.statements.together.get(statement, ()):
            while len(rows) - start >= size:
                some = rows[start : start + size]
                self._cursor.execute(together, tuple(chain.from_iterable(some)))
                start += size
        if start < len(rows):
            self._cursor.executemany(statement, rows[start:])

    def run_alone(self, act: Act) -> Any:
        """Run `act`; where it fails its own part is taken back, nobody else's, and it is raised."""
        head, called = self.head, len(self.after_commit)
        self._cursor.execute("SAVEPOINT act")
        try:
            result = act(self)
        except Exception:
            self._cursor.execute("ROLLBACK TO SAVEPOINT act")
            self.head = head
            del self.after_commit[called:]
            raise
        self._cursor.execute("RELEASE SAVEPOINT act")
        return result

    def finish(self) -> None:
        """Move the journal's end to the last place taken."""
        if self.head != self._start:
            self._cursor.execute(self.statements.move_head, (self.head,))
        self._cursor.close()


class _KnownCollection:
    """What is kept about one id in both modes, and what this batch adds."""

    __slots__ = ("digests", "facts", "last_seq", "olds", "touched")

    def __init__(self) -> None:
        self.digests: dict[bytes, int] = {}
        self.facts: list[Observation] = []
        self.last_seq = 0
        self.olds: dict[str, ProjectedRow] = {}
        self.touched = False


class _FirstBody(NamedTuple):
    """Of an event the body that arrived first, and the collection that it is about."""

    digest: bytes
    collection_id: str


class Batch:
    """The facts of one transaction, gathered per table and written table by table."""

    def __init__(self, writing: Transaction, *, retention: RejectedRetention) -> None:
        self._writing = writing
        self._retention = retention
        self._collections: defaultdict[str, _KnownCollection] = defaultdict(_KnownCollection)
        self._events: dict[tuple[str, str], _FirstBody] = {}
        self._arrivals: dict[tuple[str, str], int] = {}
        self._deliveries: list[DeliveryValues] = []
        self._new_events: dict[tuple[str, str], EventValues] = {}
        self._repeats: Counter[tuple[str, str]] = Counter()
        self._checked: dict[tuple[str, str], int] = {}
        self._observations: list[ObservationValues] = []
        self._counts: Counter[tuple[str, int, str, str, str]] = Counter()

    def run(self, items: Sequence[Item]) -> list[Any]:
        """Write `items` and return for each its result, or WriteFailure."""
        self._retention.repeats.begin()
        packed = [_packed(item) for item in items]
        self._load(items)
        admitted = self._retention.admit(self._writing.connection, items, now=self._writing.now)
        results: list[Any] = [None] * len(items)
        for index, item in enumerate(items):
            said = packed[index]
            if isinstance(said, WriteFailure):
                results[index] = said
            elif isinstance(item, Arrival):
                results[index] = self._arrive(item, said, kept=index in admitted)
            elif isinstance(item, Observation):
                results[index] = self._observe(item, said)
            elif isinstance(item, ObservationWrite):
                self._observe(item.observation, said)
        self._write()
        for index, item in enumerate(items):
            if isinstance(item, ObservationWrite):
                # Without its fact an act would say what nothing shows.
                if results[index] is None:
                    results[index] = _act(self._writing, item.act)
            elif not isinstance(item, Arrival | Observation):
                results[index] = _act(self._writing, item)
        return results

    def _load(self, items: Sequence[Item]) -> None:
        """Read what is known of the events and collections that `items` speak of."""
        events: set[str] = set()
        wanted: set[str] = set()
        for item in items:
            observation = _observation_of(item)
            if isinstance(item, Arrival) and item.verdict is Verdict.VERIFIED:
                events.add(item.event_id or "")
            if observation is not None:
                wanted.add(observation.collection.id)
        ask, sql = self._writing.known, self._writing.statements
        if events:
            rows = ask(sql.known_events, events)
            for event_id, mode, digest, of, arrivals in rows:
                self._events[event_id, mode] = _FirstBody(bytes(digest), of)
                self._arrivals[event_id, mode] = arrivals
                # Another body under the same id may name another collection.
                wanted.add(of)
        if not wanted:
            return
        for collection_id, seq, digest, payload in ask(sql.known_observations, wanted):
            known = self._collections[collection_id]
            known.digests[bytes(digest)] = seq
            known.facts.append(unpack(payload))
            known.last_seq = seq
        if self._collections:
            # Of what nobody ever said anything there is no row either.
            for row in ask(sql.known_collections, self._collections):
                old = ProjectedRow._make(row)
                self._collections[old.id].olds[old.mode] = old

    def _arrive(self, item: Arrival, said: tuple[bytes, bytes], *, kept: bool) -> DeliveryCommit:
        verdict = self._judge(item)
        endpoint = clean(item.endpoint, NAME_MAX)
        reason = maybe_clean(item.reason, NAME_MAX)
        arrived_at = to_us(item.arrived_at)
        mode = str(item.observed_in)
        self._counts[(mode, hour_of(arrived_at), endpoint, str(verdict), reason or "")] += 1
        if not kept or not self._retention.repeats.has_room(item, verdict, self._arrivals):
            return DeliveryCommit(delivery_id="", verdict=verdict, seq=0)
        seq = self._writing.seq()
        self._deliveries.append(
            delivery_values(
                item,
                seq=seq,
                arrived_at=arrived_at,
                endpoint=endpoint,
                verdict=verdict,
                reason=reason,
            )
        )
        if item.observation is not None:
            if verdict is Verdict.VERIFIED:
                self._new_event(item, seq=seq, arrived_at=arrived_at, endpoint=endpoint)
                self._observe(item.observation, said)
            elif verdict is Verdict.CONFLICT:
                self._dispute(item, item.observation)
            elif verdict is Verdict.WRONG_MODE:
                self._observe(item.observation, said)
        return DeliveryCommit(delivery_id=delivery_id(seq), verdict=verdict, seq=seq)

    def _judge(self, item: Arrival) -> Verdict:
        """Tell a new event from a known one; the first arrival wins."""
        if item.verdict is not Verdict.VERIFIED:
            return item.verdict
        key = (item.event_id or "", str(item.observed_in))
        mine = _FirstBody(body_digest(item.body), item.collection_id or "")
        known = self._events.setdefault(key, mine)
        if known is mine:
            return Verdict.VERIFIED
        if known.digest != mine.digest:
            return Verdict.CONFLICT
        self._arrivals[key] = self._arrivals.get(key, 1) + 1
        new = self._new_events.get(key)
        if new is None:
            self._repeats[key] += 1
        else:
            self._new_events[key] = new._replace(arrivals=new.arrivals + 1)
        return Verdict.REPEAT

    def _new_event(self, item: Arrival, *, seq: int, arrived_at: int, endpoint: str) -> None:
        key = (item.event_id or "", str(item.observed_in))
        created_at = item.event_created_at or item.arrived_at
        id_, mode = key
        self._new_events[key] = EventValues(
            id=id_,
            mode=mode,
            seq=seq,
            type=clean(item.event_type or "", NAME_MAX),
            created_at=to_us(created_at),
            collection_id=clean(item.collection_id or "", NAME_MAX),
            first_arrived_at=arrived_at,
            endpoint=endpoint,
            arrivals=1,
            checked_at=None,
            digest=self._events[key].digest,
        )

    def _dispute(self, item: Arrival, observation: Observation) -> None:
        """Keep another body of a known event as evidence, for each collection it is about."""
        fact = msgspec.structs.replace(observation, disputed=Dispute.OTHER_BODY)
        said = pack(fact)
        first = self._events[(item.event_id or "", str(item.observed_in))]
        for collection_id in {first.collection_id: None, observation.collection.id: None}:
            self._observe(fact, said, of=collection_id)

    def _observe(
        self, observation: Observation, said: tuple[bytes, bytes], *, of: str | None = None
    ) -> int:
        digest, payload = said
        collection_id = observation.collection.id if of is None else of
        observed_at = to_us(observation.observed_at)
        if observation.source is Source.EVENT_CHECK and observation.event_id is not None:
            self._checked[(observation.event_id, str(observation.observed_in))] = observed_at
        known = self._collections[collection_id]
        before = known.digests.get(digest)
        if before is not None:
            return before
        seq = self._writing.seq()
        known.digests[digest] = known.last_seq = seq
        known.facts.append(observation)
        known.touched = True
        self._observations.append(
            ObservationValues(
                seq=seq,
                collection_id=collection_id,
                mode=str(observation.observed_in),
                observed_at=observed_at,
                digest=digest,
                payload=payload,
            )
        )
        return seq

    def _write(self) -> None:
        write, sql = self._writing.many, self._writing.statements
        write(sql.delivery, self._deliveries)
        write(sql.event, list(self._new_events.values()))
        write(sql.event_arrivals, [(more, *key) for key, more in sorted(self._repeats.items())])
        write(sql.event_checked, [(at, *key) for key, at in sorted(self._checked.items())])
        write(sql.observation, self._observations)
        new: list[ProjectedRow] = []
        changed: list[ProjectedRow] = []
        sums: defaultdict[tuple[Any, ...], list[int]] = defaultdict(lambda: [0, 0, 0])
        touched = (known for known in self._collections.values() if known.touched)
        for known, mode in product(touched, Mode):
            row = project_facts(known.facts, mode, known.last_seq)
            if row is None:
                continue
            old = known.olds.get(mode)
            (new if old is None else changed).append(row)
            if old is None:
                _add(sums[row.bucket], row.counted, 1)
            elif (old.bucket, old.counted) != (row.bucket, row.counted):
                _add(sums[old.bucket], old.counted, -1)
                _add(sums[row.bucket], row.counted, 1)
        write(sql.new_collection, new)
        write(sql.changed_collection, changed)
        write(sql.rollup, [(*bucket, *by) for bucket, by in sorted(sums.items()) if any(by)])
        write(sql.delivery_rollup, [(*bucket, n) for bucket, n in sorted(self._counts.items())])


def _add(total: list[int], by: tuple[int, int, int], sign: int) -> None:
    for index, number in enumerate(by):
        total[index] += sign * number


def _observation_of(item: Item) -> Observation | None:
    if isinstance(item, Arrival):
        return item.observation
    if isinstance(item, ObservationWrite):
        return item.observation
    return item if isinstance(item, Observation) else None


def _packed(item: Item) -> tuple[bytes, bytes] | WriteFailure:
    observation = _observation_of(item)
    if observation is None:
        return (b"", b"")
    try:
        digest, payload = pack(observation)
    except (ValueError, OverflowError, TypeError) as error:
        return _refused(error)
    return digest, payload


def _refused(error: Exception) -> WriteFailure:
    return WriteFailure(
        StoreUnavailable(f"this item cannot be kept: {why(error)}; nothing was written")
    )


def _act(writing: Transaction, act: Act) -> Any:
    try:
        return writing.run_alone(act)
    except Exception as error:
        if isinstance(error, KusanyaError | LookupError):
            return WriteFailure(error)
        if is_outage(error):
            raise
        return _refused(error)
