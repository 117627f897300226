"""A store of its own that holds what another one knew at an instant, and can be moved on in time.

The journal is copied place by place up to the first fact that is dated later, and what follows
from it is computed anew: collections, sums, the state of each creation. A later place is never
taken before an earlier one, so what a late writer dates back is not known before it was written.

What the store has cleared since is not in the copy, and of deliveries that were only counted, those
of the last hour are missing. Leases and outcomes are left out: nobody works on a copy.
"""

import os
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any, Final

from msgspec import MsgspecError
from sqlalchemy import Connection, Table, delete, exists, func, insert, or_, select, update

from kusanya.errors import StoreUnavailable, WireError
from kusanya.platform.closing import Closing
from kusanya.state.observation import Source
from kusanya.store.maintenance.masks import Masks
from kusanya.store.maintenance.opening import prepare
from kusanya.store.maintenance.retention import deliveries_since, note_deliveries_since
from kusanya.store.queries.collections.indexing import index_all
from kusanya.store.queries.poll_leases import JOURNAL_COPY
from kusanya.store.records import CopyResult, Verdict
from kusanya.store.tables.engine import Engines, engines, only_store_errors
from kusanya.store.tables.inserting import insert_into
from kusanya.store.tables.payload import source_of, unpack
from kusanya.store.tables.schema import (
    acknowledgement,
    audit,
    break_fact,
    delivery,
    delivery_rollup,
    event,
    feed_head,
    intent,
    intent_attempt,
    intent_change,
    note,
    observation,
    receipt,
    store_meta,
)
from kusanya.store.tables.sqlite_file import sync_folder
from kusanya.store.tables.values import hour_of, to_us
from kusanya.store.writer.batch import Transaction
from kusanya.store.writer.refold import refold
from kusanya.store.writer.repeats import ROWS_PER_EVENT
from kusanya.store.writer.statements import statements

_STEP: Final = 2_000
"""Places of the journal that are in memory at a time."""
_AMONG: Final = 500
_DATES: Final = {
    observation: observation.c.observed_at,
    delivery: delivery.c.arrived_at,
    intent_change: intent_change.c.at,
    note: note.c.at,
    audit: audit.c.at,
    break_fact: break_fact.c.at,
    receipt: receipt.c.at,
}
"""The tables of the journal, and when each of their facts is dated."""
_CHANGED: Final = ("seq", "state", "collection_id", "outcome")
"""What the journal keeps of each change of a creation."""
_ENDING: Final = ("ended_at", "outcome", "status", "request_id", "took_us")
_Rows = Sequence[Sequence[Any]]


def copy_as_of(source: Engines, target: Path, at: datetime, *, masked: bool) -> CopyResult:
    """Make a new store at `target` that holds what `source` knew at `at`; see `JournalCopy`.

    The file is there whole or not at all, for its owner alone, and durable on return. Raises
    StoreUnavailable where it exists or cannot be written.
    """
    # Late: it brings much that no other use of a store needs.
    from tempfile import TemporaryDirectory

    refusal = StoreUnavailable(f"{target} exists already; a copy never overwrites")
    if target.exists():
        raise refusal
    with (
        only_store_errors(f"copy to {target}"),
        TemporaryDirectory(prefix=f".{target.name}.", dir=target.parent) as folder,
    ):
        with JournalCopy(source, Path(folder) / target.name, masked=masked) as copy:
            facts = copy.advance(at)
            result = CopyResult(facts=facts, seq=copy.seq, left_out=copy.left_out(at))
        try:
            os.link(copy.path, target)  # unlike a rename it never takes another file's place
        except FileExistsError:
            raise refusal from None
        sync_folder(target.parent)
    return result


