"""Record what a console could see of a store, to be replayed where the store is not.

A recording begins with the last day as the store holds it, and goes on with every row that the
journal's new places touch. It is taken beside the screens, on a thread of its own, and never holds
the store up: it only reads, a bounded step at a time.
"""

import threading
from collections.abc import Iterable, Iterator, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any, Final

from sqlalchemy import Connection, Select, Table, or_, select

from kusanya.clock import Clock
from kusanya.errors import KusanyaError, StoreError
from kusanya.store import migrations
from kusanya.store.tables.engine import engines, only_store_errors
from kusanya.store.tables.payload import unpack
from kusanya.store.tables.schema import (
    audit,
    collection,
    delivery,
    delivery_rollup,
    event,
    feed_head,
    intent,
    intent_attempt,
    intent_change,
    note,
    observation,
    rollup,
)
from kusanya.store.tables.values import HOUR_US, hour_of, to_us
from kusanya_console.recording_file import Ending, Frame, Opening, RecordingWriter
from kusanya_console.recording_masks import masked

REACH: Final = timedelta(days=1)
"""How far back before its start a recording holds single records."""
_COMPARED: Final = timedelta(days=8)
"""Health compares an hour with the same one of seven days before."""
_RECORDS_MAX: Final = 20_000
"""So many collections, and so many deliveries, of the time before at most."""
_PEOPLE: Final = 1_000
_STEP: Final = 2_000
_EVERY_S: Final = 0.25
_CHUNK: Final = 2_000
_AMONG: Final = 500
_JOURNAL: Final = (observation, delivery, intent_change, note, audit)
_OPEN: Final = ("prepared", "sent", "unknown")
_Rows = dict[str, list[list[Any]]]


class Recorder:
    """Records one store into one file until `close`.

    `failed` holds what ended the recording early, as a sentence for people. Raises KusanyaError
    when the file is there already or the store cannot be read.
    """

    def __init__(self, url: str, path: Path, *, clock: Clock, mode: str, profile: str) -> None:
        self._clock = clock
        self._engines = engines(url, read_only=True)
        self._seq = 0
        self._counted: dict[tuple[Any, ...], tuple[Any, ...]] = {}
        self._ended = threading.Event()
        self._thread: threading.Thread | None = None
        self.failed: str | None = None
        try:
            self._file = RecordingWriter(path)
        except BaseException:
            self._engines.dispose()
            raise
        try:
            self._begin(mode, profile)
        except BaseException:
            self._file.close()
            path.unlink()  # nothing worth keeping is in it yet
            self._engines.dispose()
            raise

    def start(self) -> None:
        """Record from now on, on a thread."""
        self._thread = threading.Thread(target=self._run, name="recording", daemon=True)
        self._thread.start()

    def step(self) -> bool:
        """Record what has come; tell whether more is waiting."""
        with only_store_errors("record"), self._engines.reader.connect() as connection:
            head: int = connection.execute(select(feed_head.c.seq)).scalar_one()
            upto = min(head, self._seq + _STEP)
            tables = _touched(connection, self._seq, upto)
            tables |= self._newly_counted(connection)
            if upto > self._seq or tables:
                tables[feed_head.name] = _rows(connection, feed_head, select(feed_head))
                tables[feed_head.name][0][1] = upto
                self._file.append(Frame(at=to_us(self._clock.now()), tables=tables))
            self._seq = upto
        return upto < head

    def close(self) -> None:
        """Record what is still to come and end the recording in order."""
        self._ended.set()
        if self._thread is not None:
            self._thread.join()
        try:
            if self.failed is None:
                while self.step():
                    pass
                self._file.append(Ending(at=to_us(self._clock.now())))
        finally:
            self._file.close()
            self._engines.dispose()

    def _run(self) -> None:
        while not self._ended.is_set():
            try:
                more = self.step()
            except StoreError:
                more = False  # it is read again; what comes meanwhile waits in the journal
            except KusanyaError as error:
                self.failed = f"the recording has ended: {error}"
                return
            if not more:
                self._ended.wait(_EVERY_S)

    def _begin(self, mode: str, profile: str) -> None:
        now = self._clock.now()
        since = to_us(now - REACH)
        self._file.append(
            Opening(
                revision=migrations.REVISIONS[-1],
                started_at=to_us(now),
                reaches_back_to=since,
                mode=mode,
                profile=profile,
            )
        )
        with only_store_errors("record"), self._engines.reader.connect() as connection:
            for table, rows in _held(connection, since, to_us(now - _COMPARED)):
                for start in range(0, len(rows), _CHUNK):
                    part = {table.name: rows[start : start + _CHUNK]}
                    self._file.append(Frame(at=to_us(now), tables=part, beginning=True))
                if table is feed_head:
                    self._seq = rows[0][1]
            self._newly_counted(connection)

    def _newly_counted(self, connection: Connection) -> _Rows:
        """Return the counts of deliveries that differ from before: some leave no other trace."""
        since = hour_of(to_us(self._clock.now())) - HOUR_US
        query = select(delivery_rollup).where(
            delivery_rollup.c.mode.in_(("live", "test")), delivery_rollup.c.hour >= since
        )
        counted = {tuple(row[:-1]): tuple(row) for row in connection.execute(query)}
        news = [list(row) for key, row in counted.items() if self._counted.get(key) != row]
        self._counted = counted
        return {delivery_rollup.name: news} if news else {}


