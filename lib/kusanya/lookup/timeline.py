"""The timeline of one collection: every recorded fact, and what is open beside it."""

from datetime import datetime
from typing import Final

import msgspec

from kusanya.lookup.around import Neighbours, around
from kusanya.lookup.entries import (
    TimelineEntry,
    delivery_entries,
    intent_entries,
    note_entries,
    observation_entries,
    outcome_entries,
    receipt_entries,
)
from kusanya.state.observation import CollectionState
from kusanya.store import Store
from kusanya.store.records import (
    CollectionRow,
    DeliveryFilter,
    DeliveryRow,
    ReceiptFact,
    Verdict,
)
from kusanya.wire import Mode

_BOUND: Final = 50
_NOT_REJECTED: Final = tuple(one for one in Verdict if one is not Verdict.REJECTED)


class SharedReceipt(msgspec.Struct, frozen=True):
    """A receipt of a payment that is kept with another payment too."""

    receipt: str
    row: CollectionRow
    """The other payment."""


class Timeline(msgspec.Struct, frozen=True, kw_only=True):
    """All that is recorded about one collection."""

    row: CollectionRow
    at: datetime
    """When the store was read."""
    state: CollectionState
    entries: tuple[TimelineEntry, ...]
    deliveries: tuple[DeliveryRow, ...]
    """Arrivals that name this collection, newest first."""
    around: Neighbours
    receipts: tuple[ReceiptFact, ...] = ()
    """Receipts that are kept with it, oldest first."""
    shared_receipts: tuple[SharedReceipt, ...] = ()
    is_claimed: bool = False
    """True where an operator's receipt or confirmation may be of this payment."""
    is_unsure: bool = False
    """Whether a message led here that may be of another payment, or forged."""

    @property
    def also(self) -> tuple[CollectionRow, ...]:
        """Return other collections on the same phone within `ALSO_WITHIN`, newest first."""
        return self.around.also

    @property
    def contradicts(self) -> bool:
        """Return whether the facts contradict each other."""
        return bool(self.state.contradictions)


def load_timeline(
    store: Store,
    collection_id: str,
    mode: Mode,
    *,
    now: datetime,
    is_claimed: bool = False,
    is_unsure: bool = False,
) -> Timeline | None:
    """Return the timeline of one collection of one mode, or None when that mode does not know it.

    `is_claimed` says that a customer's confirmation led here; a receipt that is kept with it says
    the same. No new request is safe then, unless the service calls it paid. `is_unsure` says that
    the confirmation may be of another payment: nothing is said to the customer about this one.
    Raises StoreError when the store cannot be read.
    """
    row = store.collections.get(collection_id, mode)
    state = store.collections.state(collection_id, mode)
    if row is None or state is None:
        return None
    deliveries = _deliveries(store, row)
    receipts = store.receipts.of(collection_id, mode)
    entries = [
        *observation_entries(store.collections.observations(collection_id, mode)),
        *delivery_entries(deliveries),
        *_intent_entries(store, row),
        *note_entries(store.notes.of(collection_id, mode)),
        *receipt_entries(receipts),
        *_outcome_entries(store, row),
    ]
    return Timeline(
        row=row,
        at=now,
        state=state,
        entries=tuple(sorted(entries, key=lambda entry: entry.at)),
        deliveries=deliveries,
        around=around(
            store, row.mode, phone=row.phone, reference=row.reference, but=row.id, now=now
        ),
        receipts=receipts,
        shared_receipts=_shared_receipts(store, row, receipts),
        is_claimed=is_claimed or bool(receipts),
        is_unsure=is_unsure,
    )


def _deliveries(store: Store, row: CollectionRow) -> tuple[DeliveryRow, ...]:
    """Return the newest that name a collection: none that is forged crowds out a real one."""
    where = DeliveryFilter(collection_id=row.id)
    page = store.deliveries.page(row.mode, where=where, limit=_BOUND)
    if not page.more:
        return page.rows
    sent = msgspec.structs.replace(where, verdicts=_NOT_REJECTED)
    own = store.deliveries.page(row.mode, where=sent, limit=_BOUND).rows
    both = {one.id: one for one in (*page.rows, *own)}
    return tuple(sorted(both.values(), key=lambda one: one.arrived_at, reverse=True))


def _shared_receipts(
    store: Store, row: CollectionRow, receipts: tuple[ReceiptFact, ...]
) -> tuple[SharedReceipt, ...]:
    shared = []
    for own in receipts[:_BOUND]:
        facts = store.receipts.find(own.receipt, row.mode)[:_BOUND]
        others = [fact.collection_id for fact in facts if fact.collection_id != row.id]
        rows = store.collections.by_id(others, row.mode) if others else {}
        shared += [SharedReceipt(own.receipt, other) for other in rows.values()]
    return tuple(shared)


def _outcome_entries(store: Store, row: CollectionRow) -> list[TimelineEntry]:
    outcomes = [one for one in store.outcomes.of(row.mode, row.reference) if one.about == row.id]
    return outcome_entries(outcomes, store.outcomes.left_of(outcomes) if outcomes else ())


def _intent_entries(store: Store, row: CollectionRow) -> list[TimelineEntry]:
    entries: list[TimelineEntry] = []
    for intent in store.intents.by_reference(row.mode, row.reference):
        if intent.collection_id in {None, row.id}:
            entries += intent_entries(intent, store.intents.attempts(intent.id))
            entries += note_entries(store.notes.of(intent.id, intent.mode))
    return entries