class JournalCopy(Closing):
    """A new SQLite store at `path` that is filled from `source` as far as an instant.

    Raises StoreUnavailable where the file exists, StoreError where either store fails. `source` is
    only read, and stays the caller's. `with` closes the copy.
    """

    def __init__(self, source: Engines, path: Path, *, masked: bool) -> None:
        if path.exists():
            raise StoreUnavailable(f"{path} exists already; a copy never overwrites")
        self.path: Final = path
        self._source = source
        self._masks = Masks() if masked else None
        self._seq = self._let_go = 0
        self._dated = 0
        """The latest date of what is in the copy."""
        self._hour = 0
        self._target = engines(str(path))
        self._statements = statements(self._target.writer.dialect)
        try:
            prepare(self._target, create=True, migrate=False, read_only=False)
            with self._target.writing() as connection, connection.begin():
                connection.execute(insert(store_meta).values(name=JOURNAL_COPY, value="yes"))
        except BaseException:
            self._target.dispose()
            raise

    @property
    def seq(self) -> int:
        """Return the last place of the journal that is in the copy."""
        return self._seq

    def advance(self, to: datetime) -> int:
        """Copy what became known up to `to`; return how many facts that were.

        It is durable on return, and the copy agrees with itself after each part of it.
        """
        facts = 0
        with self._reading() as source:
            last = _last_place(source, self._seq, to_us(to))
            while self._seq < last:
                upto = min(last, self._seq + _STEP)
                with self._writing(to) as writing, _facts_are_whole():
                    facts += self._copy(source, writing, upto)
                self._seq = upto
            head: int = source.execute(select(feed_head.c.seq)).scalar_one()
            hour = hour_of(to_us(to))
            if facts or hour != self._hour:
                with self._writing(to) as writing:
                    self._copy_let_go(source, writing)
                    self._copy_counts(source, writing, before=hour, all_of_it=last == head)
                self._hour = hour
        return facts

    def left_out(self, to: datetime) -> int:
        """Count the facts dated up to `to` that were written after a later one."""
        with self._reading() as source:
            return sum(
                source.execute(
                    select(func.count()).where(table.c.seq > self._seq, at <= to_us(to))
                ).scalar_one()
                for table, at in _DATES.items()
            )

    def close(self) -> None:
        """Close the copy's file; everything is in it."""
        self._target.dispose()

    @contextmanager
    def _reading(self) -> Iterator[Connection]:
        # One moment for the whole journal, while others go on writing.
        with only_store_errors("read the store"), self._source.reading_one_moment() as connection:
            yield connection

    @contextmanager
    def _writing(self, now: datetime) -> Iterator[Transaction]:
        with (
            only_store_errors(f"write {self.path}"),
            self._target.writing() as connection,
            connection.begin(),
        ):
            writing = Transaction(connection, statements=self._statements, now=now)
            yield writing
            writing.finish()

    def _copy(self, source: Connection, writing: Transaction, upto: int) -> int:
        """Copy the places after the last one up to `upto`; return how many facts they hold."""
        found = {
            table: self._rows(source, table, table.c.seq > self._seq, table.c.seq <= upto)
            for table in _DATES
        }
        facts = sum(len(rows) for rows in found.values())
        for table, rows in found.items():
            self._dated = max([self._dated, *(_cells(table, rows, _DATES[table].name))])
            _insert(writing, table, rows)
        places = (acknowledgement.c.seq > self._seq, acknowledgement.c.seq <= upto)
        _insert(writing, acknowledgement, self._rows(source, acknowledgement, *places))
        writing.connection.execute(
            update(feed_head).values(removed=feed_head.c.removed + upto - self._seq - facts)
        )
        writing.head = upto
        self._copy_events(source, writing, found[delivery], found[observation])
        self._copy_intents(source, writing, upto)
        refold(writing, set(_cells(observation, found[observation], "collection_id")))
        while index_all(writing):
            pass
        return facts

    def _copy_events(
        self, source: Connection, writing: Transaction, deliveries: _Rows, observations: _Rows
    ) -> None:
        """Copy the events that these deliveries brought, and what else is counted of them."""
        sql, it = writing.statements, delivery.c
        places = select(it.event_id).where(
            it.seq > self._seq, it.seq <= writing.head, it.verdict == Verdict.VERIFIED.value
        )
        brought = (event.c.seq > self._seq, event.c.seq <= writing.head)
        new = self._rows(source, event, event.c.id.in_(places), *brought)
        cleared = {"arrivals": 1, "checked_at": None}
        _insert(writing, event, [_with(event, row, cleared) for row in new])
        repeats: Counter[tuple[str, str]] = Counter()
        counts: Counter[tuple[Any, ...]] = Counter()
        for row in deliveries:
            said = dict(zip(it.keys(), row, strict=True))
            hour = hour_of(said["arrived_at"])
            counts[said["mode"], hour, said["endpoint"], said["verdict"], said["reason"] or ""] += 1
            if said["verdict"] == Verdict.REPEAT.value:
                repeats[said["event_id"], said["mode"]] += 1
        writing.many(sql.delivery_rollup, [(*bucket, n) for bucket, n in sorted(counts.items())])
        writing.many(sql.event_arrivals, [(n, *key) for key, n in sorted(repeats.items())])
        checks = [
            (at, fact.event_id, mode)
            for _, _, mode, at, _, payload in observations
            if source_of(payload) is Source.EVENT_CHECK
            and (fact := unpack(payload)).event_id is not None
        ]
        writing.many(sql.event_checked, checks)

    def _copy_let_go(self, source: Connection, writing: Transaction) -> None:
        """Copy the events whose deliveries were let go, as they are now, up to the last place."""
        since, it = deliveries_since(source), event.c
        note_deliveries_since(writing.connection, since)
        places = (it.seq > self._let_go, it.seq <= self._seq)
        brought = exists().where(delivery.c.seq == it.seq, delivery.c.event_id == it.id)
        _insert(
            writing,
            event,
            self._rows(source, event, it.first_arrived_at < since, *places, ~brought),
        )
        self._let_go = self._seq

    def _copy_intents(self, source: Connection, writing: Transaction, upto: int) -> None:
        """Copy the creations that changed, as they were after the last of these changes."""
        it = intent_change.c
        query = select(intent_change).where(it.seq > self._seq, it.seq <= upto).order_by(it.seq)
        changes = {row.intent_id: row for row in source.execute(query)}
        changed = sorted(changes)
        for start in range(0, len(changed), _AMONG):
            ids = changed[start : start + _AMONG]
            sent: defaultdict[str, list[int]] = defaultdict(list)
            attempts = []
            began = intent_attempt.c.sent_at
            query = select(intent_attempt).where(
                intent_attempt.c.intent_id.in_(ids), began <= self._dated
            )
            for row in source.execute(query.order_by(began)):
                sent[row.intent_id].append(row.sent_at)
                running = row.ended_at is None or row.ended_at > self._dated
                attempts.append(
                    _with(intent_attempt, row, dict.fromkeys(_ENDING) if running else {})
                )
            intents = []
            for row in source.execute(select(intent).where(intent.c.id.in_(ids))):
                last, times = changes[row.id], sent[row.id]
                closed = row.window_closed_at
                was = {
                    **{name: getattr(last, name) for name in _CHANGED},
                    "attempts": len(times),
                    "first_sent_at": min(times, default=None),
                    "target": row.target if times else None,
                    "window_closed_at": closed if closed and closed <= self._dated else None,
                    "claimed_by": None,
                    "claimed_until": None,
                }
                intents.append(_with(intent, row, was))
            for table, of, rows in (
                (intent, intent.c.id, intents),
                (intent_attempt, intent_attempt.c.intent_id, attempts),
            ):
                shown = ids if self._masks is None else [self._masks.text(id_) for id_ in ids]
                writing.connection.execute(delete(table).where(of.in_(shown)))
                _insert(writing, table, self._masked(table, rows))

    def _copy_counts(
        self, source: Connection, writing: Transaction, *, before: int, all_of_it: bool
    ) -> None:
        """Copy the counts of what was not kept, as far as they are known to lie in the past.

        The counter of an hour does not say when in it; that of an event does not say when at all.
        """
        it = delivery_rollup.c
        query = select(delivery_rollup).where(
            it.hour >= self._hour,
            it.hour <= before if all_of_it else it.hour < before,
            or_(it.verdict != Verdict.VERIFIED.value, it.hour < deliveries_since(source)),
        )
        rows = self._masked(delivery_rollup, source.execute(query).all())
        statement = insert_into(delivery_rollup, writing.connection.dialect)
        statement = statement.on_conflict_do_update(
            index_elements=list(delivery_rollup.primary_key.columns),
            set_={"count": statement.excluded.count},
        )
        _insert(writing, delivery_rollup, rows, statement)
        if all_of_it:
            often = select(event).where(event.c.arrivals > ROWS_PER_EVENT)
            for row in self._masked(event, source.execute(often).all()):
                known = dict(zip(event.c.keys(), row, strict=True))
                writing.connection.execute(
                    update(event)
                    .where(event.c.id == known["id"], event.c.mode == known["mode"])
                    .values(arrivals=known["arrivals"])
                )

    def _rows(self, source: Connection, table: Table, *where: Any) -> _Rows:
        query = select(table).where(*where).order_by(table.c.seq)
        return self._masked(table, source.execute(query).all())

    def _masked(self, table: Table, rows: _Rows) -> _Rows:
        return rows if self._masks is None else self._masks.rows(table, rows)


