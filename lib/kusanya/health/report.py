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

from kusanya.health.causes import Cause, Window, causes
from kusanya.health.stuck_prompts import StuckChannel, load_stuck
from kusanya.limits import ACKNOWLEDGEMENT_TIME
from kusanya.store import Store
from kusanya.store.records import (
    CollectionRow,
    DeliveryFilter,
    DeliveryRow,
    MissingEventRow,
    Verdict,
)
from kusanya.webhooks.schedule import ATTEMPTS, Fuse, infer_attempt, next_attempt, plan
from kusanya.wire import Mode

FAILURES_COUNTED: Final = 200
"""So many of an endpoint's newest arrivals are looked at."""
_OPEN_LOOKED_AT: Final = 1_000
_HOUR: Final = timedelta(hours=1)
_DAY: Final = timedelta(days=1)
_REMEMBERED: Final = timedelta(days=7)
_UNWATCHED: Final = timedelta(minutes=5)
"""Past any expiry and the first looks of a poller."""
RECENT: Final = timedelta(minutes=15)
"""An arrival longer ago proves nothing about an endpoint now."""
SEEN_WITHIN: Final = timedelta(seconds=30)
"""How long after its planned instant an attempt may still arrive before it counts as not seen."""


def succeeded(row: DeliveryRow) -> bool:
    """Tell whether the sender took our answer for a success: a 2xx within its ten seconds."""
    in_time = timedelta(microseconds=row.took_us) <= ACKNOWLEDGEMENT_TIME
    return row.answer // 100 == 2 and in_time  # noqa: PLR2004 - the 2xx class


def attempt_of(row: DeliveryRow) -> int | None:
    """Return which attempt an arrival is, or None where no slot of the retry plan fits.

    A rejected delivery is told by the creation time it claims: nothing in it is believed, but a
    genuine one with a stale secret fits its slot.
    """
    if row.attempt is not None or row.event_created_at is None:
        return row.attempt
    return infer_attempt(signed_at=row.arrived_at, event_created_at=row.event_created_at)


def is_extra_attempt(row: DeliveryRow) -> bool:
    """Tell whether a genuine delivery came outside the plan: sent by hand, or very late.

    What a rejected one claims of its times is not believed.
    """
    if row.verdict is Verdict.REJECTED or row.event_created_at is None:
        return False
    return attempt_of(row) is None and row.arrived_at > row.event_created_at


def attempts_due(row: MissingEventRow, *, now: datetime) -> int:
    """Return how many attempts the sender must have made for a missing event."""
    return sum(at + SEEN_WITHIN < now for at in plan(first_at=row.event_created_at))


def format_failures(count: int) -> str:
    """Return a count of an endpoint's failures as far as was looked."""
    return f"{FAILURES_COUNTED}+" if count >= FAILURES_COUNTED else f"{count}"


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
    def given_up(self) -> bool:
        """Tell whether all seven attempts are past without a success."""
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


class EndpointHealth(msgspec.Struct, frozen=True, kw_only=True):
    """One of our endpoints as the sender must see it."""

    endpoint: str
    last_arrival_at: datetime
    last_success_at: datetime | None
    """The last 2xx in time among the newest arrivals; None where there is none."""
    failures: int
    """Arrivals answered otherwise since then, `FAILURES_COUNTED` at most."""
    reason: str | None
    """Why the newest of them failed, as a stable word."""
    fuse: Fuse

    @property
    def disables_at(self) -> datetime | None:
        """Return from when on a failure disables the endpoint; None while nothing fails."""
        return self.fuse.blows_at

    def is_recent(self, *, now: datetime) -> bool:
        """Tell whether a success is so fresh that it says something about now."""
        last = self.last_success_at
        return last is not None and now - last <= RECENT


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
    counted = causes(store, mode, window=Window.HOUR, now=now)
    named = {channel for cause in counted.causes for channel in cause.channels}
    return Health(
        at=now,
        endpoints=_endpoints(store, mode, now),
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
    return PollerAbsence(open_since=opened[0].created_at, last_poll_at=last)


def _endpoints(store: Store, mode: Mode, now: datetime) -> tuple[EndpointHealth, ...]:
    rollups = store.rollups.deliveries(mode, since=now - _REMEMBERED, until=now + _HOUR)
    names = sorted({row.endpoint for row in rollups})
    found = [one for name in names if (one := _endpoint(store, mode, name)) is not None]
    # Worst first: failing longest, then by name.
    return tuple(sorted(found, key=lambda one: (one.fuse.lit_at or now, one.endpoint)))


def _endpoint(store: Store, mode: Mode, name: str) -> EndpointHealth | None:
    newest = store.deliveries.page(
        mode, where=DeliveryFilter(endpoints=(name,)), limit=FAILURES_COUNTED
    ).rows
    if not newest:
        return None
    failures: list[DeliveryRow] = []
    success: DeliveryRow | None = None
    for row in newest:
        if succeeded(row):
            success = row
            break
        failures.append(row)
    fuse = Fuse()
    for row in reversed(failures):
        ended_at = row.arrived_at + timedelta(microseconds=row.took_us)
        fuse = fuse.after(at=ended_at, delivered=False)
    return EndpointHealth(
        endpoint=name,
        last_arrival_at=newest[0].arrived_at,
        last_success_at=None if success is None else success.arrived_at,
        failures=len(failures),
        reason=failures[0].reason if failures else None,
        fuse=fuse,
    )
