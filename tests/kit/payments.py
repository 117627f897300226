"""Facts about one collection as a poll or an event brings them, for tests that need a few."""

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from itertools import islice
from pathlib import Path
from typing import Any, Final

import msgspec

from kusanya.clock import ManualClock
from kusanya.state.observation import Observation, Source
from kusanya.store import Store
from kusanya.wire import Collection, Mode

_AT_ONCE: Final = 1_000


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


def watch(store: str | Path, mode: Mode = Mode.LIVE) -> None:
    """Note in a store that a watcher ran beside it to the end of its year."""
    with Store.open(store, clock=ManualClock(datetime(2026, 12, 31, tzinfo=UTC))) as opened:
        opened.poll_leases.record_poll(mode, by="watch")


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


def keep_all(store: Store, facts: Iterable[Observation]) -> None:
    """Make many facts durable, no more at once than the queue of a store holds."""
    left = iter(facts)
    while some := list(islice(left, _AT_ONCE)):
        for kept in [store.submit(fact) for fact in some]:
            kept.result()
