"""Care of the store: does it agree with itself, compute it again, copy it."""

from collections import Counter
from collections.abc import Iterable, Iterator
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any, Final

from sqlalchemy import Connection, exists, func, or_, select, text

from kusanya.errors import StoreDamaged, StoreUnavailable
from kusanya.store.maintenance.backing_up import copy_to
from kusanya.store.maintenance.journal_copy import JournalCopy, copy_as_of
from kusanya.store.maintenance.retention import deliveries_since
from kusanya.store.queries.backups import record
from kusanya.store.queries.base import StorePart, StoreParts
from kusanya.store.queries.notes_and_audit import operating_system_user
from kusanya.store.records import (
    BackupResult,
    CopyResult,
    IntentState,
    RebuildResult,
    StoreFinding,
    Verdict,
)
from kusanya.store.tables.engine import engines
from kusanya.store.tables.payload import body_digest
from kusanya.store.tables.schema import (
    audit,
    break_fact,
    collection,
    delivery,
    delivery_rollup,
    event,
    feed_head,
    intent,
    intent_change,
    note,
    observation,
    outcome,
    receipt,
    rollup,
)
from kusanya.store.tables.sessions import are_masked
from kusanya.store.tables.values import hour_of, to_us
from kusanya.store.writer.refold import (
    Pair,
    add_to,
    empty_sums,
    kept_sums,
    orphans,
    projections,
    projections_of,
    rebuild,
    rows_summed,
)

_SHOWN: Final = 20
"""Findings of one kind that are listed one by one; the rest is counted."""
JOURNAL: Final = (observation, delivery, intent_change, note, audit, break_fact, receipt, outcome)
"""The tables of facts."""
_OTHER_BODY: Final = "its body is not the one that arrived; restore a backup"


class Maintenance(StorePart):
    """Checking, rebuilding and copying."""

    def check(self, *, since: datetime | None = None) -> tuple[StoreFinding, ...]:
        """Return every disagreement of the store with itself; none means that it is sound.

        Holds the engine's own integrity, the facts against their digests, the projection against
        the fold, the rollups against a full scan, the journal against its counter, and settled
        intents against the collections that they are said to have become.

        With `since` it looks at what was written from that instant on, and at the whole hours and
        payments that this is about; of what is older it counts the facts alone.
        """
        try:
            return self._checked(since)
        except StoreDamaged as error:
            return (StoreFinding(kind="integrity", subject=None, sentence=str(error)),)

    def _checked(self, since: datetime | None) -> tuple[StoreFinding, ...]:
        # One moment for all comparisons, while others go on writing.
        with self._reading_one_moment("check the store") as connection:
            if are_masked(connection):
                raise StoreUnavailable(
                    "this login sees masked views of the store, which do not agree with each "
                    "other: check it with a login of the role kusanya_ask"
                )
            if since is None:
                found = list(_integrity(connection, sqlite=self._engines.sqlite))
                if found:
                    # What is read from a damaged file proves nothing.
                    return tuple(found)
                parts = [_projections(connection, projections(connection)), _orphans(connection)]
                begin, place = 0, 0
            else:
                begin, place = hour_of(to_us(since)), _place_at(connection, to_us(since))
                found, parts = [], [_projections_of(connection, begin, place)]
            parts += [
                _counted_deliveries(connection, begin),
                _journal(connection),
                _events(connection) if since is None else _events_after(connection, place),
                _resolved_intents(connection, place),
                _receipts(connection, place),
            ]
            for part in parts:
                found.extend(_few(part))
            return tuple(found)

    def rebuild(self) -> RebuildResult:
        """Compute projection and rollups again from the facts; return how many rows changed.

        Nothing changes in a sound store. Writers wait until it is done.
        """
        return self._act(rebuild)

    def backup(self, path: str | Path) -> BackupResult:
        """Copy the store to a new file of this user's while it is in use, and check the copy.

        The file is durable on return. The copy of a file is checked as by `check`, a dump that
        pg_dump makes of a PostgreSQL database is read to its end. Where nothing is found the store
        remembers it, audited, unless it was opened read-only. Raises StoreUnavailable when the file
        exists, and where PostgreSQL's programs are not there or fail.
        """
        target = Path(path)
        made = copy_to(self._engines, target, clock=self._clock)
        findings = self._findings_of(target) if self._engines.sqlite else ()
        if self._journal is not None and not findings:
            self._act(partial(record, backup=made, actor=operating_system_user()))
        return BackupResult(backup=made, findings=findings)

    def _findings_of(self, target: Path) -> tuple[StoreFinding, ...]:
        copy = engines(str(target), read_only=True)
        try:
            opened = StoreParts(copy, None, self._clock, self._store_id)
            return Maintenance(opened).check()
        finally:
            copy.dispose()

    def copy(self, path: str | Path, *, as_of: datetime, masked: bool = False) -> CopyResult:
        """Make a new SQLite store at `path` that holds what this one knew at an instant.

        It reads one moment's store, while others go on writing. With `masked` it may be handed on:
        no whole phone, no words of a person, no body. Raises StoreUnavailable where the file exists
        or cannot be written, and for a damaged fact.
        """
        return copy_as_of(self._engines, Path(path), as_of, masked=masked)

    def journal_copy(self, path: str | Path, *, masked: bool = False) -> JournalCopy:
        """Return a new, empty store at `path` that `advance` fills from this one's journal."""
        return JournalCopy(self._engines, Path(path), masked=masked)