def _held(
    connection: Connection, since: int, compared: int
) -> Iterator[tuple[Table, list[list[Any]]]]:
    """Yield what the store holds of the time before, table by table."""
    # First of all: what commits while the rest is read is recorded again, and none is missed.
    head = _rows(connection, feed_head, select(feed_head))
    yield feed_head, head
    it = collection.c
    recent = _rows(
        connection,
        collection,
        select(collection)
        .where(it.mode.in_(("live", "test")), it.created_at >= since)
        .order_by(it.created_at.desc())
        .limit(_RECORDS_MAX),
    )
    ids = [row[0] for row in recent]
    yield collection, recent
    concerned = ((observation, observation.c.collection_id), (event, event.c.collection_id))
    for table, column in concerned:
        yield table, _among(connection, table, column, ids)
    arrived = delivery.c.arrived_at
    yield (
        delivery,
        _rows(
            connection,
            delivery,
            select(delivery)
            .where(delivery.c.mode.in_(("live", "test")), arrived >= since)
            .order_by(arrived.desc())
            .limit(_RECORDS_MAX),
        ),
    )
    made = _rows(
        connection,
        intent,
        select(intent)
        .where(or_(intent.c.prepared_at >= since, intent.c.state.in_(_OPEN)))
        .limit(_RECORDS_MAX),
    )
    yield intent, made
    sent = intent_attempt.c.intent_id
    yield intent_attempt, _among(connection, intent_attempt, sent, [row[0] for row in made])
    for table in (note, audit):
        last = select(table).order_by(table.c.seq.desc()).limit(_PEOPLE)
        yield table, _rows(connection, table, last)
    for table in (rollup, delivery_rollup):
        hours = table.c.mode.in_(("live", "test")), table.c.hour >= hour_of(compared)
        yield table, _rows(connection, table, select(table).where(*hours))


def _touched(connection: Connection, after: int, upto: int) -> _Rows:
    """Return every row that the journal's places above `after` up to `upto` touch."""
    tables: _Rows = {}
    for table in _JOURNAL:
        place = table.c.seq
        query = select(table).where(place > after, place <= upto)
        tables[table.name] = _rows(connection, table, query)
    of = [column.name for column in observation.c].index("collection_id")
    ids = sorted({row[of] for row in tables[observation.name]})
    tables[collection.name] = _among(connection, collection, collection.c.id, ids)
    tables[event.name] = _among(connection, event, event.c.collection_id, ids)
    tables[rollup.name] = _sums(connection, tables[collection.name])
    whose = [column.name for column in intent_change.c].index("intent_id")
    intents = sorted({row[whose] for row in tables[intent_change.name]})
    tables[intent.name] = _among(connection, intent, intent.c.id, intents)
    tables[intent_attempt.name] = _among(
        connection, intent_attempt, intent_attempt.c.intent_id, intents
    )
    return {name: rows for name, rows in tables.items() if rows}


def _sums(connection: Connection, collections: Sequence[Sequence[Any]]) -> list[list[Any]]:
    """Return the sums of the hours in which these collections were created."""
    names = [column.name for column in collection.c]
    born, doubted, id_ = (names.index(n) for n in ("created_at", "contradictions", "id"))
    hours = {hour_of(row[born]) for row in collections}
    # Where facts disagree, the collection may have been counted in another hour before.
    disputed = [row[id_] for row in collections if row[doubted]]
    for start in range(0, len(disputed), _AMONG):
        said = select(observation.c.payload).where(
            observation.c.collection_id.in_(disputed[start : start + _AMONG])
        )
        for payload in connection.execute(said).scalars():
            hours.add(hour_of(to_us(unpack(payload).collection.created_at)))
    found: list[list[Any]] = []
    for hour in sorted(hours):
        it = rollup.c
        query = select(rollup).where(it.mode.in_(("live", "test")), it.hour == hour)
        found += _rows(connection, rollup, query)
    return found


def _among(
    connection: Connection, table: Table, column: Any, wanted: Sequence[Any]
) -> list[list[Any]]:
    found: list[list[Any]] = []
    for start in range(0, len(wanted), _AMONG):
        query = select(table).where(column.in_(wanted[start : start + _AMONG]))
        found += _rows(connection, table, query)
    return found


def _rows(connection: Connection, table: Table, query: Select[Any]) -> list[list[Any]]:
    rows: Iterable[Any] = connection.execute(query)
    return [masked(table, list(row)) for row in rows]
