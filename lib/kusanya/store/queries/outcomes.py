"""Outcomes of orders: told from the journal behind its writer, and handed to those who act on them.

Telling costs a receiver nothing: whoever consumes reads the journal forward from the place up to
which outcomes were told, under the journal's lock, so that no two tell the same. Work that is
handed out is leased; that it is done is known once the row is gone. An outcome whose lease ran out
is handed out again: the shop's own table makes it happen once (`kusanya.outcomes.claim`).
"""

from collections.abc import Iterable
from datetime import datetime
from hashlib import sha256
from typing import Any, Final

import msgspec
from sqlalchemy import (
    ColumnElement,
    Connection,
    Row,
    Select,
    and_,
    bindparam,
    delete,
    exists,
    func,
    insert,
    or_,
    select,
    union,
    update,
)

from kusanya.domain.collection_columns import NAME_MAX
from kusanya.errors import StoreChanged, StoreError
from kusanya.state.fold import fold
from kusanya.store.queries.base import StorePart
from kusanya.store.queries.intents.order import order_of
from kusanya.store.queries.notes_and_audit import audited
from kusanya.store.queries.restores import restored_at
from kusanya.store.records.erased_names import maybe_erased
from kusanya.store.records.order import OrderFacts
from kusanya.store.records.outcomes import (
    DECISIVE,
    ConsumerRow,
    Ending,
    Kind,
    Outcome,
    Work,
    news,
)
from kusanya.store.tables.inserting import keep_in_meta
from kusanya.store.tables.payload import unpack
from kusanya.store.tables.schema import (
    collection,
    consumer,
    feed_head,
    intent,
    intent_change,
    observation,
    outcome,
    outcome_work,
    receipt,
    store_meta,
)
from kusanya.store.tables.values import clean, from_us, maybe_at, maybe_us, to_us
from kusanya.store.writer.batch import Transaction
from kusanya.wire import Mode

_TOLD: Final = "outcomes told"
"""The row of `store_meta` with the place up to which outcomes were told."""
_STEP: Final = 200
"""Places of the journal that one transaction tells of: others wait for its lock."""
_COUNTED: Final = 10_000
"""Of what a consumer has not taken over no more is counted."""
_FIELDS: Final = Outcome.__struct_fields__
_OUTCOME: Final = tuple(outcome.c[name] for name in _FIELDS)
_WORK: Final = (
    outcome_work.c.consumer,
    outcome_work.c.tries,
    outcome_work.c.due_at,
    outcome_work.c.parked,
    outcome_work.c.why,
)


# Made once: building a statement costs many times what running it does.
_SAID: Final = (
    select(*_OUTCOME)
    .where(
        outcome.c.mode == bindparam("of_mode"),
        outcome.c.reference.in_((bindparam("of_reference"), bindparam("erased_reference"))),
    )
    .order_by(outcome.c.seq)
)
_IS_TOLD: Final = select(outcome.c.seq).where(outcome.c.id == bindparam("of"))
_TELL: Final = insert(outcome)
_FACTS: Final = (
    select(observation.c.payload)
    .where(observation.c.collection_id == bindparam("of"))
    .order_by(observation.c.seq)
)


