"""What arrived is let go after an age: bodies to the day, whole deliveries by month.

What follows from a delivery stays when its row is gone: the event with its digest and the number of
its arrivals, the fact for the fold, the counts of the hour. So an event takes effect once for ever,
and no figure changes. On PostgreSQL a month of deliveries is a table, which is dropped.
"""

from datetime import datetime
from functools import partial
from typing import Final

from sqlalchemy import Connection, delete, func, select, update

from kusanya.store.queries.base import StorePart
from kusanya.store.tables import delivery_months
from kusanya.store.tables.delivery_months import month_begin
from kusanya.store.tables.inserting import insert_into
from kusanya.store.tables.schema import delivery, feed_head, store_meta
from kusanya.store.tables.values import to_us
from kusanya.store.writer.batch import Transaction

_SLICE: Final = 2_000
"""Places of the journal that are cleared in one transaction: arrivals must not wait for a year."""
_NO_HEADERS: Final = b"\x90"
"""No header lines, packed."""
_SINCE: Final = "deliveries_since"
"""In the store's meta: deliveries that arrived before were let go."""


class Retention(StorePart):
    """Letting go of what arrived long ago."""

    def months_until(self) -> datetime | None:
        """Return the end of the last month that deliveries have a table for, on PostgreSQL.

        None where they are in one table, or this login sees masked views alone.
        """
        if self._engines.sqlite:
            return None
        with self._reading("read the months") as connection:
            return delivery_months.months_until(connection)

    def forget_bodies(self, *, before: datetime) -> int:
        """Remove the raw bodies and headers of deliveries that arrived before an instant.

        Returns how many. Rows, counts and observations stay, so nothing that follows changes.
        """
        with self._reading("read deliveries") as connection:
            last = connection.execute(select(func.max(delivery.c.seq))).scalar_one() or 0
        return sum(
            self._act(partial(_forget, start=start, before=before))
            for start in range(0, last + 1, _SLICE)
        )

    def forget_deliveries(self, *, before: datetime) -> int:
        """Remove the deliveries of the months, in UTC, that ended before an instant.

        Returns how many. Events, facts, collections and counts stay, so nothing that follows
        changes and no event takes effect twice; the deliveries are in no list and no feed any more.
        Durable on return; can be repeated after a crash. On PostgreSQL the months to come are made
        as well, where this login owns the tables.
        """
        since = to_us(month_begin(before))
        self._act(partial(_note_since, since=since))
        gone = 0 if self._engines.sqlite else self._drop_months(since)
        while (places := self._places_before(since)) is not None:
            first, last = places
            gone += sum(
                self._act(partial(_remove, start=start, since=since))
                for start in range(first, last + 1, _SLICE)
            )
        if not self._engines.sqlite:
            self._act(_add_months)
        return gone

    def _drop_months(self, since: int) -> int:
        with self._reading("read the months") as connection:
            names = [
                part.name
                for part in delivery_months.parts(connection)
                if part.end is not None and part.end <= since
            ]
            if not delivery_months.is_owner(connection):
                return 0  # row by row, as far as this login may
        return sum(self._drop_month(name) for name in names)

    def _drop_month(self, name: str) -> int:
        with self._reading_one_moment("count deliveries") as connection:
            head, kept = delivery_months.count_kept(connection, name)
        return self._act(partial(_drop, name=name, head=head, kept=kept))

    def _places_before(self, since: int) -> tuple[int, int] | None:
        it = delivery.c
        query = select(func.min(it.seq), func.max(it.seq)).where(it.arrived_at < since)
        with self._reading("read deliveries") as connection:
            first, last = connection.execute(query).one()
        return None if first is None else (first, last)


def deliveries_since(connection: Connection) -> int:
    """Return the instant before which deliveries were let go, in microseconds; 0 for none."""
    query = select(store_meta.c.value).where(store_meta.c.name == _SINCE)
    return int(connection.execute(query).scalar_one_or_none() or 0)


def note_deliveries_since(connection: Connection, since: int) -> None:
    """Note that deliveries which arrived before an instant may be gone; it never moves back."""
    if since > deliveries_since(connection):
        noted = insert_into(store_meta, connection.dialect).values(name=_SINCE, value=str(since))
        connection.execute(
            noted.on_conflict_do_update(index_elements=["name"], set_={"value": str(since)})
        )


def _note_since(writing: Transaction, *, since: int) -> None:
    note_deliveries_since(writing.connection, since)


def _add_months(writing: Transaction) -> int:
    return delivery_months.add_months(writing.connection, writing.now)


def _drop(writing: Transaction, *, name: str, head: int, kept: int) -> int:
    done = delivery_months.drop_part(writing.connection, name, head=head, kept=kept)
    return _removed(writing, done)


def _remove(writing: Transaction, *, start: int, since: int) -> int:
    it = delivery.c
    gone = delete(delivery).where(it.seq.between(start, start + _SLICE - 1), it.arrived_at < since)
    return _removed(writing, writing.connection.execute(gone).rowcount)


def _removed(writing: Transaction, count: int) -> int:
    writing.connection.execute(update(feed_head).values(removed=feed_head.c.removed + count))
    return count


def _forget(writing: Transaction, *, start: int, before: datetime) -> int:
    it = delivery.c
    done = writing.connection.execute(
        update(delivery)
        .where(
            it.seq.between(start, start + _SLICE - 1),
            it.arrived_at < to_us(before),
            it.body.is_not(None),
        )
        .values(body=None, headers=_NO_HEADERS)
    )
    return done.rowcount
