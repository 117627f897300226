"""What a delivery says of itself, as the columns of its row hold it."""

from datetime import timedelta
from functools import lru_cache
from typing import Any

from kusanya.collection_columns import NAME_MAX, WORD_MAX
from kusanya.store.records import Arrival
from kusanya.store.tables.values import EPOCH, holdable, is_plain, maybe_clean, maybe_us
from kusanya.webhooks.schedule import infer_attempt


def said_by(item: Arrival) -> tuple[Any, ...]:
    """Return what a delivery says or claims, in the order of the columns from event_id on."""
    texts = (item.event_id, item.event_type, item.event_mode, item.collection_id, item.reference)
    event_id, event_type, event_mode, collection_id, reference = texts
    currency = item.currency
    if not is_plain(*texts, currency, limit=NAME_MAX):
        event_id, event_type, event_mode, collection_id, reference = (
            maybe_clean(text, NAME_MAX) for text in texts
        )
        currency = maybe_clean(currency, WORD_MAX)
    return (
        event_id,
        event_type,
        maybe_us(item.event_created_at),
        event_mode,
        collection_id,
        reference,
        holdable(item.amount),
        currency,
    )


def attempt_of(item: Arrival) -> int | None:
    """Return which of the seven attempts a delivery is, by its times; None where no slot fits."""
    if item.signed_at is None or item.event_created_at is None:
        return None
    return _attempt_after(item.signed_at - item.event_created_at)


@lru_cache(maxsize=4096)
def _attempt_after(age: timedelta) -> int | None:
    # Only the age matters, in whole seconds mostly, and most deliveries have the same few.
    return infer_attempt(signed_at=EPOCH + age, event_created_at=EPOCH)
