"""When an endpoint has gone silent, judged by final states that no event reported.

A receiver that is down, an endpoint that was disabled or an address that moved raises nothing by
itself: no handler runs. The poller does find the final states.
"""

from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Final

import msgspec

from kusanya.store import Store
from kusanya.store.records import DeliveryFilter, Verdict
from kusanya.wire import Mode

ENOUGH: Final = 3
"""Final states without an event that are no accident."""
PATIENCE: Final = timedelta(seconds=60)
"""How long a single one may wait for its event: the first retry comes after a minute."""
_FINALS: Final = 100
"""So many of the newest final states are looked at."""
_REJECTED: Final = DeliveryFilter(verdicts=(Verdict.REJECTED,), trusted=True)
_AUTHENTIC: Final = tuple(verdict for verdict in Verdict if verdict is not Verdict.REJECTED)


class Silence(msgspec.Struct, frozen=True, kw_only=True):
    """Final states are reached, and nothing genuine arrives."""

    since: datetime
    """When the first of the missed final states was reached, and its event was due."""
    missed: int
    """How many of them; `missed_shown` says whether more were not looked at."""
    last_arrival_at: datetime | None
    """When the last authentic delivery came; None where none ever did."""
    refused_at: datetime | None = None
    """When the last rejected one came; None where none did since the silence began."""

    @property
    def missed_shown(self) -> str:
        """Return how many final states were missed as far as was looked."""
        return f"{_FINALS}+" if self.missed >= _FINALS else f"{self.missed}"


def detect_silence(
    missed_at: Iterable[datetime], *, last_arrival_at: datetime | None, now: datetime
) -> Silence | None:
    """Return the silence, or None where there is none.

    `missed_at` are the instants of final states that polling learned and no event has reported.
    Only those after the last arrival count: a genuine one shows that the endpoint is reached, and
    what a catch-up learns afterwards of the time before says nothing about now.
    Three of them are a silence at once, one after a minute.
    """
    missed = sorted(at for at in missed_at if last_arrival_at is None or at > last_arrival_at)
    if not missed or (len(missed) < ENOUGH and now - missed[0] < PATIENCE):
        return None
    return Silence(since=missed[0], missed=len(missed), last_arrival_at=last_arrival_at)


def load_silence(store: Store, mode: Mode, *, now: datetime) -> Silence | None:
    """Return the silence of one mode, from its newest final states and arrivals, or None.

    What is rejected ends no silence, for anybody can send it; where the service may have sent it,
    that it comes is part of the answer.
    Raises StoreError.
    """
    newest = store.deliveries.page(mode, where=DeliveryFilter(verdicts=_AUTHENTIC), limit=1).rows
    finals = store.collections.latest_finals(mode, limit=_FINALS)
    # By the service's clock, which may run ahead of ours: never later than it was learned.
    missed_at = [
        min(row.completed_at or row.final_seen_at, row.final_seen_at)
        for row in finals
        if row.missing_event and row.final_seen_at
    ]
    last_arrival_at = newest[0].arrived_at if newest else None
    found = detect_silence(missed_at, last_arrival_at=last_arrival_at, now=now)
    if found is None:
        return None
    refused = store.deliveries.page(mode, where=_REJECTED, limit=1).rows
    if not refused or refused[0].arrived_at < found.since:
        return found
    return msgspec.structs.replace(found, refused_at=refused[0].arrived_at)