def _few(found: Iterator[StoreFinding]) -> Iterator[StoreFinding]:
    seen: Counter[str] = Counter()
    for finding in found:
        seen[finding.kind] += 1
        if seen[finding.kind] <= _SHOWN:
            yield finding
    for kind, count in seen.items():
        if count > _SHOWN:
            yield StoreFinding(
                kind=kind, subject=None, sentence=f"and {count - _SHOWN} more like these"
            )


def _integrity(connection: Connection, *, sqlite: bool) -> Iterator[StoreFinding]:
    if not sqlite:
        return
    for (line,) in connection.execute(text("PRAGMA integrity_check")):
        if line != "ok":
            yield StoreFinding(
                kind="integrity",
                subject=None,
                sentence=f"the file is damaged: {line}; restore a backup",
            )
    for table, row, parent, _ in connection.execute(text("PRAGMA foreign_key_check")):
        yield StoreFinding(
            kind="integrity", subject=None, sentence=f"{table} row {row} points to no {parent}"
        )


def _place_at(connection: Connection, since: int) -> int:
    """Return the place before the first observation or delivery from an instant on.

    Facts are dated as they are written, one after the other: halves find it.
    """
    first: int = connection.execute(select(feed_head.c.seq)).scalar_one()
    for table, at in ((observation, observation.c.observed_at), (delivery, delivery.c.arrived_at)):
        low, high = 0, first
        while low < high:
            middle = (low + high) // 2
            of_it = table.c.seq.between(middle + 1, high)
            query = select(table.c.seq, at).where(of_it).order_by(table.c.seq).limit(1)
            found = connection.execute(query).one_or_none()
            if found is not None and found[1] < since:
                low = found[0]
                continue
            high = middle
            if found is not None:
                first = found[0] - 1
    return first


def _projections_of(connection: Connection, begin: int, place: int) -> Iterator[StoreFinding]:
    """Check the payments that facts after a place speak of, and the sums of all their hours."""
    it = observation.c.collection_id
    named = select(it).where(observation.c.seq > place).distinct()
    hours: set[int] = set()
    for pair in projections_of(connection, connection.execute(named).scalars().all()):
        if not isinstance(pair, StoreFinding):
            hours.update(hour_of(row.created_at) for row in pair if row is not None)
        yield from _differing(pair)
    older = {hour for hour in hours if hour < begin}
    of_them = or_(rollup.c.hour >= begin, rollup.c.hour.in_(older))
    if rows_summed(connection, begin, older) != kept_sums(connection, of_them):
        yield _other_sums()


def _projections(
    connection: Connection, pairs: Iterable[Pair | StoreFinding]
) -> Iterator[StoreFinding]:
    sums = empty_sums()
    for pair in pairs:
        if not isinstance(pair, StoreFinding) and pair[0] is not None:
            add_to(sums, pair[0])
        yield from _differing(pair)
    if kept_sums(connection) != dict(sums):
        yield _other_sums()


def _differing(pair: Pair | StoreFinding) -> Iterator[StoreFinding]:
    if isinstance(pair, StoreFinding):
        yield pair
        return
    wanted, kept = pair
    if kept is not None and wanted is None:
        yield _unfounded(kept.id)
    elif wanted is not None and kept != wanted:
        yield StoreFinding(
            kind="projection",
            subject=wanted.id,
            sentence="its row is not what its observations say; run kusanya store rebuild",
        )


def _other_sums() -> StoreFinding:
    return StoreFinding(
        kind="rollup",
        subject=None,
        sentence="the sums are not those of the collections; run kusanya store rebuild",
    )


def _orphans(connection: Connection) -> Iterator[StoreFinding]:
    yield from map(_unfounded, orphans(connection))


def _unfounded(collection_id: str) -> StoreFinding:
    return StoreFinding(
        kind="projection",
        subject=collection_id,
        sentence="its row follows from no observation; run kusanya store rebuild",
    )


