"""Where it is going wrong: the attempts of a delivery, the endpoints, the failures, the stuck.

The specification has no delivery log, so attempts and endpoints are inferred from what reached us
and from the retry plan, and the screens say so. Nothing here costs more when the history is
longer. Source: specification, Delivery rules 1 to 3. Assumes RETRY_TIMES_ARE_GAPS and
FUSE_BURNS_FROM_FIRST_FAILURE.
"""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Final

import msgspec

from kusanya.health.causes import Cause, Lookback, causes
from kusanya.health.endpoints import EndpointHealth, load_endpoints, succeeded
from kusanya.health.stuck_prompts import StuckChannel, load_stuck
from kusanya.store import Store
from kusanya.store.records import (
    CollectionRow,
    DeliveryRow,
    MissingEventRow,
    Verdict,
)
from kusanya.webhooks.schedule import ATTEMPTS, infer_attempt, next_attempt, plan
from kusanya.wire import Mode

_OPEN_LOOKED_AT: Final = 1_000
_HOUR: Final = timedelta(hours=1)
_DAY: Final = timedelta(days=1)
_UNWATCHED: Final = timedelta(minutes=5)
"""Past any expiry and the first looks of a poller."""
SEEN_WITHIN: Final = timedelta(seconds=30)
"""How long after its planned instant an attempt may still arrive before it counts as not seen."""


def attempt_of(row: DeliveryRow) -> int | None:
    """Return which attempt an arrival is, or None where no slot of the retry plan fits.

    A rejected delivery is placed by the creation time it claims: nothing in it is believed, but a
    genuine one with a stale secret fits its slot.
    """
    if row.attempt is not None or row.event_created_at is None:
        return row.attempt
    return infer_attempt(signed_at=row.arrived_at, event_created_at=row.event_created_at)


def is_extra_attempt(row: DeliveryRow) -> bool:
    """Return whether a genuine delivery came outside the plan: sent by hand, or very late.

    What a rejected one claims of its times is not believed.
    """
    if row.verdict is Verdict.REJECTED or row.event_created_at is None:
        return False
    return attempt_of(row) is None and row.arrived_at > row.event_created_at


def attempts_due(row: MissingEventRow, *, now: datetime) -> int:
    """Return how many attempts the sender must have made for a missing event."""
    return sum(at + SEEN_WITHIN < now for at in plan(first_at=row.event_created_at))


class SlotState(StrEnum):
    """What is known about one of the seven attempts."""

    ANSWERED = "answered"
    """It arrived and we answered it."""
    NOT_SEEN = "not seen"
    """It was due and nothing reached the store: the receiver was down, or could not save it."""
    PLANNED = "planned"
    SPARED = "spared"
    """The event was answered 2xx before it was due, so this one never comes."""


class Slot(msgspec.Struct, frozen=True, kw_only=True):
    """One attempt: when it came, or from when on it is due."""

    number: int
    state: SlotState
    at: datetime | None
    """None for a spared attempt."""
    arrival: DeliveryRow | None = None


class DeliveryPlan(msgspec.Struct, frozen=True, kw_only=True):
    """The seven attempts of one event at one endpoint, as far as they can be inferred."""

    slots: tuple[Slot, ...]
    delivered: bool

    @property
    def next_at(self) -> datetime | None:
        """Return when the next attempt is due, or None when none will come."""
        return next((slot.at for slot in self.slots if slot.state is SlotState.PLANNED), None)

    @property
    def gives_up_at(self) -> datetime | None:
        """Return when the last attempt is due, after whose failure the sender gives up."""
        last = self.slots[-1]
        return last.at if last.state is SlotState.PLANNED else None

    @property
    def is_given_up(self) -> bool:
        """Return whether all seven attempts are past without a success."""
        return not self.delivered and self.next_at is None


def delivery_plan(arrivals: Iterable[DeliveryRow], *, now: datetime) -> DeliveryPlan | None:
    """Return the plan behind the arrivals of one event at one endpoint.

    None when no arrival fits a slot, so that nothing can be said. Attempts that nobody saw are
    placed at their earliest instant.
    """
    numbered: dict[int, DeliveryRow] = {}
    rows = tuple(arrivals)
    # A 2xx ends the retries, also one to what was sent by hand and fits no slot.
    done_at = min((row.arrived_at for row in rows if succeeded(row)), default=None)
    # What comes later into a taken slot was sent by hand or twice; and nothing forged takes one
    # from a genuine arrival.
    for row in sorted(rows, key=lambda row: (row.verdict is Verdict.REJECTED, row.arrived_at)):
        number = attempt_of(row)
        if number is not None:
            numbered.setdefault(number, row)
    if not numbered:
        return None
    first = min(numbered)
    created_at = numbered[first].event_created_at or numbered[first].arrived_at
    ahead = plan(first_at=created_at)
    slots: list[Slot] = []
    due: datetime | None = ahead[0]
    for number in range(1, ATTEMPTS + 1):
        seen = numbered.get(number)
        if seen is not None:
            at = seen.arrived_at
            slots.append(Slot(number=number, state=SlotState.ANSWERED, at=at, arrival=seen))
            failed_at = at + timedelta(microseconds=seen.took_us)
        elif due is None or (done_at is not None and done_at <= due + SEEN_WITHIN):
            slots.append(Slot(number=number, state=SlotState.SPARED, at=None))
            continue
        else:
            missed = number < max(numbered) or due + SEEN_WITHIN < now
            state = SlotState.NOT_SEEN if missed else SlotState.PLANNED
            slots.append(Slot(number=number, state=state, at=due))
            failed_at = due
        due = next_attempt(number, failed_at=failed_at)
    return DeliveryPlan(slots=tuple(slots), delivered=done_at is not None)


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

    `usual_times` are the times by channel that 95 % of its prompts do not exceed. Raises
    StoreError when the store cannot be read.
    """
    opened = store.collections.still_open(mode, limit=_OPEN_LOOKED_AT)
    found = load_stuck(store, mode, opened.rows, usual_times or {}, now=now)
    counted = causes(store, mode, lookback=Lookback.HOUR, now=now)
    named = {channel for cause in counted.causes for channel in cause.channels}
    return Health(
        at=now,
        endpoints=load_endpoints(store, mode, now=now),
        causes=counted.causes,
        channels=tuple(sorted(named | {one.channel for one in found})),
        stuck=found,
        more_open=opened.more,
        currency=counted.currency,
        unusable=_unusable(store, mode, now),
        unwatched=_unwatched(store, mode, opened.rows, now),
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


def _unwatched(
    store: Store, mode: Mode, opened: Sequence[CollectionRow], now: datetime
) -> PollerAbsence | None:
    if not opened or now - opened[0].created_at < _UNWATCHED:
        return None
    last = next((one.polled_at for one in store.poll_leases.pollers(mode)), None)
    if last is not None and now - last < _UNWATCHED:
        return None
    if store.poll_leases.are_left_out():
        return None  # of a past moment it is not known who polled
    return PollerAbsence(open_since=opened[0].created_at, last_poll_at=last)
