"""Outcomes of orders: told from the journal behind its writer.

Telling costs a receiver nothing: whoever consumes reads the journal forward from the place up to
which outcomes were told, under the journal's lock, so that no two tell the same.
"""

from datetime import datetime
from typing import Any, Final

from sqlalchemy import (
    Connection,
    and_,
    bindparam,
    insert,
    select,
    union,
    update,
)

from kusanya.domain.collection_columns import NAME_MAX
from kusanya.state.fold import fold
from kusanya.store.queries.intents.order import order_of
from kusanya.store.queries.outcomes.handing_out import OutcomeWork, with_waiting
from kusanya.store.queries.outcomes.rows import (
    ADDED,
    FIELDS,
    OUTCOME,
    audit_of,
    check_epoch,
    epoch_of,
    to_consumer,
    to_outcome,
    unknown,
)
from kusanya.store.records.erased_names import maybe_erased
from kusanya.store.records.order import OrderFacts
from kusanya.store.records.outcomes import (
    DECISIVE,
    ConsumerRow,
    Outcome,
    check_consumer_name,
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
    receipt,
    store_meta,
)
from kusanya.store.tables.values import clean, maybe_us, to_us
from kusanya.store.writer.batch import Transaction
from kusanya.wire import Mode

_TOLD: Final = "outcomes told"
"""The row of `store_meta` with the place up to which outcomes were told."""
_STEP: Final = 200
"""Places of the journal that one transaction tells of: others wait for its lock."""

# Made once: building a statement costs many times what running it does.
_SAID: Final = (
    select(*OUTCOME)
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


class Outcomes(OutcomeWork):
    """Telling and reading outcomes, beside what their consumers have to do."""

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
        query = select(*OUTCOME).where(it.mode == mode.value, it.seq > after)
        with self._reading("read outcomes") as connection:
            if epoch:
                check_epoch(connection, self._store_id, epoch, of="this place")
            rows = connection.execute(query.order_by(it.seq).limit(limit))
            return tuple(to_outcome(row) for row in rows)

    @property
    def epoch(self) -> str:
        """Return what changes with a restore or a new store: where places may have been lost.

        A place that a reader keeps elsewhere is worth nothing in another epoch.
        """
        with self._reading("read the epoch of the store") as connection:
            return epoch_of(connection, self._store_id)

    def add(
        self, name: str, *, mode: Mode, begin: datetime | None, all_: bool = False, actor: str
    ) -> ConsumerRow:
        """Add a consumer, audited; one of that name stays as it is.

        It begins with what becomes known from now on, with what became known from `begin` on, or
        with `all_` that was ever known. Durable on return. Raises ValueError for another mode than
        the known one's and for what is no name, StoreError.
        """
        check_consumer_name(name)

        def begin_telling(writing: Transaction) -> None:
            if _told(writing.connection) is None:
                keep_in_meta(writing.connection, _TOLD, "0")

        def act(writing: Transaction) -> None:
            if self._consumer(writing.connection, name) is not None:
                return
            place = 0 if all_ or begin is not None else writing.head
            writing.connection.execute(
                insert(consumer).values(
                    name=name,
                    mode=mode.value,
                    place=place,
                    begins_at=0 if all_ else maybe_us(begin),
                    epoch=epoch_of(writing.connection, self._store_id),
                    added_at=to_us(writing.now),
                )
            )
            since = "all" if all_ else "now" if begin is None else begin.isoformat()
            audit_of(writing, actor, ADDED, name, f"{mode.value} mode, begins with: {since}")

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
            epoch = epoch_of(writing.connection, self._store_id)
            if self._consumer(writing.connection, name) is None:
                raise unknown(name)
            change = update(consumer).where(consumer.c.name == name)
            writing.connection.execute(change.values(epoch=epoch))
            audit_of(writing, actor, "rejoin consumer", name, f"epoch {epoch}")

        self._act(act)

    def consumers(self) -> tuple[ConsumerRow, ...]:
        """Return the consumers by name, and how much waits for each. Raises StoreError."""
        with self._reading_one_moment("read the consumers") as connection:
            rows = connection.execute(select(consumer).order_by(consumer.c.name)).all()
            return tuple(with_waiting(connection, to_consumer(row)) for row in rows)


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
            values = {name: getattr(one, name) for name in FIELDS}
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
    return tuple(to_outcome(row) for row in connection.execute(_SAID, asked))
