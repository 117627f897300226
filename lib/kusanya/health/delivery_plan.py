"""The retry plan of a delivery: which attempts came, which nobody saw, which are still due.

The specification has no delivery log, so attempts are inferred from what reached us and from the
retry plan, and the screens say so. Source: specification, Delivery rules 1 to 3. Assumes
RETRY_TIMES_ARE_GAPS.
"""

from collections.abc import Iterable
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Final

import msgspec

from kusanya.health.endpoints import succeeded
from kusanya.store.records import DeliveryRow, MissingEventRow, Verdict
from kusanya.webhooks.schedule import ATTEMPTS, infer_attempt, next_attempt, plan

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
    HELD = "held"
    """The endpoint is disabled: it comes once that is enabled again."""


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
    def is_held(self) -> bool:
        """Return whether attempts are left, and none comes while the endpoint is disabled."""
        return any(slot.state is SlotState.HELD for slot in self.slots)

    @property
    def is_given_up(self) -> bool:
        """Return whether all seven attempts are past without a success."""
        return not (self.delivered or self.is_held) and self.next_at is None

    def held(self, *, since: datetime) -> "DeliveryPlan":
        """Return the plan of an endpoint that was disabled at `since`: what was due is held.

        An attempt that nobody saw after that instant was never made.
        """
        if self.delivered:
            return self
        unsent = {SlotState.PLANNED, SlotState.NOT_SEEN}
        slots = tuple(
            msgspec.structs.replace(slot, state=SlotState.HELD, at=None)
            if slot.state in unsent and slot.at is not None and slot.at > since
            else slot
            for slot in self.slots
        )
        return DeliveryPlan(slots=slots, delivered=False)


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
