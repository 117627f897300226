"""Facts about one collection as a poll or an event brings them, for tests that need a few."""

from datetime import datetime, timedelta
from typing import Any

import msgspec

from kusanya.state.observation import Observation, Source
from kusanya.wire import Collection, Mode


def polled(key: object, created: datetime, **fields: Any) -> Observation:
    """Return what a poll says of `col_KEY`: a payment that succeeded, but for `fields`."""
    plain: dict[str, Any] = {
        "id": f"col_{key}",
        "status": "succeeded",
        "amount": 1_000,
        "fee": 18,
        "currency": "TZS",
        "channel": "MPESA_TZ",
        "phone": "255754123456",
        "reference": f"R-{key}",
        "mode": Mode.LIVE,
        "created_at": created,
        "completed_at": created + timedelta(seconds=30),
    }
    collection = Collection(**{**plain, **fields})
    return Observation(
        source=Source.POLL,
        source_id=f"poll-{key}",
        observed_at=(collection.completed_at or created) + timedelta(minutes=1),
        observed_in=collection.mode,
        collection=collection,
    )


def by_event(key: object, created: datetime, **fields: Any) -> Observation:
    """Return the same as `polled`, said by the event `evt_KEY`."""
    fact = polled(key, created, **fields)
    status = fact.collection.status
    return msgspec.structs.replace(
        fact,
        source=Source.EVENT,
        source_id=f"evt-{key}-{status}",
        event_id=f"evt_{key}",
        event_type=f"collection.{status}",
        event_created_at=fact.collection.completed_at or created,
    )
