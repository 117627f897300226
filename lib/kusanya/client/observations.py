"""The answers of the service, as observations for the store."""

import hashlib
from datetime import datetime

from kusanya.state.observation import Observation, Source
from kusanya.wire import Collection, Event, Mode


def answer_observation(collection: Collection, *, key: str, at: datetime) -> Observation:
    """Return the fact that a create with this idempotency key was answered."""
    response = collection.response
    return Observation(
        source=Source.ANSWER,
        source_id=key,
        observed_at=at,
        observed_in=collection.mode,
        collection=collection,
        replayed=response is not None and response.replayed,
    )


def poll_observation(
    collection: Collection, *, at: datetime, observed_in: Mode | None = None
) -> Observation:
    """Return the fact that a GET of a collection said this.

    Distinguished by the service's request id, or by its bytes where there is none.
    """
    response = collection.response
    request_id = None if response is None else response.request_id
    return Observation(
        source=Source.POLL,
        source_id=request_id or hashlib.sha256(collection.raw).hexdigest()[:32],
        observed_at=at,
        observed_in=observed_in or collection.mode,
        collection=collection,
    )


def event_observation(
    event: Event, *, at: datetime, observed_in: Mode | None = None
) -> Observation:
    """Return the fact that a GET of an event said this."""
    return Observation(
        source=Source.EVENT_CHECK,
        source_id=event.id,
        observed_at=at,
        observed_in=observed_in or event.mode,
        collection=event.data,
        event_id=event.id,
        event_type=event.type,
        event_created_at=event.created_at,
    )
