"""The rows that the journal inserts, each value by the name of its column, in the table's order."""

from datetime import timedelta
from functools import lru_cache
from typing import NamedTuple

from kusanya.domain.collection_columns import NAME_MAX, WORD_MAX
from kusanya.store.records import Arrival, Verdict
from kusanya.store.tables.payload import pack_headers
from kusanya.store.tables.values import EPOCH, holdable, is_plain, maybe_clean, maybe_us
from kusanya.webhooks.schedule import infer_attempt


class DeliveryValues(NamedTuple):
    """A row of `delivery`."""

    seq: int
    arrived_at: int
    endpoint: str
    mode: str
    verdict: str
    reason: str | None
    event_id: str | None
    event_type: str | None
    event_created_at: int | None
    event_mode: str | None
    collection_id: str | None
    reference: str | None
    amount: int | None
    currency: str | None
    signed_at: int | None
    attempt: int | None
    answer: int
    took_us: int
    secrets_tried: int
    body_bytes: int
    headers: bytes
    body: bytes


class EventValues(NamedTuple):
    """A row of `event`."""

    id: str
    mode: str
    seq: int
    type: str
    created_at: int
    collection_id: str
    first_arrived_at: int
    endpoint: str
    arrivals: int
    checked_at: int | None
    digest: bytes


class ObservationValues(NamedTuple):
    """A row of `observation`."""

    seq: int
    collection_id: str
    mode: str
    observed_at: int
    digest: bytes
    payload: bytes


def delivery_values(
    item: Arrival, *, seq: int, arrived_at: int, endpoint: str, verdict: Verdict, reason: str | None
) -> DeliveryValues:
    """Return the row of a delivery at `seq`; texts and numbers that no column holds are None."""
    texts = (item.event_id, item.event_type, item.event_mode, item.collection_id, item.reference)
    event_id, event_type, event_mode, collection_id, reference = texts
    currency = item.currency
    if not is_plain(*texts, currency, limit=NAME_MAX):
        event_id, event_type, event_mode, collection_id, reference = (
            maybe_clean(text, NAME_MAX) for text in texts
        )
        currency = maybe_clean(currency, WORD_MAX)
    return DeliveryValues(
        seq=seq,
        arrived_at=arrived_at,
        endpoint=endpoint,
        mode=str(item.observed_in),
        verdict=str(verdict),
        reason=reason,
        event_id=event_id,
        event_type=event_type,
        event_created_at=maybe_us(item.event_created_at),
        event_mode=event_mode,
        collection_id=collection_id,
        reference=reference,
        amount=holdable(item.amount),
        currency=currency,
        signed_at=maybe_us(item.signed_at),
        attempt=None if verdict is Verdict.REJECTED else _attempt_of(item),
        answer=item.answer,
        took_us=item.took_us,
        secrets_tried=item.secrets_tried,
        body_bytes=len(item.body),
        headers=pack_headers(item.headers),
        body=item.body,
    )


def _attempt_of(item: Arrival) -> int | None:
    """Return which of the seven attempts a delivery is, by its times; None where no slot fits."""
    if item.signed_at is None or item.event_created_at is None:
        return None
    return _attempt_after(item.signed_at - item.event_created_at)


@lru_cache(maxsize=4096)
def _attempt_after(age: timedelta) -> int | None:
    # Only the age matters, in whole seconds mostly, and most deliveries have the same few.
    return infer_attempt(signed_at=EPOCH + age, event_created_at=EPOCH)