def _counted_deliveries(connection: Connection, begin: int) -> Iterator[StoreFinding]:
    it, kept = delivery.c, Counter[tuple[Any, ...]]()
    query = select(it.mode, it.arrived_at, it.endpoint, it.verdict, it.reason)
    query = query.where(it.arrived_at >= begin) if begin else query
    for mode, at, endpoint, verdict, reason in connection.execute(
        query.execution_options(yield_per=10_000)
    ):
        kept[(mode, hour_of(at), endpoint, verdict, reason or "")] += 1
    of_them = select(delivery_rollup).where(delivery_rollup.c.hour >= begin)
    counted = {tuple(row[:5]): row[5] for row in connection.execute(of_them)}
    for bucket, number in kept.items():
        verified = bucket[3] == "verified"
        # What is rejected or says nothing new is counted whether or not it is kept.
        if number > counted.get(bucket, 0) or (verified and number != counted[bucket]):
            yield StoreFinding(
                kind="delivery count",
                subject=bucket[2],
                sentence="deliveries of an hour are not counted as they are kept",
            )


def _journal(connection: Connection) -> Iterator[StoreFinding]:
    head, removed = connection.execute(select(feed_head.c.seq, feed_head.c.removed)).one()
    rows = 0
    for table in JOURNAL:
        count, last = connection.execute(
            select(func.count(), func.coalesce(func.max(table.c.seq), 0)).select_from(table)
        ).one()
        rows += count
        if last > head:
            yield StoreFinding(
                kind="journal",
                subject=table.name,
                sentence="the journal is longer than its counter says; restore a backup",
            )
    if rows + removed != head:
        yield StoreFinding(
            kind="journal",
            subject=None,
            sentence=f"{head - removed} changes were written and {rows} are there; "
            "restore a backup",
        )


def _events(connection: Connection) -> Iterator[StoreFinding]:
    first = select(
        event.c.id, event.c.digest, event.c.first_arrived_at, delivery.c.seq, delivery.c.body
    ).outerjoin_from(
        event,
        delivery,
        (delivery.c.seq == event.c.seq) & (delivery.c.event_id == event.c.id),
    )
    since = deliveries_since(connection)
    for event_id, digest, at, seq, body in connection.execute(
        first.execution_options(yield_per=1_000)
    ):
        if seq is None and at < since:
            continue  # let go with its month
        if seq is None:
            yield StoreFinding(
                kind="event",
                subject=event_id,
                sentence="the delivery that brought it first is missing; restore a backup",
            )
        elif body is not None and body_digest(body) != bytes(digest):
            yield StoreFinding(
                kind="event",
                subject=event_id,
                sentence=_OTHER_BODY,
            )


def _events_after(connection: Connection, place: int) -> Iterator[StoreFinding]:
    it = delivery.c
    of_it = (event.c.id == it.event_id) & (event.c.seq == it.seq)
    query = select(it.event_id, it.body, event.c.digest).outerjoin_from(delivery, event, of_it)
    query = query.where(it.seq > place, it.verdict == Verdict.VERIFIED.value)
    for event_id, body, digest in connection.execute(query.execution_options(yield_per=1_000)):
        if digest is None:
            yield StoreFinding(
                kind="event",
                subject=event_id,
                sentence="a delivery brought it first, and it is missing; restore a backup",
            )
        elif body is not None and body_digest(body) != bytes(digest):
            yield StoreFinding(kind="event", subject=event_id, sentence=_OTHER_BODY)


def _resolved_intents(connection: Connection, place: int) -> Iterator[StoreFinding]:
    of, it = intent.c, collection.c
    same = (
        (it.mode == of.mode)
        & (it.reference == of.reference)
        & (it.amount == of.amount)
        & (func.ltrim(it.phone, "+") == func.ltrim(of.phone, "+"))
    )
    known = it.id == of.collection_id
    query = select(of.id, of.collection_id).where(
        of.state == IntentState.SETTLED.value,
        exists().where(known),
        ~exists().where(known & same),
        of.seq > place,
    )
    for intent_id, collection_id in connection.execute(query):
        yield StoreFinding(
            kind="intent",
            subject=intent_id,
            sentence=f"it counts as {collection_id}, whose mode, reference, amount or phone is "
            "another: look both up, and write a note on the creation",
        )


def _receipts(connection: Connection, place: int) -> Iterator[StoreFinding]:
    it, of = receipt.c, collection.c
    query = select(it.receipt, it.collection_id).where(
        it.seq > place, ~exists().where((of.id == it.collection_id) & (of.mode == it.mode))
    )
    for said, collection_id in connection.execute(query):
        yield StoreFinding(
            kind="receipt",
            subject=said,
            sentence=f"its collection {collection_id} is not there; restore a backup",
        )
