"""What the arrivals of one event tell about its delivery: which attempts were, which will be.

The specification has no delivery log, so all of this is inferred from what reached us and from the
retry plan, and whoever shows it says so. Pure. Source: specification, Delivery rules 1 and 2.
Assumes RETRY_TIMES_ARE_GAPS.
"""

from collections.abc import Iterable
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Final

import msgspec

from kusanya.limits import ACKNOWLEDGEMENT_TIME
from kusanya.store.records import DeliveryRow
from kusanya.webhooks.schedule import ATTEMPTS, infer_attempt, next_attempt, plan

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


class SlotState(StrEnum):
    """What is known about one of the seven attempts."""

    ANSWERED = "answered"
    """It arrived and we answered it."""
    NOT_SEEN = "not seen"
    """It was due and nothing reached the store: the receiver was down, or could not save it."""
    PLANNED = "planned"
    SPARED = "spared"
    """An earlier attempt succeeded, so this one never comes."""


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
    for row in sorted(arrivals, key=lambda row: row.arrived_at):
        number = attempt_of(row)
        if number is not None:
            numbered[number] = row
    if not numbered:
        return None
    first = min(numbered)
    created_at = numbered[first].event_created_at or numbered[first].arrived_at
    ahead = plan(first_at=created_at)
    slots: list[Slot] = []
    due: datetime | None = ahead[0]
    delivered = False
    for number in range(1, ATTEMPTS + 1):
        seen = numbered.get(number)
        if seen is not None:
            at = seen.arrived_at
            slots.append(Slot(number=number, state=SlotState.ANSWERED, at=at, arrival=seen))
            delivered = delivered or succeeded(seen)
            failed_at = at + timedelta(microseconds=seen.took_us)
        elif delivered or due is None:
            slots.append(Slot(number=number, state=SlotState.SPARED, at=None))
            continue
        else:
            missed = number < max(numbered) or due + SEEN_WITHIN < now
            state = SlotState.NOT_SEEN if missed else SlotState.PLANNED
            slots.append(Slot(number=number, state=state, at=due))
            failed_at = due
        due = next_attempt(number, failed_at=failed_at)
    return DeliveryPlan(slots=tuple(slots), delivered=delivered)
