"""Who asks about which open collection: work shared out among any number of pollers.

A lease ends by itself, so the work of a process that died is taken over. On PostgreSQL leasing
skips rows that another one is leasing at this moment instead of waiting behind it. Each poller
notes now and then that it runs, so that its absence can be seen.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, Final

from sqlalchemy import Connection, Select, and_, delete, or_, select, update

from kusanya.store.queries.base import StorePart
from kusanya.store.records import CollectionRow, Poller
from kusanya.store.tables.engine import only_store_errors
from kusanya.store.tables.inserting import insert_into, keep_in_meta
from kusanya.store.tables.schema import claim, collection, store_meta
from kusanya.store.tables.values import clean, from_us, maybe_at, to_us
from kusanya.store.writer.batch import Transaction
from kusanya.store.writer.projection import SHOWN, to_row
from kusanya.wire import Mode

_POLLER: Final = "poller "
"""What the name of a heartbeat in `store_meta` begins with; mode and poller follow."""
_OFFSET: Final = "clock offset "
"""The same of what it found about its machine's clock, in milliseconds."""
_SILENT: Final = "service silent "
"""The same of the instant since which the service has not answered it."""
JOURNAL_COPY: Final = "journal_copy"
"""The name of what a copy without leases has in `store_meta`."""
_FORGOTTEN_AFTER: Final = timedelta(days=7)
"""Heartbeats and leases that ended so long ago are removed."""


class PollLeases(StorePart):
    """Sharing out the collections that have no final state yet."""

    def take(
        self,
        mode: Mode,
        *,
        by: str,
        until: datetime,
        created_before: datetime | None = None,
        limit: int = 100,
    ) -> tuple[CollectionRow, ...]:
        """Reserve up to `limit` open collections for one process until `until`.

        Those never leased first, the oldest first; then those whose lease ended longest ago. Those
        that another process holds are left out, and so are one's own. Durable on return.
        """
        query = _free(mode, self._clock.now(), created_before).limit(limit)
        if self._engines.sqlite:
            return self._take_beside_the_writer(query, by=by, until=until)
        self._writer()
        query = query.with_for_update(of=collection, skip_locked=True)
        with (
            only_store_errors("lease work"),
            self._engines.writing() as connection,
            connection.begin(),
        ):
            free = tuple(to_row(row) for row in connection.execute(query))
            return _won(connection, free, by=by, until=until, now=self._clock.now())

    def _take_beside_the_writer(
        self, query: Select[Any], *, by: str, until: datetime
    ) -> tuple[CollectionRow, ...]:
        """Look for free ones on another connection; SQLite's one writer only decides.

        So a search among many open collections holds up no delivery.
        """

        def decide(free: Sequence[CollectionRow]) -> tuple[CollectionRow, ...]:
            return self._act(
                lambda writing: _won(writing.connection, free, by=by, until=until, now=writing.now)
            )

        while True:
            with self._reading("lease work") as connection:
                free = [to_row(row) for row in connection.execute(query)]
            # Another one may win all of them; then there are others, or none.
            won = decide(free) if free else ()
            if won or not free:
                return won

    def prolong(self, mode: Mode, until: Mapping[str, datetime], *, by: str) -> None:
        """Keep one's own leases on these collections of a mode until the instants given.

        The service has just said of each that it is open. Durable on return. A lease that ended
        and was taken over stays the other's.
        """

        def act(writing: Transaction) -> None:
            for collection_id, instant in until.items():
                writing.connection.execute(
                    update(claim)
                    .where(
                        claim.c.collection_id == clean(collection_id),
                        claim.c.mode == mode.value,
                        claim.c.claimed_by == clean(by),
                    )
                    .values(claimed_until=to_us(instant), asked_at=to_us(writing.now))
                )

        self._act(act)

    def release(self, mode: Mode, ids: Sequence[str], *, by: str) -> None:
        """Give up one's own leases on these collections of a mode; those of others stay."""

        def act(writing: Transaction) -> None:
            writing.connection.execute(
                delete(claim).where(
                    claim.c.collection_id.in_([clean(text) for text in ids]),
                    claim.c.mode == mode.value,
                    claim.c.claimed_by == clean(by),
                )
            )

        self._act(act)

    def record_poll(
        self,
        mode: Mode,
        *,
        by: str,
        clock_offset: timedelta | None = None,
        silent_since: datetime | None = None,
    ) -> None:
        """Note that the poller `by` runs now; durable on return. Old notes and leases are removed.

        `clock_offset` is how far its machine's clock is behind the service's, where it is known;
        `silent_since` is since when the service has not answered it, where it does not.
        Source: none; it makes the absence of a poller visible.
        """

        def act(writing: Transaction) -> None:
            now, old = to_us(writing.now), to_us(writing.now - _FORGOTTEN_AFTER)
            notes = {f"{_POLLER}{mode.value} {clean(by)}": now}
            if clock_offset is not None:
                milliseconds = round(clock_offset / timedelta(milliseconds=1))
                notes[f"{_OFFSET}{mode.value} {clean(by)}"] = milliseconds
            silent = f"{_SILENT}{mode.value} {clean(by)}"
            if silent_since is None:
                writing.connection.execute(delete(store_meta).where(store_meta.c.name == silent))
            else:
                notes[silent] = to_us(silent_since)
            for name, value in notes.items():
                keep_in_meta(writing.connection, name, str(value))
            beats = _noted(writing.connection, _POLLER)
            gone = [name for name, at in beats.items() if at < old]
            gone += [
                f"{kind}{name.removeprefix(_POLLER)}"
                for name in gone
                for kind in (_OFFSET, _SILENT)
            ]
            writing.connection.execute(delete(store_meta).where(store_meta.c.name.in_(gone)))
            writing.connection.execute(delete(claim).where(claim.c.claimed_until < old))

        self._act(act)

    def are_left_out(self) -> bool:
        """Return whether this store is a copy of a journal: it knows of no pollers."""
        query = select(store_meta.c.name).where(store_meta.c.name == JOURNAL_COPY)
        with self._reading("read the pollers") as connection:
            return connection.execute(query).first() is not None

    def pollers(self, mode: Mode) -> tuple[Poller, ...]:
        """Return the pollers of the last week in one mode, the one that ran last first."""
        begins = f"{_POLLER}{mode.value} "
        with self._reading("read the pollers") as connection:
            beats = _noted(connection, begins)
            offsets = _noted(connection, f"{_OFFSET}{mode.value} ")
            silent = _noted(connection, f"{_SILENT}{mode.value} ")
        found = [
            Poller(
                name=name.removeprefix(begins),
                mode=mode,
                polled_at=from_us(at),
                clock_offset=_offset(offsets.get(f"{_OFFSET}{name.removeprefix(_POLLER)}")),
                silent_since=maybe_at(silent.get(f"{_SILENT}{name.removeprefix(_POLLER)}")),
            )
            for name, at in beats.items()
        ]
        return tuple(sorted(found, key=lambda one: one.polled_at, reverse=True))


