"""How the store learns that prompts are open still: a poller asks, and events are taken."""

from datetime import datetime, timedelta

from tests.kit.payments import by_event

from kusanya.state.observation import Observation
from kusanya.store import Store
from kusanya.store.records import Arrival, Verdict
from kusanya.watch.schedule import FIRST_POLL
from kusanya.wire import Mode

POLLER = "till-3:17:ab"
"""The name of the one that runs."""
_AGAIN = timedelta(seconds=30)


def poller_runs(
    store: Store,
    mode: Mode = Mode.LIVE,
    *,
    clock_offset: timedelta | None = None,
    silent_since: datetime | None = None,
) -> None:
    """Let a poller note that it runs, and ask about what is due unless the service is silent."""
    leases, now = store.poll_leases, store.clock.now()
    leases.record_poll(mode, by=POLLER, clock_offset=clock_offset, silent_since=silent_since)
    if silent_since is None:
        due = leases.take(
            mode, by=POLLER, until=now + _AGAIN, created_before=now - FIRST_POLL[mode], limit=10_000
        )
        leases.prolong(mode, {row.id: now + _AGAIN for row in due}, by=POLLER)


def events_arrive(store: Store, length: timedelta) -> None:
    """Let an event of TIGO_TZ be taken every 20 seconds for so long, up to now."""
    now, every = store.clock.now(), timedelta(seconds=20)
    for number in range(length // every + 1):
        at = now - number * every
        made = at - timedelta(seconds=10)
        fact = by_event(f"arrived{at:%d%H%M%S}", made, channel="TIGO_TZ", completed_at=at)
        store.record(arrival(fact, at=at))


def arrival(fact: Observation, *, at: datetime, answer: int = 200) -> Arrival:
    """Return the delivery of a fact that came at an instant, and our answer to it."""
    is_taken = answer == 200
    return Arrival(
        arrived_at=at, endpoint="shop", observed_in=Mode.LIVE, body=b"{}", headers=(),
        verdict=Verdict.VERIFIED if is_taken else Verdict.REJECTED,
        reason=None if is_taken else "too_old", signed_at=at, secrets_tried=1,
        event_id=fact.event_id, event_type=fact.event_type,
        event_created_at=fact.event_created_at, event_mode="live",
        collection_id=fact.collection.id, reference=fact.collection.reference,
        amount=fact.collection.amount, currency="TZS",
        observation=fact if is_taken else None, answer=answer, took_us=900,
    )  # fmt: skip
