"""Handing out outcomes to those who act on them.

Work that is handed out is leased; that it is done is known once the row is gone. An outcome whose
lease ran out is handed out again: the shop's own table makes it happen once, see
`kusanya.outcomes.claim`.
"""

from collections.abc import Iterable
from datetime import datetime
from typing import Any, Final

import msgspec
from sqlalchemy import (
    ColumnElement,
    Connection,
    Select,
    and_,
    delete,
    exists,
    func,
    insert,
    or_,
    select,
    update,
)

from kusanya.domain.collection_columns import NAME_MAX
from kusanya.errors import StoreError
from kusanya.store.queries.base import StorePart
from kusanya.store.queries.outcomes.rows import (
    ADDED,
    OUTCOME,
    WORK,
    audit_of,
    check_epoch,
    to_consumer,
    to_work,
    unknown,
)
from kusanya.store.records.outcomes import (
    ConsumerRow,
    Ending,
    Outcome,
    Work,
)
from kusanya.store.tables.schema import (
    audit,
    consumer,
    outcome,
    outcome_work,
)
from kusanya.store.tables.values import clean, maybe_at, to_us
from kusanya.store.writer.batch import Transaction
from kusanya.wire import Mode

_COUNTED: Final = 10_000
"""Of what a consumer has not taken over no more is counted."""


