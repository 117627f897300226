"""One transaction of the journal: facts in, deliveries, events, projection and rollups out.

The counter row is locked before anything is read, so transactions of all processes stand one behind
the other: what is known stays known, and commit order is the order of `seq`.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from typing import Any, Final

import msgspec
from sqlalchemy import Connection, select, update

from kusanya.errors import KusanyaError, StoreUnavailable
from kusanya.state.fold import fold
from kusanya.state.observation import Observation, Source
from kusanya.store.engine import is_outage, why
from kusanya.store.payload import body_digest, pack, pack_headers, unpack
from kusanya.store.projection import COLUMNS, Projected, project
from kusanya.store.records import Arrival, Receipt, Verdict
from kusanya.store.rejected import Bound
from kusanya.store.schema import collection, event, feed_head, observation
from kusanya.store.statements import Statements
from kusanya.store.values import (
    NAME_MAX,
    WORD_MAX,
    clean,
    holdable,
    hour_of,
    maybe_clean,
    maybe_us,
    to_us,
)
from kusanya.webhooks.schedule import infer_attempt

Act = Callable[["Writing"], Any]
"""A write of another kind than a fact: it is called inside the transaction."""
Item = Arrival | Observation | Act
DROPPED: Final = Receipt(delivery_id="", verdict=Verdict.REJECTED, seq=0)
"""The receipt of a rejected delivery that was counted and not kept."""
_NOT_BELIEVED: Final = frozenset({Verdict.REJECTED})


class Failed(msgspec.Struct, frozen=True):
    """Why one item of a batch was not written."""

    error: Exception


class Writing:
    """The open transaction: its connection, the time, and the next place in the journal."""

    def __init__(
        self, connection: Connection, *, statements: Statements, now: datetime, head: int
    ) -> None:
        self.connection = connection
        self.statements = statements
        self.now = now
        self.head = head

    def seq(self) -> int:
        """Take the next place in the journal."""
        self.head += 1
        return self.head

    def many(self, statement: str, rows: Sequence[tuple[Any, ...]]) -> None:
        """Run `statement` once per row, if there is any."""
        if rows:
            self.connection.exec_driver_sql(statement, list(rows))


def lock_head(connection: Connection) -> int:
    """Lock the journal's end until the transaction is over and return its place."""
    # SQLite has locked everything with BEGIN IMMEDIATE and ignores the wish.
    head: int = connection.execute(select(feed_head.c.seq).with_for_update()).scalar_one()
    return head


def move_head(connection: Connection, head: int) -> None:
    """Set the journal's end to `head`."""
    connection.execute(update(feed_head).values(seq=head))


class _Known:
    """What is kept about one collection, and what this batch adds."""

    __slots__ = ("digests", "heard", "last_seq", "old", "touched")

    def __init__(self) -> None:
        self.digests: dict[bytes, int] = {}
        self.heard: list[Observation] = []
        self.last_seq = 0
        self.old: Projected | None = None
        self.touched = False


