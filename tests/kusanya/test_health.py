"""Where it is going wrong: attempts inferred from arrivals, fuses, failures, stuck prompts."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from shutil import copy
from typing import Any

import msgspec
import pytest
from tests.kit.polling import events_arrive, poller_runs

from kusanya.clock import ManualClock
from kusanya.health.delivery_plan import (
    DeliveryPlan,
    SlotState,
    attempt_of,
    delivery_plan,
)
from kusanya.health.endpoints import FAILURES_COUNTED, listened, load_endpoints, succeeded
from kusanya.health.report import health
from kusanya.state.observation import Observation, Source
from kusanya.store import Store
from kusanya.store.records import Arrival, DeliveryRow, Verdict
from kusanya.wire import Collection, Mode, decode_collection

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
        SlotState.SPARED: " ", SlotState.HELD: "h",
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


@pytest.mark.spec("delivery-3")
def test_what_a_disabled_endpoint_was_to_be_sent_is_held_and_not_given_up() -> None:
    begun = (arrival(timedelta()), arrival(MINUTE))
    plan = plan_of(*begun, now=NOON + 3 * HOUR).held(since=NOON + 2 * MINUTE)
    assert states(plan) == "xxhhhhh", "nor was an attempt missed that was never made"
    assert (plan.next_at, plan.gives_up_at) == (None, None)
    assert (plan.is_held, plan.is_given_up) == (True, False)
    late = plan_of(*begun, now=NOON + 3 * HOUR).held(since=NOON + HOUR)
    assert states(late) == "xx··hhh", "what was due before was sent"
    done = plan_of(arrival(timedelta(), answer=200), now=NOON + HOUR)
    assert done.held(since=NOON + MINUTE) == done


@pytest.mark.spec("delivery-2")
def test_seven_failures_are_the_end() -> None:
    gaps = [0, 1, 6, 36, 156, 516, 1236]
    plan = plan_of(*(arrival(gap * MINUTE) for gap in gaps), now=NOON + 30 * HOUR)
    assert states(plan) == "xxxxxxx"
    assert plan.is_given_up
    assert plan.gives_up_at is None


def test_a_rejected_arrival_is_numbered_by_the_time_it_claims() -> None:
    assert attempt_of(arrival(MINUTE, answer=400)) == 2
    assert attempt_of(arrival(3 * MINUTE, answer=400)) is None
    assert attempt_of(arrival(3 * MINUTE, attempt=4)) == 4


def test_a_slot_belongs_to_the_first_arrival_and_never_to_a_forged_one() -> None:
    attempt, resent = arrival(timedelta(0), answer=200), arrival(timedelta(seconds=9), answer=200)
    forged = arrival(timedelta(0), answer=400)
    for given in ([resent, attempt], [forged, attempt], [attempt, resent, forged]):
        assert plan_of(*given, now=NOON + MINUTE).slots[0].arrival is attempt
    assert plan_of(forged, now=NOON + MINUTE).slots[0].arrival is forged


def test_arrivals_that_fit_no_slot_have_no_plan() -> None:
    assert delivery_plan([arrival(3 * MINUTE)], now=NOON + HOUR) is None


@pytest.mark.spec("delivery-1")
def test_a_2xx_to_what_was_sent_by_hand_ends_the_retries_too() -> None:
    failed, by_hand = arrival(timedelta()), arrival(MINUTE / 3, answer=200)
    assert attempt_of(arrival(3 * MINUTE)) is None
    for now in (MINUTE / 2, 3 * MINUTE, 30 * HOUR):
        plan = plan_of(failed, by_hand, now=NOON + now)
        assert (states(plan), plan.delivered, plan.is_given_up) == ("x      ", True, False)
        assert (plan.next_at, plan.gives_up_at) == (None, None)
    later = plan_of(failed, arrival(3 * MINUTE, answer=200), now=NOON + HOUR)
    assert (states(later), later.delivered) == ("x·     ", True)
    in_vain = plan_of(failed, arrival(3 * MINUTE), now=NOON + 3 * MINUTE)
    assert (states(in_vain), in_vain.delivered) == ("x·?????", False)


@pytest.fixture
def store(tmp_path: Path, empty_store: Path) -> Iterator[Store]:
    with Store.open(copy(empty_store, tmp_path / "health.db"), clock=ManualClock(NOON)) as opened:
        yield opened


def arrived(store: Store, at: datetime, *, answer: int, endpoint: str = "shop") -> None:
    good = answer == 200
    fact = collection(f"{endpoint}{at.timestamp():.0f}", at=at, status="succeeded")
    store.record(
        Arrival(
            arrived_at=at, endpoint=endpoint, observed_in=Mode.LIVE, body=b"{}", headers=(),
            verdict=Verdict.VERIFIED if good else Verdict.REJECTED,
            reason=None if good else "too_old", event_id=f"evt_{fact.id}", answer=answer,
            took_us=0,
            observation=Observation(
                source=Source.EVENT, source_id=f"evt_{fact.id}", observed_at=at,
                observed_in=Mode.LIVE, collection=fact, event_id=f"evt_{fact.id}",
            ) if good else None,
        )
    )  # fmt: skip


def collection(name: str, *, at: datetime, **fields: Any) -> Collection:
    values: dict[str, Any] = {
        "id": f"col_{name}", "status": "created", "amount": 1_000, "fee": 10, "currency": "TZS",
        "channel": "MPESA_TZ", "phone": "255754000412", "reference": name, "mode": "live",
        "created_at": at,
    }  # fmt: skip
    return decode_collection(msgspec.json.encode(values | fields))


def polled(store: Store, fact: Collection) -> None:
    store.record(
        Observation(
            source=Source.POLL, source_id=f"req_{fact.id}", observed_at=fact.created_at,
            observed_in=fact.mode, collection=fact,
        )
    )  # fmt: skip


@pytest.mark.spec("delivery-3")
def test_an_endpoints_fuse_burns_from_the_first_failure_since_its_last_success(
    store: Store,
) -> None:
    for minutes, answer in ((0, 400), (10, 200), (20, 400), (30, 400)):
        arrived(store, NOON + minutes * MINUTE, answer=answer)
    arrived(store, NOON + 25 * MINUTE, answer=200, endpoint="till")
    found = health(store, Mode.LIVE, now=NOON + HOUR)
    shop, till = found.endpoints
    assert [one.endpoint for one in found.failing] == ["shop"]
    assert (shop.failures, shop.reason) == (2, "too_old")
    assert shop.last_success_at == NOON + 10 * MINUTE
    assert shop.fuse.lit_at == NOON + 20 * MINUTE
    assert shop.disables_at == NOON + 20 * MINUTE + timedelta(days=3)
    assert (till.failures, till.disables_at) == (0, None)


@pytest.mark.spec("delivery-3")
def test_a_fuse_stays_where_it_was_lit_however_many_refusals_follow(store: Store) -> None:
    arrived(store, NOON, answer=200)
    arrived(store, NOON + timedelta(seconds=1), answer=400)
    first = health(store, Mode.LIVE, now=NOON + HOUR).endpoints[0]
    for second in range(2, 2 + FAILURES_COUNTED):
        arrived(store, NOON + timedelta(seconds=second), answer=400)
    (shop,) = health(store, Mode.LIVE, now=NOON + HOUR).endpoints
    assert shop.failures == FAILURES_COUNTED
    assert shop.last_success_at == NOON
    assert shop.fuse == first.fuse
    assert shop.disables_at == NOON + timedelta(days=3, seconds=1)
    assert not shop.is_fuse_estimated
    arrived(store, NOON + timedelta(days=3), answer=400)
    arrived(store, NOON + timedelta(days=3, seconds=2), answer=400)
    arrived(store, NOON + timedelta(days=3, seconds=3), answer=400)
    (shop,) = health(store, Mode.LIVE, now=NOON + timedelta(days=3, minutes=1)).endpoints
    assert shop.fuse.blown_at == NOON + timedelta(days=3, seconds=2)


@pytest.mark.spec("delivery-3")
def test_where_the_first_refusals_were_let_go_the_fuse_is_lit_when_they_may_have_come(
    tmp_path: Path, empty_store: Path
) -> None:
    clock = ManualClock(NOON)
    where = copy(empty_store, tmp_path / "flooded.db")
    with Store.open(where, clock=clock, rejected_rows=3) as store:
        arrived(store, NOON, answer=200)
        for _ in range(6 * 30):
            clock.step(2 * MINUTE)
            arrived(store, clock.now(), answer=400)
        (shop,) = health(store, Mode.LIVE, now=clock.now()).endpoints
        assert shop.failures == 3
        assert shop.is_fuse_estimated
        assert (shop.last_success_at, shop.fuse.lit_at) == (NOON, NOON)
        assert shop.fuse.blown_at is None
        clock.step(timedelta(days=3))
        arrived(store, clock.now(), answer=400)
        (shop,) = health(store, Mode.LIVE, now=clock.now()).endpoints
        assert (shop.fuse.lit_at, shop.fuse.blown_at) == (NOON, clock.now())


@pytest.mark.parametrize(
    ("ago", "span"),
    [
        ([(0, 200), (20, 200), (50, 200)], (50, 0)),
        ([(0, 200), (20, 200), (51, 200)], (20, 0)),
        ([(0, 200), (10, 400), (20, 200)], (0, 0)),
        ([(0, 400), (10, 200), (30, 200)], (30, 10)),
        ([(0, 400), (10, 400)], None),
    ],
)
def test_events_were_listened_to_since_the_last_gap_or_refusal(
    store: Store, ago: list[tuple[int, int]], span: tuple[int, int] | None
) -> None:
    for seconds, answer in reversed(ago):
        arrived(store, NOON - timedelta(seconds=seconds), answer=answer)
    arrived(store, NOON - HOUR, answer=200, endpoint="till")
    found = listened(load_endpoints(store, Mode.LIVE, now=NOON))
    since, until = (3_600, 3_600) if span is None else span
    assert found == (NOON - timedelta(seconds=since), NOON - timedelta(seconds=until))


def test_failures_of_the_hour_are_counted_by_code_and_channel_beside_what_is_usual(
    store: Store,
) -> None:
    failed: dict[str, Any] = {"status": "failed", "failure_code": "invalid_pin"}
    for day in range(1, 6):
        polled(store, collection(f"past{day}", at=NOON - timedelta(days=day), **failed))
    for n, channel in enumerate(("MPESA_TZ", "MPESA_TZ", "AIRTEL_TZ")):
        polled(store, collection(f"now{n}", at=NOON, **(failed | {"channel": channel})))
    polled(store, collection("late", at=NOON, status="expired"))
    polled(store, collection("paid", at=NOON, status="succeeded"))
    pin, expired = health(store, Mode.LIVE, now=NOON + MINUTE).causes
    assert (pin.word, pin.count, pin.usual, pin.seen_before) == ("invalid_pin", 3, 1, True)
    assert pin.channels == {"MPESA_TZ": 2, "AIRTEL_TZ": 1}
    assert pin.amount == 3_000
    assert (expired.word, expired.count, expired.seen_before) == ("(expired)", 1, False)


def test_open_collections_are_grouped_by_channel_and_age(store: Store) -> None:
    for seconds in (10, 59, 60, 119, 120, 500):
        polled(store, collection(f"n{seconds}", at=NOON - timedelta(seconds=seconds)))
    polled(store, collection("done", at=NOON - HOUR, status="failed"))
    events_arrive(store, timedelta(minutes=9))
    [mpesa] = health(store, Mode.LIVE, now=NOON).stuck
    assert (mpesa.young, mpesa.late, mpesa.stuck) == (2, 2, 2)
    assert mpesa.oldest_at == NOON - timedelta(seconds=500)
    assert mpesa.phones == 1, "both on one phone: a customer, no outage"


@pytest.mark.parametrize(("minutes", "forgotten"), [(59, 0), (60, 1), (61, 1)])
def test_a_prompt_is_forgotten_after_an_hour_in_which_its_end_would_have_been_learned(
    store: Store, minutes: int, forgotten: int
) -> None:
    polled(store, collection("old", at=NOON - minutes * MINUTE))
    [before] = health(store, Mode.LIVE, now=NOON).stuck
    assert before.forgotten == 0, "nobody asked since"
    events_arrive(store, minutes * MINUTE + HOUR)
    [mpesa] = health(store, Mode.LIVE, now=NOON).stuck
    assert mpesa.forgotten == forgotten


@pytest.mark.merge
def test_old_open_prompts_do_not_hide_a_channel_that_hangs_now(store: Store) -> None:
    for number in range(1_100):
        polled(store, collection(f"old{number}", at=NOON - timedelta(days=2, seconds=number)))
    for number in range(3):
        at = NOON - timedelta(minutes=4, seconds=number)
        phone = f"25568400000{number}"
        polled(store, collection(f"new{number}", at=at, channel="AIRTEL_TZ", phone=phone))
    arrived(store, NOON, answer=200)
    found = health(store, Mode.LIVE, now=NOON)
    assert not any(one.is_outage for one in found.stuck), "nobody asked how they stand"
    assert found.unwatched is not None
    assert found.unwatched.open_since == NOON - timedelta(days=2, seconds=1_099)
    poller_runs(store)
    found = health(store, Mode.LIVE, now=NOON)
    airtel, mpesa = found.stuck
    assert (airtel.channel, airtel.stuck, airtel.phones) == ("AIRTEL_TZ", 3, 3)
    assert airtel.is_outage
    assert (mpesa.channel, mpesa.stuck) == ("MPESA_TZ", 1_100)
    assert not found.more_open


@pytest.mark.parametrize(("ended", "is_outage"), [(0, True), (400, False)])
def test_slow_prompts_are_compared_with_all_of_their_time_however_busy_other_channels_are(
    store: Store, ended: int, *, is_outage: bool
) -> None:
    second = timedelta(seconds=1)
    for number in range(7):
        phone = f"25568400000{number}"
        polled(store, collection(f"slow{number}", at=NOON - (70 + number) * second, phone=phone))
    for number in range(ended):
        at = NOON - (60 + number % 16) * second
        polled(store, collection(f"quick{number}", at=at, status="succeeded"))
    for number in range(600):
        at = NOON - (number % 60) * second
        polled(store, collection(f"n{number}", at=at, channel="TIGO_TZ", status="succeeded"))
    usual = {"MPESA_TZ": 20 * second}
    events_arrive(store, timedelta(minutes=9))
    [mpesa] = health(store, Mode.LIVE, now=NOON, usual_times=usual).stuck
    assert (mpesa.overdue, mpesa.phones) == (7, 7)
    assert mpesa.is_outage is is_outage


@pytest.mark.parametrize("minutes", [31, 29])
def test_a_prompt_is_compared_with_the_last_half_hour_at_most(store: Store, minutes: int) -> None:
    second = timedelta(seconds=1)
    polled(store, collection("old", at=NOON - 5 * HOUR))
    for number in range(7):
        phone = f"25568400000{number}"
        polled(store, collection(f"slow{number}", at=NOON - (70 + number) * second, phone=phone))
    for number in range(400):
        at = NOON - minutes * MINUTE - number * timedelta(milliseconds=1)
        polled(store, collection(f"quick{number}", at=at, status="failed"))
    usual = {"MPESA_TZ": 20 * second}
    events_arrive(store, timedelta(minutes=9))
    [mpesa] = health(store, Mode.LIVE, now=NOON, usual_times=usual).stuck
    assert mpesa.is_unusual is (minutes == 31)


def test_of_more_open_prompts_than_are_counted_the_newest_are(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    for minutes in range(6):
        polled(store, collection(f"n{minutes}", at=NOON - minutes * MINUTE))
    for most, more in ((4, True), (5, True), (6, False)):
        monkeypatch.setattr("kusanya.health.stuck_prompts.OPEN_LOOKED_AT", most)
        found = health(store, Mode.LIVE, now=NOON)
        assert found.more_open is more
        [mpesa] = found.stuck
        looked_at = min(most + 1, 6)
        assert (mpesa.young, mpesa.late, mpesa.stuck) == (1, 1, looked_at - 2)


def test_who_polled_at_a_past_moment_is_not_known_and_raises_nothing(
    store: Store, tmp_path: Path
) -> None:
    polled(store, collection("open", at=NOON - HOUR))
    assert health(store, Mode.LIVE, now=NOON).unwatched is not None
    store.maintenance.copy(tmp_path / "past.db", as_of=NOON)
    with Store.open(tmp_path / "past.db", read_only=True) as past:
        found = health(past, Mode.LIVE, now=NOON)
    assert [one.channel for one in found.stuck] == ["MPESA_TZ"]
    assert found.unwatched is None


def test_an_empty_store_is_healthy_and_the_other_mode_does_not_count(store: Store) -> None:
    polled(store, collection("t", at=NOON, mode="test", status="failed"))
    found = health(store, Mode.LIVE, now=NOON)
    assert (found.endpoints, found.causes, found.stuck, found.failing) == ((), (), (), ())


def without_effect(
    store: Store, verdict: Verdict, mode: Mode, *, at: datetime, endpoint: str = "shop"
) -> None:
    store.record(
        Arrival(
            arrived_at=at, endpoint=endpoint, observed_in=mode, body=b"?", headers=(),
            verdict=verdict, reason="said", secrets_tried=1, event_id="evt_1",
            answer=400 if verdict is Verdict.WRONG_MODE else 200, took_us=900,
        )
    )  # fmt: skip


def test_deliveries_of_the_wrong_mode_alarm_both_modes_and_unreadable_ones_their_own(
    store: Store,
) -> None:
    for minutes in (0, 1, 70):
        without_effect(store, Verdict.WRONG_MODE, Mode.TEST, at=NOON + minutes * MINUTE)
    without_effect(store, Verdict.UNPARSEABLE, Mode.TEST, at=NOON, endpoint="till")
    without_effect(store, Verdict.REJECTED, Mode.TEST, at=NOON)
    live = health(store, Mode.LIVE, now=NOON + 2 * HOUR)
    [wrong] = live.unusable
    assert (wrong.endpoint, wrong.mode, wrong.verdict) == ("shop", Mode.TEST, Verdict.WRONG_MODE)
    assert (wrong.count, wrong.last_hour) == (3, NOON + HOUR)
    assert live.failing == ()
    test = health(store, Mode.TEST, now=NOON + 2 * HOUR)
    assert [one.endpoint for one in test.unusable] == ["shop", "till"]
    assert health(store, Mode.LIVE, now=NOON + 26 * HOUR).unusable == ()