class OutcomeWork(StorePart):
    """What consumers have to do."""

    def take(
        self, name: str, *, mode: Mode, by: str, until: datetime, limit: int
    ) -> tuple[Work, ...]:
        """Lease what is due for a consumer until `until`: of each order the first, oldest first.

        Durable on return. Raises StoreChanged after a restore, StoreError for an unknown consumer
        and for one of the other mode.
        """
        row = self._of_mode(name, mode)
        now = self._clock.now()
        with self._reading("read the work of a consumer") as connection:
            check_epoch(connection, self._store_id, row.epoch, of=f"consumer {name}")
            fresh = connection.execute(_after(row).limit(1)).first()
            if fresh is None and connection.execute(_due(name, now).limit(1)).first() is None:
                return ()

        def act(writing: Transaction) -> tuple[Work, ...]:
            connection = writing.connection
            row = self._consumer(connection, name)
            if row is None:
                raise unknown(name)
            places = connection.execute(_after(row).limit(limit)).scalars().all()
            for place in places:
                connection.execute(_new_work(name, place, due_at=writing.now))
            if places:
                moved = update(consumer).where(consumer.c.name == name)
                connection.execute(moved.values(place=places[-1]))
            due = connection.execute(_due(name, writing.now).limit(limit)).all()
            taken = tuple(to_work(one) for one in due)
            connection.execute(
                update(outcome_work)
                .where(_mine(name, [one.outcome.seq for one in taken]))
                .values(claimed_by=clean(by), claimed_until=to_us(until))
            )
            return taken

        return self._act(act)

    def end(self, name: str, endings: Iterable[Ending], *, by: str) -> None:
        """Keep what tries came to; durable on return. Raises StoreError.

        What is done is done, whoever holds it now; what failed stays with who holds it.
        """
        given = tuple(endings)
        it = outcome_work.c

        def act(writing: Transaction) -> None:
            done = [one.seq for one in given if one.done]
            writing.connection.execute(delete(outcome_work).where(_mine(name, done)))
            for one in given:
                if one.done:
                    continue
                values = {
                    "parked": one.parked,
                    "tries": it.tries + int(one.is_try),
                    "due_at": to_us(one.due_at or writing.now),
                    "why": clean(one.why),
                    "claimed_by": None,
                    "claimed_until": None,
                }
                mine = and_(_mine(name, [one.seq]), it.claimed_by == clean(by))
                writing.connection.execute(update(outcome_work).where(mine).values(values))

        if given:
            self._act(act)

    def done(self, name: str, outcome_id: str, *, mode: Mode) -> None:
        """Keep that an outcome is done, for who pulls; one that is done already stays so.

        Durable on return. Raises StoreError, also for an unknown consumer and one of the other
        mode.
        """
        self._of_mode(name, mode)
        self._act(
            lambda writing: writing.connection.execute(
                delete(outcome_work).where(_of(name, outcome_id))
            )
        )

    def park(self, name: str, outcome_id: str, *, mode: Mode, why: str) -> None:
        """Leave an outcome to a person, for who pulls. Durable on return; raises as `done` does."""
        self._of_mode(name, mode)
        parked = update(outcome_work).where(_of(name, outcome_id))
        values = {"parked": True, "why": clean(why), "claimed_by": None, "claimed_until": None}
        self._act(lambda writing: writing.connection.execute(parked.values(values)))

    def next_due(self, name: str) -> datetime | None:
        """Return when the next work of a consumer is due that is not parked, or None."""
        it = outcome_work.c
        query = select(func.min(func.coalesce(it.claimed_until, it.due_at)))
        with self._reading("read the work of a consumer") as connection:
            found = connection.execute(
                query.where(it.consumer == name, ~it.parked, ~_held_up())
            ).scalar_one()
        return maybe_at(found)

    def work(self, name: str, *, parked: bool | None = None, limit: int = 200) -> tuple[Work, ...]:
        """Return what a consumer took over and has not done, oldest first. Raises StoreError."""
        self._named(name)
        query = _work(name).order_by(outcome_work.c.seq).limit(limit)
        if parked is not None:
            query = query.where(outcome_work.c.parked.is_(parked))
        with self._reading("read the work of a consumer") as connection:
            return tuple(to_work(row) for row in connection.execute(query))

    def left_of(self, outcomes: Iterable[Outcome]) -> tuple[Work, ...]:
        """Return what consumers took over of these and have not done. Raises StoreError."""
        query: Select[Any] = (
            select(*OUTCOME, *WORK)
            .join(outcome_work, outcome_work.c.seq == outcome.c.seq)
            .where(outcome_work.c.seq.in_([one.seq for one in outcomes]))
            .order_by(outcome_work.c.consumer)
        )
        with self._reading("read the work on outcomes") as connection:
            return tuple(to_work(row) for row in connection.execute(query))

    def retry(self, name: str, outcome_id: str, *, actor: str) -> None:
        """Let work be tried at once, parked or not; audited. Raises StoreError for none."""

        def act(writing: Transaction) -> None:
            seq = self._work_seq(writing.connection, name, outcome_id)
            writing.connection.execute(
                update(outcome_work)
                .where(_mine(name, [seq]))
                .values(parked=False, tries=0, due_at=to_us(writing.now), claimed_until=None)
            )
            audit_of(writing, actor, "retry outcome", outcome_id, f"consumer {name}")

        self._act(act)

    def skip(self, name: str, outcome_id: str, *, actor: str, why: str) -> None:
        """Give work up for good, audited: nothing is done for it.

        Raises ValueError without a reason, StoreError where there is no such work.
        """
        if not why.strip():
            raise ValueError("give the reason why nothing is to be done for it")

        def act(writing: Transaction) -> None:
            seq = self._work_seq(writing.connection, name, outcome_id)
            writing.connection.execute(delete(outcome_work).where(_mine(name, [seq])))
            audit_of(writing, actor, "skip outcome", outcome_id, f"consumer {name}: {why}")

        self._act(act)

    def replay(self, name: str, *, since: datetime, actor: str) -> int:
        """Hand out again what became known from `since` on, audited; return how many that are.

        For a shop whose database was put back from a backup: what its table knows is done once.
        What became known before the consumer began was never its own, and is not handed out.
        """

        def act(writing: Transaction) -> int:
            row = self._consumer(writing.connection, name)
            if row is None:
                raise unknown(name)
            it = outcome.c
            began = (
                it.seq > _added_at_place(row)
                if row.begins_at is None
                else it.at >= to_us(row.begins_at)
            )
            again = select(it.seq).where(
                it.mode == row.mode.value, it.seq <= row.place, it.at >= to_us(since), began
            )
            known = select(outcome_work.c.seq).where(outcome_work.c.consumer == name)
            places = writing.connection.execute(again.where(it.seq.not_in(known))).scalars().all()
            for place in places:
                writing.connection.execute(_new_work(name, place, due_at=writing.now))
            detail = f"since {since.isoformat()}: {len(places)} outcomes"
            audit_of(writing, actor, "replay outcomes", name, detail)
            return len(places)

        return self._act(act)

    def _named(self, name: str) -> ConsumerRow:
        with self._reading("read a consumer") as connection:
            found = self._consumer(connection, name)
        if found is None:
            raise unknown(name)
        return found

    def _of_mode(self, name: str, mode: Mode) -> ConsumerRow:
        row = self._named(name)
        if row.mode is not mode:
            raise StoreError(
                f"consumer {name} is for {row.mode.value} mode, not for {mode.value} mode: "
                "name another one"
            )
        return row

    def _consumer(self, connection: Connection, name: str) -> ConsumerRow | None:
        query = select(consumer).where(consumer.c.name == clean(name, NAME_MAX))
        row = connection.execute(query).one_or_none()
        return None if row is None else to_consumer(row)

    def _work_seq(self, connection: Connection, name: str, outcome_id: str) -> int:
        query = _work(name).where(outcome.c.id == outcome_id).with_only_columns(outcome.c.seq)
        seq: int | None = connection.execute(query).scalar_one_or_none()
        if seq is None:
            raise StoreError(
                f"consumer {name} has no outcome {outcome_id} to do: it is done, skipped, or not "
                f"taken over yet (kusanya outcomes list {name})"
            )
        return seq


