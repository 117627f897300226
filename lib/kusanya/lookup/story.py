"""The story of one collection: every recorded fact, what is around it, what is open beside it."""

from datetime import datetime
from typing import Final

import msgspec

from kusanya.lookup.around import Around, around
from kusanya.lookup.moments import Moment, created, delivered, heard, noted
from kusanya.state.observation import CollectionState
from kusanya.store import Store
from kusanya.store.records import CollectionRow, DeliveryFilter, DeliveryRow
from kusanya.wire import Mode

_BOUND: Final = 50


class Story(msgspec.Struct, frozen=True, kw_only=True):
    """All that is recorded about one collection."""

    row: CollectionRow
    at: datetime
    """When the store was read."""
    state: CollectionState
    moments: tuple[Moment, ...]
    deliveries: tuple[DeliveryRow, ...]
    """Arrivals that name this collection, newest first."""
    around: Around

    @property
    def also(self) -> tuple[CollectionRow, ...]:
        """Return other collections on the same phone within `ALSO_WITHIN`, newest first."""
        return self.around.also

    @property
    def contradicts(self) -> bool:
        """Tell whether the facts contradict each other."""
        return bool(self.state.contradictions)

    @property
    def open_prompts(self) -> int:
        """Count collections on this phone without a final state, this one included."""
        return sum(row.final_seen_at is None for row in (self.row, *self.also))


def story(store: Store, collection_id: str, mode: Mode, *, now: datetime) -> Story | None:
    """Return the story of one collection of one mode, or None when that mode does not know it.

    Raises StoreError when the store cannot be read.
    """
    row = store.collections.get(collection_id, mode)
    state = store.collections.state(collection_id, mode)
    if row is None or state is None:
        return None
    where = DeliveryFilter(collection_id=collection_id)
    deliveries = store.deliveries.page(row.mode, where=where, limit=_BOUND).rows
    moments = [
        *heard(store.collections.observations(collection_id, mode)),
        *delivered(deliveries),
        *_created(store, row),
        *noted(store.notes.of(collection_id, mode)),
    ]
    return Story(
        row=row,
        at=now,
        state=state,
        moments=tuple(sorted(moments, key=lambda moment: moment.at)),
        deliveries=deliveries,
        around=around(
            store, row.mode, phone=row.phone, reference=row.reference, but=row.id, now=now
        ),
    )


def _created(store: Store, row: CollectionRow) -> list[Moment]:
    told: list[Moment] = []
    for intent in store.intents.by_reference(row.mode, row.reference):
        if intent.collection_id in {None, row.id}:
            told += created(intent, store.intents.attempts(intent.id))
            told += noted(store.notes.of(intent.id, intent.mode))
    return told