class Outcomes(StorePart):
    """Telling, reading and handing out outcomes."""

    def tell(self) -> int:
        """Tell what the facts since the last time mean; return how many outcomes that were.

        Durable on return. Nothing is told before the first consumer was added. Raises StoreError.
        """
        told = 0
        while True:
            with self._reading("read how far outcomes were told") as connection:
                place = _told(connection)
                head: int = connection.execute(select(feed_head.c.seq)).scalar_one()
            if place is None or place >= head:
                return told
            told += self._act(_tell)

    def of(self, mode: Mode, reference: str) -> tuple[Outcome, ...]:
        """Return what was said of an order, oldest first. Raises StoreError."""
        with self._reading("read the outcomes of an order") as connection:
            return _said(connection, mode, reference)

    def page(
        self, mode: Mode, *, after: int = 0, epoch: str = "", limit: int = 200
    ) -> tuple[Outcome, ...]:
        """Return the outcomes of a mode after place `after`, oldest first, at most `limit`.

        With `epoch` a place of another one raises StoreChanged. Raises StoreError.
        """
        it = outcome.c
        query = select(*_OUTCOME).where(it.mode == mode.value, it.seq > after)
        with self._reading("read outcomes") as connection:
            if epoch:
                _check_epoch(connection, self._store_id, epoch, of="this place")
            rows = connection.execute(query.order_by(it.seq).limit(limit))
            return tuple(_to_outcome(row) for row in rows)

    @property
    def epoch(self) -> str:
        """Return what changes with a restore or a new store: where places may have been lost.

        A place that a reader keeps elsewhere is worth nothing in another epoch.
        """
        with self._reading("read the epoch of the store") as connection:
            return _epoch(connection, self._store_id)

    def add(
        self, name: str, *, mode: Mode, begin: datetime | None, all_: bool = False, actor: str
    ) -> ConsumerRow:
        """Add a consumer, audited; one of that name stays as it is.

        It begins with what becomes known from now on, with what became known from `begin` on, or
        with `all_` that was ever known. Durable on return. Raises ValueError for another mode than
        the known one's, StoreError.
        """

        def begin_telling(writing: Transaction) -> None:
            if _told(writing.connection) is None:
                keep_in_meta(writing.connection, _TOLD, "0")

        def act(writing: Transaction) -> None:
            if self._consumer(writing.connection, name) is not None:
                return
            place = 0 if all_ or begin is not None else writing.head
            writing.connection.execute(
                insert(consumer).values(
                    name=clean(name, NAME_MAX),
                    mode=mode.value,
                    place=place,
                    begins_at=maybe_us(begin),
                    epoch=_epoch(writing.connection, self._store_id),
                    added_at=to_us(writing.now),
                )
            )
            since = "all" if all_ else "now" if begin is None else begin.isoformat()
            _audit(writing, actor, "add consumer", name, f"{mode.value} mode, begins with: {since}")

        self._act(begin_telling)
        # What is old is told too: the second success of an old order is not its first.
        self.tell()
        self._act(act)
        found = self._named(name)
        if found.mode is not mode:
            raise ValueError(f"consumer {name} is there already, for {found.mode.value} mode")
        return found

    def rejoin(self, name: str, *, actor: str) -> None:
        """Let a consumer go on in this epoch, audited. Raises StoreError for an unknown one."""

        def act(writing: Transaction) -> None:
            epoch = _epoch(writing.connection, self._store_id)
            if self._consumer(writing.connection, name) is None:
                raise _unknown(name)
            change = update(consumer).where(consumer.c.name == name)
            writing.connection.execute(change.values(epoch=epoch))
            _audit(writing, actor, "rejoin consumer", name, f"epoch {epoch}")

        self._act(act)

    def consumers(self) -> tuple[ConsumerRow, ...]:
        """Return the consumers by name, and how much waits for each. Raises StoreError."""
        with self._reading_one_moment("read the consumers") as connection:
            rows = connection.execute(select(consumer).order_by(consumer.c.name)).all()
            return tuple(_with_waiting(connection, _to_consumer(row)) for row in rows)

    def take(self, name: str, *, by: str, until: datetime, limit: int) -> tuple[Work, ...]:
        """Lease what is due for a consumer until `until`: of each order the first, oldest first.

        Durable on return. Raises StoreChanged after a restore, StoreError for an unknown consumer.
        """
        row = self._named(name)
        now = self._clock.now()
        with self._reading("read the work of a consumer") as connection:
            _check_epoch(connection, self._store_id, row.epoch, of=f"consumer {name}")
            fresh = connection.execute(_after(row).limit(1)).first()
            if fresh is None and connection.execute(_due(name, now).limit(1)).first() is None:
                return ()

        def act(writing: Transaction) -> tuple[Work, ...]:
            connection = writing.connection
            row = self._consumer(connection, name)
            if row is None:
                raise _unknown(name)
            places = connection.execute(_after(row).limit(limit)).scalars().all()
            for place in places:
                connection.execute(_new_work(name, place, due_at=writing.now))
            if places:
                moved = update(consumer).where(consumer.c.name == name)
                connection.execute(moved.values(place=places[-1]))
            due = connection.execute(_due(name, writing.now).limit(limit)).all()
            taken = tuple(_to_work(one) for one in due)
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
            return tuple(_to_work(row) for row in connection.execute(query))

    def retry(self, name: str, outcome_id: str, *, actor: str) -> None:
        """Let work be tried at once, parked or not; audited. Raises StoreError for none."""

        def act(writing: Transaction) -> None:
            seq = self._work_seq(writing.connection, name, outcome_id)
            writing.connection.execute(
                update(outcome_work)
                .where(_mine(name, [seq]))
                .values(parked=False, tries=0, due_at=to_us(writing.now), claimed_until=None)
            )
            _audit(writing, actor, "retry outcome", outcome_id, f"consumer {name}")

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
            _audit(writing, actor, "skip outcome", outcome_id, f"consumer {name}: {why}")

        self._act(act)

    def replay(self, name: str, *, since: datetime, actor: str) -> int:
        """Hand out again what became known from `since` on, audited; return how many that are.

        For a shop whose database was put back from a backup: what its table knows is done once.
        """

        def act(writing: Transaction) -> int:
            row = self._consumer(writing.connection, name)
            if row is None:
                raise _unknown(name)
            it = outcome.c
            again = select(it.seq).where(
                it.mode == row.mode.value, it.seq <= row.place, it.at >= to_us(since)
            )
            known = select(outcome_work.c.seq).where(outcome_work.c.consumer == name)
            places = writing.connection.execute(again.where(it.seq.not_in(known))).scalars().all()
            for place in places:
                writing.connection.execute(_new_work(name, place, due_at=writing.now))
            detail = f"since {since.isoformat()}: {len(places)} outcomes"
            _audit(writing, actor, "replay outcomes", name, detail)
            return len(places)

        return self._act(act)

    def _named(self, name: str) -> ConsumerRow:
        with self._reading("read a consumer") as connection:
            found = self._consumer(connection, name)
        if found is None:
            raise _unknown(name)
        return found

    def _consumer(self, connection: Connection, name: str) -> ConsumerRow | None:
        query = select(consumer).where(consumer.c.name == clean(name, NAME_MAX))
        row = connection.execute(query).one_or_none()
        return None if row is None else _to_consumer(row)

    def _work_seq(self, connection: Connection, name: str, outcome_id: str) -> int:
        query = _work(name).where(outcome.c.id == outcome_id).with_only_columns(outcome.c.seq)
        seq: int | None = connection.execute(query).scalar_one_or_none()
        if seq is None:
            raise StoreError(
                f"consumer {name} has no outcome {outcome_id} to do: it is done, skipped, or not "
                f"taken over yet (kusanya outcomes list {name})"
            )
        return seq


