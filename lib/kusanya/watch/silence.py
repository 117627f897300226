"""When an endpoint has gone silent, as seen by the poller. Pure but for one read.

A receiver that is down, an endpoint that was disabled or an address that moved raises nothing by
itself: no handler runs. The poller does find final states that no event reported.
"""

from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Final

import msgspec

from kusanya.store import Store
from kusanya.store.records import DeliveryFilter, Order, Verdict
from kusanya.wire import Mode

MANY: Final = 3
"""Final states without an event that are no accident."""
WAIT: Final = timedelta(seconds=60)
"""How long a single one may wait for its event: the first retry comes after a minute."""
_AUTHENTIC: Final = (
    Verdict.VERIFIED,
    Verdict.REPEAT,
    Verdict.UNPARSEABLE,
    Verdict.WRONG_MODE,
    Verdict.CONFLICT,
)


class Silence(msgspec.Struct, frozen=True, kw_only=True):
    """An alarm: final states are reached, and nothing arrives."""

    since: datetime
    """When the first of the missed final states was learned."""
    missed: int
    last_arrival_at: datetime | None
    """When the last authentic delivery came; None where none ever did."""


def detect_silence(
    missed_at: Iterable[datetime], *, last_arrival_at: datetime | None, now: datetime
) -> Silence | None:
    """Return the alarm, or None where there is no reason for one.

    `missed_at` are the instants at which polling learned final states that no event has reported.
    Only those after the last arrival count: whatever arrives shows that the endpoint is reached.
    Alarms at once for three of them, after a minute for one.
    """
    missed = sorted(at for at in missed_at if last_arrival_at is None or at > last_arrival_at)
    if not missed or (len(missed) < MANY and now - missed[0] < WAIT):
        return None
    return Silence(since=missed[0], missed=len(missed), last_arrival_at=last_arrival_at)


def missed_events(store: Store, mode: Mode, *, now: datetime) -> Silence | None:
    """Return the alarm for one mode of a store, from its newest final states and arrival."""
    arrivals = store.deliveries.page(mode, where=DeliveryFilter(verdicts=_AUTHENTIC), limit=1).rows
    finals = store.collections.page(mode, order=Order.FINAL, limit=100).rows
    missed_at = [row.final_seen_at for row in finals if row.missing_event and row.final_seen_at]
    return detect_silence(
        missed_at, last_arrival_at=arrivals[0].arrived_at if arrivals else None, now=now
    )