@contextmanager
def _facts_are_whole() -> Iterator[None]:
    try:
        yield
    except (WireError, MsgspecError) as error:
        raise StoreUnavailable(
            "an observation is not the one that was written; restore a backup"
        ) from error


def _last_place(source: Connection, after: int, until: int) -> int:
    """Return the last place before the first fact after `after` that is dated past `until`."""
    head: int = source.execute(select(feed_head.c.seq)).scalar_one()
    for table, at in _DATES.items():
        place = table.c.seq
        query = select(place).where(place > after, at > until).order_by(place).limit(1)
        first = source.execute(query).scalar_one_or_none()
        head = head if first is None else min(head, first - 1)
    return max(head, after)


def _insert(writing: Transaction, table: Table, rows: _Rows, statement: Any = None) -> None:
    if rows:
        names = table.c.keys()
        values = [dict(zip(names, row, strict=True)) for row in rows]
        writing.connection.execute(insert(table) if statement is None else statement, values)


def _cells(table: Table, rows: _Rows, column: str) -> list[Any]:
    place = table.c.keys().index(column)
    return [row[place] for row in rows]


def _with(table: Table, row: Sequence[Any], values: dict[str, Any]) -> tuple[Any, ...]:
    """Return a row of `table` with other values in some columns."""
    return tuple(values.get(name, value) for name, value in zip(table.c.keys(), row, strict=True))
