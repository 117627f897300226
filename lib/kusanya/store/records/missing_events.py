"""Missing events: final states that polling learned while no event has reported them.

The sender's log is not ours to read: what did not arrive is known by what should have.
"""

from datetime import datetime
from enum import StrEnum
from typing import Final

import msgspec

from kusanya.store.records.paging import Key
from kusanya.store.records.rows import CollectionRow
from kusanya.store.tables.values import to_us
from kusanya.wire import Mode

MISSING_ID: Final = "absent:"
"""What the id of a missing event begins with; its collection's follows. It sorts below arrivals."""


class MissingEventStatus(StrEnum):
    """The verdict on what did not arrive, beside those on what did."""

    MISSING = "missing"
    ARRIVED = "came since"


class MissingEventRow(msgspec.Struct, frozen=True, kw_only=True):
    """A final state without an event, with the fields of an arrival as far as it has them."""

    id: str
    seq: int
    arrived_at: datetime
    """When the final state was learned."""
    mode: Mode
    event_type: str
    event_created_at: datetime
    """When the event is due to have been made."""
    collection_id: str
    reference: str
    amount: int
    currency: str
    verdict: MissingEventStatus = MissingEventStatus.MISSING
    endpoint: str | None = None
    event_id: str | None = None
    reason: str | None = None
    answer: int | None = None
    took_us: int | None = None
    attempt: int | None = 0

    @property
    def key(self) -> Key:
        """Return its place among the arrivals."""
        return Key(to_us(self.arrived_at), self.id)


def missing_event(row: CollectionRow) -> MissingEventRow | None:
    """Return the missing event of a collection, or None where none is missing."""
    if row.final_seen_at is None or not row.missing_event:
        return None
    return MissingEventRow(
        id=f"{MISSING_ID}{row.id}",
        seq=row.seq,
        arrived_at=row.final_seen_at,
        mode=row.mode,
        event_type=f"collection.{row.status}",
        event_created_at=row.completed_at or row.final_seen_at,
        collection_id=row.id,
        reference=row.reference,
        amount=row.amount,
        currency=row.currency,
    )