class Batch:
    """The facts of one transaction, gathered per table and written table by table."""

    def __init__(self, writing: Writing, *, bound: Bound, delivery_ids: Iterator[str]) -> None:
        self._writing = writing
        self._bound = bound
        self._delivery_ids = delivery_ids
        self._collections: defaultdict[str, _Known] = defaultdict(_Known)
        self._events: dict[tuple[str, str], bytes] = {}
        self._deliveries: list[tuple[Any, ...]] = []
        self._new_events: dict[tuple[str, str], list[Any]] = {}
        self._repeats: Counter[tuple[str, str]] = Counter()
        self._checked: dict[tuple[str, str], int] = {}
        self._observations: list[tuple[Any, ...]] = []
        self._counts: Counter[tuple[str, int, str, str, str]] = Counter()

    def run(self, items: Sequence[Item]) -> list[Any]:
        """Write `items` and return for each its result, or Failed."""
        packed = [_packed(item) for item in items]
        self._load(items)
        admitted = self._bound.admit(self._writing.connection, items, now=self._writing.now)
        results: list[Any] = [None] * len(items)
        for index, item in enumerate(items):
            said = packed[index]
            if isinstance(said, Failed):
                results[index] = said
            elif isinstance(item, Arrival):
                results[index] = self._arrive(item, said, kept=index in admitted)
            elif isinstance(item, Observation):
                results[index] = self._observe(item, said)
        self._write()
        for index, item in enumerate(items):
            if not isinstance(item, Arrival | Observation):
                results[index] = _act(self._writing, item)
        return results

    def _load(self, items: Sequence[Item]) -> None:
        """Read what is known of the events and collections that `items` speak of."""
        events: set[str] = set()
        wanted: set[str] = set()
        for item in items:
            heard: Observation | None = None
            if isinstance(item, Observation):
                heard = item
            elif isinstance(item, Arrival) and item.verdict is Verdict.VERIFIED:
                heard = item.observation
                events.add(item.event_id or "")
            if heard is not None:
                wanted.add(heard.collection.id)
        connection = self._writing.connection
        if events:
            query = select(event.c.id, event.c.mode, event.c.digest).where(event.c.id.in_(events))
            self._events = {(i, m): bytes(digest) for i, m, digest in connection.execute(query)}
        if not wanted:
            return
        heard_before = (
            select(
                observation.c.collection_id,
                observation.c.seq,
                observation.c.digest,
                observation.c.payload,
            )
            .where(observation.c.collection_id.in_(wanted))
            .order_by(observation.c.seq)
        )
        for collection_id, seq, digest, payload in connection.execute(heard_before):
            known = self._collections[collection_id]
            known.digests[bytes(digest)] = seq
            known.heard.append(unpack(payload))
            known.last_seq = max(known.last_seq, seq)
        projected = select(*COLUMNS).where(collection.c.id.in_(wanted))
        for row in connection.execute(projected):
            self._collections[row[0]].old = Projected._make(row)

    def _arrive(self, item: Arrival, said: tuple[bytes, bytes], *, kept: bool) -> Receipt:
        verdict = self._judge(item)
        endpoint = clean(item.endpoint, NAME_MAX)
        reason = maybe_clean(item.reason, NAME_MAX)
        arrived_at = to_us(item.arrived_at)
        mode = item.heard_in.value
        self._counts[(mode, hour_of(arrived_at), endpoint, verdict.value, reason or "")] += 1
        if not kept:
            return DROPPED
        seq = self._writing.seq()
        delivery_id = next(self._delivery_ids)
        authentic = verdict not in _NOT_BELIEVED
        self._deliveries.append(
            (
                seq,
                delivery_id,
                arrived_at,
                endpoint,
                mode,
                verdict.value,
                reason,
                maybe_clean(item.event_id, NAME_MAX),
                maybe_clean(item.event_type, NAME_MAX),
                maybe_us(item.event_created_at),
                maybe_clean(item.event_mode, WORD_MAX),
                maybe_clean(item.collection_id, NAME_MAX),
                maybe_clean(item.reference, NAME_MAX),
                holdable(item.amount),
                maybe_clean(item.currency, WORD_MAX),
                maybe_us(item.signed_at),
                _attempt(item) if authentic else None,
                item.answer,
                item.took_us,
                item.secrets_tried,
                len(item.body),
                pack_headers(item.headers),
                item.body,
            )
        )
        if verdict is Verdict.VERIFIED and item.observation is not None:
            self._new_event(item, seq=seq, arrived_at=arrived_at, endpoint=endpoint)
            self._observe(item.observation, said)
        return Receipt(delivery_id=delivery_id, verdict=verdict, seq=seq)

    def _judge(self, item: Arrival) -> Verdict:
        """Tell a new event from a known one; the first arrival wins."""
        if item.verdict is not Verdict.VERIFIED:
            return item.verdict
        key = (item.event_id or "", item.heard_in.value)
        digest = body_digest(item.body)
        known = self._events.setdefault(key, digest)
        if known is digest:
            return Verdict.VERIFIED
        if known != digest:
            return Verdict.CONFLICT
        new = self._new_events.get(key)
        if new is None:
            self._repeats[key] += 1
        else:
            new[_ARRIVALS] += 1
        return Verdict.REPEAT

    def _new_event(self, item: Arrival, *, seq: int, arrived_at: int, endpoint: str) -> None:
        key = (item.event_id or "", item.heard_in.value)
        created_at = item.event_created_at or item.arrived_at
        self._new_events[key] = [
            *key,
            seq,
            clean(item.event_type or "", NAME_MAX),
            to_us(created_at),
            clean(item.collection_id or "", NAME_MAX),
            arrived_at,
            endpoint,
            1,
            None,
            self._events[key],
        ]

    def _observe(self, heard: Observation, said: tuple[bytes, bytes]) -> int:
        digest, payload = said
        observed_at = to_us(heard.observed_at)
        if heard.source is Source.EVENT_CHECK and heard.event_id is not None:
            self._checked[(heard.event_id, heard.heard_in.value)] = observed_at
        known = self._collections[heard.collection.id]
        before = known.digests.get(digest)
        if before is not None:
            return before
        seq = self._writing.seq()
        known.digests[digest] = known.last_seq = seq
        # Folded as it will be read back, so that a rebuild cannot come out differently.
        known.heard.append(unpack(payload))
        known.touched = True
        self._observations.append(
            (seq, heard.collection.id, heard.collection.mode.value, observed_at, digest, payload)
        )
        return seq

    def _write(self) -> None:
        write, sql = self._writing.many, self._writing.statements
        write(sql.delivery, self._deliveries)
        write(sql.event, [tuple(row) for row in self._new_events.values()])
        write(sql.event_arrivals, [(more, *key) for key, more in sorted(self._repeats.items())])
        write(sql.event_checked, [(at, *key) for key, at in sorted(self._checked.items())])
        write(sql.observation, self._observations)
        new: list[Projected] = []
        sums: defaultdict[tuple[Any, ...], list[int]] = defaultdict(lambda: [0, 0, 0])
        for known in self._collections.values():
            if not known.touched:
                continue
            row = project(fold(known.heard), known.last_seq)
            new.append(row)
            if known.old is None:
                _add(sums[row.bucket], row.counted, 1)
            elif (known.old.bucket, known.old.counted) != (row.bucket, row.counted):
                _add(sums[known.old.bucket], known.old.counted, -1)
                _add(sums[row.bucket], row.counted, 1)
        write(sql.collection, new)
        write(sql.rollup, [(*bucket, *by) for bucket, by in sorted(sums.items()) if any(by)])
        write(sql.delivery_rollup, [(*bucket, n) for bucket, n in sorted(self._counts.items())])