def _after(row: ConsumerRow) -> Select[Any]:
    it = outcome.c
    query = select(it.seq).where(it.mode == row.mode.value, it.seq > row.place).order_by(it.seq)
    return query if row.begins_at is None else query.where(it.at >= to_us(row.begins_at))


def _added_at_place(row: ConsumerRow) -> Any:
    """Return the query for the place in the journal where a consumer was added."""
    mine = and_(audit.c.act == ADDED, audit.c.subject == row.name)
    return select(func.coalesce(func.max(audit.c.seq), 0)).where(mine).scalar_subquery()


def _new_work(name: str, seq: int, *, due_at: datetime) -> Any:
    return insert(outcome_work).values(
        consumer=name, seq=seq, parked=False, tries=0, due_at=to_us(due_at), why=""
    )


def _work(name: str) -> Select[Any]:
    return (
        select(*OUTCOME, *WORK)
        .join(outcome_work, outcome_work.c.seq == outcome.c.seq)
        .where(outcome_work.c.consumer == name)
    )


def _held_up() -> ColumnElement[bool]:
    """Return whether an earlier outcome of the same order is not done; all are of one mode."""
    mine, earlier, its = outcome.alias("mine"), outcome.alias("earlier"), outcome_work.alias("its")
    return exists().where(
        mine.c.seq == outcome_work.c.seq,
        earlier.c.reference == mine.c.reference,
        earlier.c.seq < mine.c.seq,
        its.c.seq == earlier.c.seq,
        its.c.consumer == outcome_work.c.consumer,
    )


def _due(name: str, now: datetime) -> Select[Any]:
    it = outcome_work.c
    free = or_(it.claimed_until.is_(None), it.claimed_until <= to_us(now))
    due = and_(~it.parked, it.due_at <= to_us(now), free, ~_held_up())
    return _work(name).where(due).order_by(it.seq)


def _mine(name: str, places: Iterable[int]) -> ColumnElement[bool]:
    return and_(outcome_work.c.consumer == name, outcome_work.c.seq.in_(list(places)))


def _of(name: str, outcome_id: str) -> ColumnElement[bool]:
    seq = select(outcome.c.seq).where(outcome.c.id == outcome_id).scalar_subquery()
    return and_(outcome_work.c.consumer == name, outcome_work.c.seq == seq)


def with_waiting(connection: Connection, row: ConsumerRow) -> ConsumerRow:
    """Return a consumer with what waits for it."""
    it = outcome_work.c
    # What it has not taken over waits too.
    after = _after(row).limit(_COUNTED).subquery()
    mine = (
        select(it.parked, outcome.c.at, outcome.c.is_paid.label("paid"))
        .join(outcome, outcome.c.seq == it.seq)
        .where(it.consumer == row.name)
    )
    to_come = select(outcome.c.seq < 0, outcome.c.at, outcome.c.is_paid).join(
        after, after.c.seq == outcome.c.seq
    )
    each = mine.union_all(to_come).subquery()
    counted = select(
        func.count(),
        func.count().filter(each.c.parked),
        func.min(each.c.at).filter(each.c.paid),
        func.max(each.c.at).filter(each.c.parked),
    )
    total, parked, oldest, newest_parked = connection.execute(counted.select_from(each)).one()
    return msgspec.structs.replace(
        row,
        waiting=total - parked,
        parked=parked,
        newest_parked=maybe_at(newest_parked),
        oldest_paid=maybe_at(oldest),
    )