def _free(mode: Mode, now: datetime, created_before: datetime | None) -> Select[Any]:
    it, until = collection.c, claim.c.claimed_until
    query = (
        select(*SHOWN)
        .outerjoin(claim, and_(claim.c.collection_id == it.id, claim.c.mode == it.mode))
        .where(
            it.mode == mode.value,
            it.final_seen_at.is_(None),
            or_(until.is_(None), until <= to_us(now)),
        )
        .order_by(until.nulls_first(), it.created_at, it.id)
    )
    return query if created_before is None else query.where(it.created_at < to_us(created_before))


def _noted(connection: Connection, begins: str) -> dict[str, int]:
    query = select(store_meta.c.name, store_meta.c.value)
    rows = connection.execute(query.where(store_meta.c.name.startswith(begins, autoescape=True)))
    return {row[0]: int(row[1]) for row in rows}


def _offset(milliseconds: int | None) -> timedelta | None:
    return None if milliseconds is None else timedelta(milliseconds=milliseconds)


def _won(
    connection: Connection,
    free: Sequence[CollectionRow],
    *,
    by: str,
    until: datetime,
    now: datetime,
) -> tuple[CollectionRow, ...]:
    """Lease those of `free` that are so still, at this very moment; return them."""
    if not free:
        return ()
    rows = [
        {
            "collection_id": row.id,
            "mode": row.mode.value,
            "claimed_by": clean(by),
            "claimed_until": to_us(until),
        }
        for row in free
    ]
    insert = insert_into(claim, connection.dialect).values(rows)
    # What was read may have been leased since: only the unique key decides.
    upsert = insert.on_conflict_do_update(
        index_elements=[claim.c.collection_id, claim.c.mode],
        set_={
            "claimed_by": insert.excluded.claimed_by,
            "claimed_until": insert.excluded.claimed_until,
        },
        where=claim.c.claimed_until <= to_us(now),
    ).returning(claim.c.collection_id)
    won = set(connection.execute(upsert).scalars())
    return tuple(row for row in free if row.id in won)