def _unknown(name: str) -> StoreError:
    return StoreError(
        f"there is no consumer {name}: kusanya outcomes add {name} --begin now makes one, and says "
        "with which outcomes it begins"
    )


def _told(connection: Connection) -> int | None:
    query = select(store_meta.c.value).where(store_meta.c.name == _TOLD)
    value: str | None = connection.execute(query).scalar_one_or_none()
    return None if value is None else int(value)


def _tell(writing: Transaction) -> int:
    """Tell what the next places of the journal mean, up to a bound."""
    connection = writing.connection
    place = _told(connection)
    if place is None:
        return 0
    upto, told = min(place + _STEP, writing.head), 0
    for mode, reference in sorted(connection.execute(_orders_between(place, upto)).all()):
        order = order_of(connection, Mode(mode), reference)
        said, doubted = _said(connection, order.mode, reference), _doubted(connection, order)
        for one in news(order, said, now=writing.now, doubted=doubted):
            # The names of an order that is being erased change one table after the other.
            if connection.execute(_IS_TOLD, {"of": one.id}).first() is not None:
                continue
            values = {name: getattr(one, name) for name in _FIELDS}
            values |= {"seq": writing.seq(), "mode": mode, "kind": one.kind.value}
            connection.execute(_TELL, {**values, "at": to_us(one.at)})
            told += 1
    keep_in_meta(connection, _TOLD, str(upto))
    return told