_ARRIVALS: Final = [c.name for c in event.c].index("arrivals")


def _add(total: list[int], by: tuple[int, int, int], sign: int) -> None:
    for index, number in enumerate(by):
        total[index] += sign * number


def _packed(item: Item) -> tuple[bytes, bytes] | Failed:
    heard = item.observation if isinstance(item, Arrival) else item
    if not isinstance(heard, Observation):
        return (b"", b"")
    try:
        digest, payload = pack(heard)
    except (ValueError, OverflowError, TypeError) as error:
        return _refused(error)
    return digest, payload


def _refused(error: Exception) -> Failed:
    return Failed(StoreUnavailable(f"this item cannot be kept: {why(error)}; nothing was written"))


def _act(writing: Writing, act: Act) -> Any:
    # An act that fails half-way takes back its own part and nobody else's.
    head = writing.head
    nested = writing.connection.begin_nested()
    try:
        result = act(writing)
    except Exception as error:
        nested.rollback()
        writing.head = head
        if isinstance(error, KusanyaError | LookupError):
            return Failed(error)
        if is_outage(error):
            raise
        return _refused(error)
    nested.commit()
    return result


def _attempt(item: Arrival) -> int | None:
    if item.signed_at is None or item.event_created_at is None:
        return None
    return infer_attempt(signed_at=item.signed_at, event_created_at=item.event_created_at)
