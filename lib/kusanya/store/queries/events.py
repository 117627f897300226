"""Events: each as its first delivery brought it, and whether it was double-checked."""

from datetime import datetime
from typing import Any, Final

from sqlalchemy import Select, bindparam, select, tuple_

from kusanya.store.queries.base import StorePart
from kusanya.store.queries.planner_hints import unsearched
from kusanya.store.records import EventRow, Key, Page
from kusanya.store.tables.schema import event
from kusanya.store.tables.values import clean, from_us, maybe_at, to_us
from kusanya.wire import Mode

_EVENT: Final = tuple(event.c[name] for name in EventRow.__struct_fields__)
# Made once: building a statement costs more than running it does.
_BY_ID: Final = select(*_EVENT).where(event.c.id == bindparam("of_id")).order_by(event.c.mode)


class Events(StorePart):
    """Reading events."""

    def get(self, event_id: str, mode: Mode | None = None) -> EventRow | None:
        """Return an event by its id, of one mode or of whichever knows it, live first."""
        found = self._events(_BY_ID, of_id=clean(event_id))
        return next((one for one in found if mode in (None, one.mode)), None)

    def of_collection(self, collection_id: str, mode: Mode) -> tuple[EventRow, ...]:
        """Return the events of a collection of one mode in the order of their first arrival."""
        it = event.c
        query = select(*_EVENT).where(
            it.collection_id == clean(collection_id), unsearched(it.mode) == mode.value
        )
        return self._events(query.order_by(event.c.seq))

    def unchecked(
        self,
        mode: Mode,
        *,
        since: datetime | None = None,
        after: Key | None = None,
        limit: int = 200,
    ) -> Page[EventRow]:
        """Return events that were never double-checked, the first to arrive first.

        From those that arrived at `since` on, and from just after a key on.
        """
        it = event.c
        query = select(*_EVENT).where(it.mode == mode.value, it.checked_at.is_(None))
        if since is not None:
            query = query.where(it.first_arrived_at >= to_us(since))
        if after is not None:
            query = query.where(tuple_(it.first_arrived_at, it.id) > tuple_(after.value, after.id))
        found = self._events(query.order_by(it.first_arrived_at, it.id).limit(limit + 1))
        return Page(rows=found[:limit], more=len(found) > limit)

    def _events(self, query: Select[Any], **asked: str) -> tuple[EventRow, ...]:
        with self._reading("read events") as connection:
            return tuple(_to_event(row) for row in connection.execute(query, asked).mappings())


def _to_event(row: Any) -> EventRow:
    return EventRow(
        **{
            **row,
            "mode": Mode(row["mode"]),
            "created_at": from_us(row["created_at"]),
            "first_arrived_at": from_us(row["first_arrived_at"]),
            "checked_at": maybe_at(row["checked_at"]),
        }
    )