def _doubted(connection: Connection, order: OrderFacts) -> frozenset[str]:
    """Return the paid collections of an order of which facts differ in what decides."""
    doubted = set()
    for row in order.collections:
        if row.is_paid and row.contradictions:
            payloads = connection.execute(_FACTS, {"of": row.id}).scalars()
            state = fold([unpack(payload) for payload in payloads], mode=order.mode)
            if any(one.field in DECISIVE for one in state.contradictions):
                doubted.add(row.id)
    return frozenset(doubted)


def _orders_between(after: int, upto: int) -> Any:
    """Return the query for the orders of which facts between two places speak."""
    it, row = collection.c, receipt.c
    seen, changed = observation.c, intent_change.c
    of_collections = [
        select(it.mode, it.reference)
        .join(table, and_(of.collection_id == it.id, of.mode == it.mode))
        .where(of.seq > after, of.seq <= upto)
        for table, of in ((observation, seen), (receipt, row))
    ]
    of_intents = (
        select(intent.c.mode, intent.c.reference)
        .join(intent_change, changed.intent_id == intent.c.id)
        .where(changed.seq > after, changed.seq <= upto)
    )
    return union(*of_collections, of_intents)


def _said(connection: Connection, mode: Mode, reference: str) -> tuple[Outcome, ...]:
    said = clean(reference, NAME_MAX)
    asked = {"of_mode": mode.value, "of_reference": said, "erased_reference": maybe_erased(said)}
    return tuple(_to_outcome(row) for row in connection.execute(_SAID, asked))


def _epoch(connection: Connection, store_id: str) -> str:
    at = restored_at(connection)
    said = f"{store_id} {'' if at is None else at.isoformat()}"
    return sha256(said.encode()).hexdigest()[:12]


def _check_epoch(connection: Connection, store_id: str, epoch: str, *, of: str) -> None:
    now = _epoch(connection, store_id)
    if now != epoch:
        raise StoreChanged(
            f"{of} is of epoch {epoch} and the store of {now}: it was restored, or is another one. "
            "What the shop did since the backup is in its own table and is not done twice; when "
            "the payments of that time are in the store again: kusanya outcomes rejoin NAME"
        )


def _after(row: ConsumerRow) -> Select[Any]:
    it = outcome.c
    query = select(it.seq).where(it.mode == row.mode.value, it.seq > row.place).order_by(it.seq)
    return query if row.begins_at is None else query.where(it.at >= to_us(row.begins_at))


def _new_work(name: str, seq: int, *, due_at: datetime) -> Any:
    return insert(outcome_work).values(
        consumer=name, seq=seq, parked=False, tries=0, due_at=to_us(due_at), why=""
    )


def _work(name: str) -> Select[Any]:
    return (
        select(*_OUTCOME, *_WORK)
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


def _with_waiting(connection: Connection, row: ConsumerRow) -> ConsumerRow:
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


def _audit(writing: Transaction, actor: str, act: str, subject: str, detail: str) -> None:
    audited(writing, actor=actor, act=act, subject=subject, detail=detail, outcome="done")


def _to_outcome(row: Row[Any]) -> Outcome:
    values = dict(zip(_FIELDS, row, strict=False))
    read = {"mode": Mode(values["mode"]), "kind": Kind(values["kind"]), "at": from_us(values["at"])}
    return Outcome(**{**values, **read})


def _to_work(row: Row[Any]) -> Work:
    name, tries, due_at, parked, why = row[len(_FIELDS) :]
    return Work(
        outcome=_to_outcome(row),
        consumer=name,
        tries=tries,
        due_at=from_us(due_at),
        parked=parked,
        why=why,
    )


def _to_consumer(row: Row[Any]) -> ConsumerRow:
    return ConsumerRow(
        name=row.name,
        mode=Mode(row.mode),
        place=row.place,
        begins_at=maybe_at(row.begins_at),
        epoch=row.epoch,
        added_at=from_us(row.added_at),
    )
