"""Requests that no secret of ours has signed: strangers', or of a secret that is ours no more.

Anybody can send them. They light no fuse and are never urgent; that they come is said once.
"""

from collections import Counter
from datetime import datetime, timedelta
from typing import Final

import msgspec

from kusanya.store import Store
from kusanya.store.records import DeliveryFilter, DeliveryRow, Verdict
from kusanya.webhooks.refusals import SIGNED_REASONS
from kusanya.wire import Mode

_HOUR: Final = timedelta(hours=1)
_KEPT: Final = 200


class Noise(msgspec.Struct, frozen=True, kw_only=True):
    """What one endpoint refused within this hour and the last that nothing of ours proves."""

    endpoint: str
    count: int
    like_events: int = 0
    """How many of them name a collection, one that we do not know, and bear a signature of another
    secret; as far as rows are kept."""
    last_at: datetime | None = None
    """When the newest of these came."""


def load_noise(store: Store, mode: Mode, *, now: datetime) -> tuple[Noise, ...]:
    """Return the noise by endpoint, in the order of names. Raises StoreError."""
    since = now.replace(minute=0, second=0, microsecond=0) - _HOUR
    counts: Counter[str] = Counter()
    for row in store.rollups.deliveries(mode, since=since, until=now + _HOUR):
        if row.verdict is Verdict.REJECTED and row.reason not in SIGNED_REASONS:
            counts[row.endpoint] += row.count
    return tuple(_of(store, mode, name, counts[name], since) for name in sorted(counts))


def _of(store: Store, mode: Mode, name: str, count: int, since: datetime) -> Noise:
    refused = DeliveryFilter(endpoints=(name,), verdicts=(Verdict.REJECTED,), arrived_from=since)
    rows = store.deliveries.page(mode, where=refused, limit=_KEPT).rows
    trusted = msgspec.structs.replace(refused, trusted=True)
    ours = {row.id for row in store.deliveries.page(mode, where=trusted, limit=_KEPT).rows}
    signed = {row.id for row in rows if row.reason in SIGNED_REASONS}
    alike = [row for row in rows if _is_like_an_event(row) and row.id not in ours]
    return Noise(
        endpoint=name,
        count=max(count - len(ours - signed), 0),
        like_events=len(alike),
        last_at=alike[0].arrived_at if alike else None,
    )


def _is_like_an_event(row: DeliveryRow) -> bool:
    return row.reason == "no_match" and row.event_id is not None and row.collection_id is not None
