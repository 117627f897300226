"""Which attempts of a delivery were and will be, inferred from what arrived."""

from datetime import UTC, datetime, timedelta

import pytest

from kusanya.health import DeliveryPlan, SlotState, attempt_of, delivery_plan, succeeded
from kusanya.store.records import DeliveryRow, Verdict
from kusanya.wire import Mode

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
MINUTE = timedelta(minutes=1)
HOUR = timedelta(hours=1)


def arrival(
    after: timedelta, *, answer: int = 503, took_us: int = 2_000, attempt: int | None = None
) -> DeliveryRow:
    return DeliveryRow(
        id=f"dlv_{after}", seq=1, arrived_at=NOON + after, endpoint="shop", mode=Mode.LIVE,
        verdict=Verdict.REJECTED if answer == 400 else Verdict.VERIFIED, reason=None,
        event_id="evt_1", event_type="collection.failed", event_created_at=NOON,
        collection_id="col_1", reference="INV-1", amount=1, currency="TZS", signed_at=NOON + after,
        attempt=attempt, answer=answer, took_us=took_us, body_bytes=2, secrets_tried=1,
    )  # fmt: skip


def plan_of(*arrivals: DeliveryRow, now: datetime) -> DeliveryPlan:
    plan = delivery_plan(arrivals, now=now)
    assert plan is not None
    return plan


def states(plan: DeliveryPlan) -> str:
    signs = {
        SlotState.ANSWERED: "x", SlotState.NOT_SEEN: "·", SlotState.PLANNED: "?",
        SlotState.SPARED: " ",
    }  # fmt: skip
    return "".join(signs[slot.state] for slot in plan.slots)


@pytest.mark.spec("delivery-2")
def test_after_three_failures_four_attempts_are_planned_from_the_last_failure() -> None:
    plan = plan_of(
        arrival(timedelta()), arrival(MINUTE), arrival(6 * MINUTE), now=NOON + 10 * MINUTE
    )
    assert states(plan) == "xxx????"
    failed_at = NOON + 6 * MINUTE + timedelta(milliseconds=2)
    assert plan.next_at == failed_at + 30 * MINUTE
    assert plan.gives_up_at == failed_at + 30 * MINUTE + 2 * HOUR + 6 * HOUR + 12 * HOUR


@pytest.mark.spec("delivery-1")
def test_a_2xx_in_time_ends_the_delivery_and_a_late_one_does_not() -> None:
    done = plan_of(arrival(timedelta(), answer=200), now=NOON + HOUR)
    assert (states(done), done.delivered, done.next_at) == ("x      ", True, None)
    late = plan_of(arrival(timedelta(), answer=200, took_us=10_000_001), now=NOON + MINUTE / 2)
    assert (states(late), late.delivered) == ("x??????", False)
    assert succeeded(arrival(timedelta(), answer=204, took_us=10_000_000))
    assert not succeeded(arrival(timedelta(), answer=302))


def test_an_attempt_that_nobody_saw_is_named_and_the_plan_goes_on_from_it() -> None:
    plan = plan_of(arrival(6 * MINUTE), now=NOON + 10 * MINUTE)
    assert states(plan) == "··x????"
    overdue = plan_of(arrival(timedelta()), now=NOON + 3 * MINUTE)
    assert states(overdue) == "x·?????"
    assert overdue.next_at == NOON + timedelta(milliseconds=2) + MINUTE + 5 * MINUTE


@pytest.mark.spec("delivery-2")
def test_seven_failures_are_the_end() -> None:
    gaps = [0, 1, 6, 36, 156, 516, 1236]
    plan = plan_of(*(arrival(gap * MINUTE) for gap in gaps), now=NOON + 30 * HOUR)
    assert states(plan) == "xxxxxxx"
    assert plan.given_up
    assert plan.gives_up_at is None


def test_a_rejected_arrival_is_numbered_by_the_time_it_claims() -> None:
    assert attempt_of(arrival(MINUTE, answer=400)) == 2
    assert attempt_of(arrival(3 * MINUTE, answer=400)) is None
    assert attempt_of(arrival(3 * MINUTE, attempt=4)) == 4


def test_arrivals_that_fit_no_slot_have_no_plan() -> None:
    assert delivery_plan([arrival(3 * MINUTE)], now=NOON + HOUR) is None
