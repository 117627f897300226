"""Where it is going wrong: the endpoints, the failures, the stuck prompts, the absent poller.

The specification has no delivery log, so endpoints are inferred from what reached us, and the
screens say so. Nothing here costs more when the history is longer. Source: specification, Delivery
rules 1 to 3. Assumes FUSE_BURNS_FROM_FIRST_FAILURE.
"""

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Final

import msgspec

from kusanya.health.causes import Cause, Lookback, causes
from kusanya.health.endpoints import EndpointHealth, listened, load_endpoints
from kusanya.health.stuck_prompts import StuckChannel, load_stuck
from kusanya.store import Store
from kusanya.store.records import Verdict
from kusanya.wire import Mode

_HOUR: Final = timedelta(hours=1)
_DAY: Final = timedelta(days=1)
UNWATCHED: Final = timedelta(minutes=5)
"""Past any expiry and the first looks of a poller."""


class UnusableDeliveries(msgspec.Struct, frozen=True, kw_only=True):
    """Authentic deliveries of the last 24 hours that had no effect, of one endpoint and kind.

    Of the wrong mode: refused, so the sender repeats them until it gives up. Unreadable: accepted
    and kept, so nothing will come again and only a person finds out what they said.
    """

    endpoint: str
    mode: Mode
    """The endpoint's mode; an event of the wrong mode is of the other one."""
    verdict: Verdict
    """WRONG_MODE or UNPARSEABLE."""
    count: int
    """Arrivals, repeated ones included."""
    last_hour: datetime
    """The first instant of the hour in which the newest came."""


class PollerAbsence(msgspec.Struct, frozen=True, kw_only=True):
    """Collections are open past any expiry, and no poller asks the service about them."""

    open_since: datetime
    """When the oldest open collection was created."""
    last_poll_at: datetime | None
    """When a poller last ran; None where none did within a week."""


class Health(msgspec.Struct, frozen=True, kw_only=True):
    """Where it is going wrong, in one mode: endpoints worst first, causes most frequent first."""

    at: datetime
    endpoints: tuple[EndpointHealth, ...]
    causes: tuple[Cause, ...]
    channels: tuple[str, ...]
    """Every channel with a failure or an open collection, in a fixed order."""
    stuck: tuple[StuckChannel, ...]
    more_open: bool
    """True when more collections are open than were looked at."""
    currency: str
    unusable: tuple[UnusableDeliveries, ...] = ()
    """Those of the wrong mode at endpoints of either mode: the event was one of the other."""

    unwatched: PollerAbsence | None = None
    """Set where no poller runs though there is something to ask about."""

    @property
    def failing(self) -> tuple[EndpointHealth, ...]:
        """Return the endpoints whose last arrival we did not answer with a 2xx in time."""
        return tuple(one for one in self.endpoints if one.failures)


def health(
    store: Store,
    mode: Mode,
    *,
    now: datetime,
    usual_times: Mapping[str, timedelta] | None = None,
) -> Health:
    """Return the health of one mode at `now`; reads bounded lists and rollups alone.

    `usual_times` are the times by channel that 95 % of its prompts do not exceed. Raises StoreError
    when the store cannot be read.
    """
    endpoints = load_endpoints(store, mode, now=now)
    found, more = load_stuck(store, mode, usual_times or {}, now=now, listened=listened(endpoints))
    counted = causes(store, mode, lookback=Lookback.HOUR, now=now)
    named = {channel for cause in counted.causes for channel in cause.channels}
    return Health(
        at=now,
        endpoints=endpoints,
        causes=counted.causes,
        channels=tuple(sorted(named | {one.channel for one in found})),
        stuck=found,
        more_open=more,
        currency=counted.currency,
        unusable=_unusable(store, mode, now),
        unwatched=_unwatched(store, mode, now),
    )


def _unusable(store: Store, mode: Mode, now: datetime) -> tuple[UnusableDeliveries, ...]:
    found: dict[tuple[Verdict, Mode, str], UnusableDeliveries] = {}
    for its_mode in Mode:
        for row in store.rollups.deliveries(its_mode, since=now - _DAY, until=now + _HOUR):
            here = row.verdict is Verdict.UNPARSEABLE and its_mode is mode
            if not here and row.verdict is not Verdict.WRONG_MODE:
                continue
            known = found.get((row.verdict, its_mode, row.endpoint))
            found[row.verdict, its_mode, row.endpoint] = UnusableDeliveries(
                endpoint=row.endpoint,
                mode=its_mode,
                verdict=row.verdict,
                count=row.count + (known.count if known else 0),
                last_hour=max(row.hour, known.last_hour) if known else row.hour,
            )
    return tuple(found[key] for key in sorted(found, reverse=True))


def _unwatched(store: Store, mode: Mode, now: datetime) -> PollerAbsence | None:
    opened = store.collections.still_open(mode, limit=1).rows
    if not opened or now - opened[0].created_at < UNWATCHED:
        return None
    last = next((one.polled_at for one in store.poll_leases.pollers(mode)), None)
    if last is not None and now - last < UNWATCHED:
        return None
    if store.poll_leases.are_left_out():
        return None  # of a past moment it is not known who polled
    return PollerAbsence(open_since=opened[0].created_at, last_poll_at=last)
