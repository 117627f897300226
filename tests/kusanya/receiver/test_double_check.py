"""Asking the service about what was already acknowledged."""

import queue
import threading
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest
from tests.kusanya.receiver.peers import SignHeaders

from kusanya.clock import Clock
from kusanya.errors import NotFound, ServiceUnavailable
from kusanya.receiver.classification import classify
from kusanya.receiver.double_check import (
    CheckOutcome,
    CheckResult,
    DoubleCheck,
    DoubleCheckPolicy,
    differing,
    is_sampled,
)
from kusanya.receiver.endpoints import Endpoints
from kusanya.state import Source
from kusanya.store import Store
from kusanya.store.records import Arrival, DeliveryCommit, Verdict
from kusanya.wire import Collection, Event, Mode, decode_collection, decode_event

NOON = datetime(2026, 3, 2, 12, tzinfo=UTC)
SECRET = "whsec_" + "a" * 32

Body = Callable[..., bytes]


class Service:
    """What the service would answer, or the error that asking it ends in."""

    def __init__(self, event: bytes | None = None, fault: Exception | None = None) -> None:
        self.event = event
        self.fault = fault
        self.asked: list[str] = []

    def get_event(self, event_id: str, /) -> Event:
        """Answer as the service does."""
        self.asked.append(event_id)
        return decode_event(self._answer())

    def get_collection(self, collection_id: str, /) -> Collection:
        """Answer as the service does."""
        self.asked.append(collection_id)
        return decode_collection(decode_event(self._answer()).data.raw)

    def _answer(self) -> bytes:
        if self.fault is not None:
            raise self.fault
        if self.event is None:
            raise NotFound("no such object", status=404)
        return self.event


@pytest.fixture
def acknowledged(
    store: Store, body: Body, sign_headers: SignHeaders
) -> Callable[..., tuple[Arrival, DeliveryCommit]]:
    """Return a maker of deliveries that are already durable."""

    def make(payload: bytes | None = None) -> tuple[Arrival, DeliveryCommit]:
        payload = payload or body()
        arrival = classify(
            payload,
            sign_headers(payload),
            arrived_at=NOON,
            endpoints=Endpoints.of(SECRET, mode="test"),
        )
        return arrival, store.record(arrival)

    return make


Acknowledged = Callable[..., tuple[Arrival, DeliveryCommit]]
Check = Callable[..., CheckResult]


@pytest.fixture
def check(store: Store, clock: Clock) -> Check:
    """Return a checker of one delivery that waits for the result."""

    def run(
        service: Service,
        offered: tuple[Arrival, DeliveryCommit],
        policy: DoubleCheckPolicy = DoubleCheckPolicy.ALWAYS,
    ) -> CheckResult:
        results: queue.Queue[CheckResult] = queue.Queue()
        with DoubleCheck(
            store, {Mode.TEST: service}, policy=policy, clock=clock, on_checked=results.put
        ) as checks:
            checks.offer(*offered)
            return results.get(timeout=10)

    return run


@pytest.mark.spec("get-event")
def test_an_event_that_the_service_confirms_is_recorded_as_checked(
    store: Store, acknowledged: Acknowledged, check: Check, body: Body
) -> None:
    service = Service(body())
    checked = check(service, acknowledged())
    assert (checked.outcome, checked.differences) == (CheckOutcome.AGREES, ())
    assert service.asked == ["evt_1", "col_1"]
    state = store.collections.state("col_1", Mode.TEST)
    assert state is not None
    assert state.confirmed_by == (Source.EVENT, Source.EVENT_CHECK, Source.POLL)
    assert state.contradictions == ()
    event = store.events.get("evt_1")
    assert event is not None
    assert event.checked_at == NOON


def test_an_event_that_the_service_denies_is_a_contradiction(
    store: Store, acknowledged: Acknowledged, check: Check, body: Body
) -> None:
    offered = acknowledged()
    other = body(data={"fee": 70, "status": "failed", "failure_code": "declined"})
    checked = check(Service(other), offered)
    assert checked.outcome is CheckOutcome.DIFFERS
    assert checked.differences == ("data.failure_code", "data.fee", "data.status", "type")
    state = store.collections.state("col_1", Mode.TEST)
    assert state is not None
    assert state.status == "contradiction"
    assert (state.fee_event, state.fee_poll) == (50, 70)


def test_an_event_that_the_service_does_not_know_is_reported(
    store: Store, acknowledged: Acknowledged, check: Check
) -> None:
    service = Service()
    assert check(service, acknowledged()).outcome is CheckOutcome.UNKNOWN_EVENT
    assert service.asked == ["evt_1", "col_1"]
    state = store.collections.state("col_1", Mode.TEST)
    assert state is not None
    assert state.observations == 1


def test_a_service_that_cannot_be_asked_changes_nothing(
    store: Store, acknowledged: Acknowledged, check: Check
) -> None:
    fault = ServiceUnavailable("down", status=503)
    assert check(Service(fault=fault), acknowledged()).outcome is CheckOutcome.FAILED
    state = store.collections.state("col_1", Mode.TEST)
    assert state is not None
    assert state.observations == 1


def test_the_answer_about_another_event_or_mode_is_no_fact(
    store: Store, acknowledged: Acknowledged, check: Check, body: Body
) -> None:
    offered = acknowledged()
    for other in (body(2), body(mode="live", data={"mode": "live"})):
        checked = check(Service(other), offered)
        assert checked.outcome is CheckOutcome.DIFFERS
    state = store.collections.state("col_1", Mode.TEST)
    assert state is not None
    assert state.observations == 1
    assert store.collections.get("col_2", Mode.TEST) is None


@pytest.mark.parametrize(
    "asked",
    [(DoubleCheckPolicy.ON_CONTRADICTION, 1.0), (DoubleCheckPolicy.SAMPLED, 0.0)],
)
def test_a_contradiction_is_checked_under_every_policy_and_a_plain_event_is_not(
    store: Store,
    clock: Clock,
    acknowledged: Acknowledged,
    body: Body,
    asked: tuple[DoubleCheckPolicy, float],
) -> None:
    service, results = Service(body()), queue.Queue[CheckResult]()
    with DoubleCheck(
        store,
        {Mode.TEST: service},
        policy=asked[0],
        share=asked[1],
        clock=clock,
        on_checked=results.put,
    ) as checks:
        checks.offer(*acknowledged(body(7)))
        checks.offer(*acknowledged())
        acknowledged(body(3))
        checks.offer(*acknowledged(body(3, id="evt_2", data={"status": "expired"})))
        assert results.get(timeout=10).event_id == "evt_2"
        checks.offer(*acknowledged(body(8, type="collection.failed")))
        assert results.get(timeout=10).event_id == "evt_8"
        conflict = acknowledged(body(7, data={"fee": 1}))
        assert conflict[1].verdict is Verdict.CONFLICT
        checks.offer(*conflict)
        assert results.get(timeout=10).event_id == "evt_7"
    assert service.asked[0] == "evt_2"
    assert "evt_1" not in service.asked
    assert results.empty()


def test_the_sampled_share_is_the_same_everywhere_and_about_as_large_as_asked() -> None:
    ids = [f"evt_{number}" for number in range(10_000)]
    assert 400 < sum(is_sampled(one, 0.05) for one in ids) < 600
    assert all(is_sampled(one, 1.0) for one in ids)
    assert not any(is_sampled(one, 0.0) for one in ids)
    some = {one for one in ids if is_sampled(one, 0.05)}
    assert some <= {one for one in ids if is_sampled(one, 0.2)}


def test_rejected_repeated_and_other_modes_deliveries_are_not_asked_about(
    store: Store, acknowledged: Acknowledged, body: Body, caplog: pytest.LogCaptureFixture
) -> None:
    live, test = Service(body()), Service(body(5))
    results = queue.Queue[CheckResult]()
    always = DoubleCheckPolicy.ALWAYS
    with DoubleCheck(store, {Mode.LIVE: live}, policy=always) as checks:
        checks.offer(*acknowledged())
    with DoubleCheck(store, {Mode.TEST: test}, policy=always, on_checked=results.put) as checks:
        repeated = acknowledged()
        assert repeated[1].verdict is Verdict.REPEAT
        checks.offer(*repeated)
        checks.offer(*acknowledged(body(5)))
        assert results.get(timeout=10).event_id == "evt_5"
    assert (live.asked, test.asked) == ([], ["evt_5", "col_5"])
    assert caplog.records == []  # nothing was taken on that could not be asked


def test_a_plain_event_that_is_sampled_is_asked_about(
    store: Store, acknowledged: Acknowledged, body: Body
) -> None:
    service, results = Service(body()), queue.Queue[CheckResult]()
    with DoubleCheck(
        store,
        {Mode.TEST: service},
        policy=DoubleCheckPolicy.SAMPLED,
        share=1.0,
        on_checked=results.put,
    ) as checks:
        checks.offer(*acknowledged())
        assert results.get(timeout=10).outcome is CheckOutcome.AGREES


def test_a_full_queue_drops_and_counts_and_stopping_does_not_wait_for_it(
    store: Store, acknowledged: Acknowledged, body: Body
) -> None:
    entered, release = threading.Event(), threading.Event()

    class StuckService(Service):
        def get_event(self, event_id: str, /) -> Event:
            entered.set()
            assert release.wait(10)
            return super().get_event(event_id)

    service = StuckService(body())
    offered = acknowledged()
    with DoubleCheck(
        store, {Mode.TEST: service}, policy=DoubleCheckPolicy.ALWAYS, queue_events=2
    ) as checks:
        checks.offer(*offered)
        assert entered.wait(10)
        for _ in range(5):
            checks.offer(*offered)
        assert checks.dropped == 3
        release.set()
    assert checks.dropped + service.asked.count("evt_1") == 6


def test_a_failing_callback_is_logged_and_ends_no_later_check(
    store: Store,
    clock: Clock,
    acknowledged: Acknowledged,
    body: Body,
    caplog: pytest.LogCaptureFixture,
) -> None:
    results: queue.Queue[CheckResult] = queue.Queue()

    def fail_once(checked: CheckResult) -> None:
        results.put(checked)
        if results.qsize() == 1:
            raise ZeroDivisionError("the caller's")

    service = Service(body())
    checks = DoubleCheck(
        store,
        {Mode.TEST: service},
        policy=DoubleCheckPolicy.ALWAYS,
        clock=clock,
        on_checked=fail_once,
    )
    first, other = acknowledged(), acknowledged(body(data={"fee": 60}))
    checks.offer(*first)
    checks.offer(*other)
    checks.close()
    assert results.qsize() + checks.dropped == 2
    # What was closed begins again with the next delivery.
    checks.offer(*other)
    while results.qsize() + checks.dropped < 3:
        pass
    checks.close()
    assert "a double check failed" in [line.message for line in caplog.records]


def test_a_share_outside_0_to_1_is_the_callers_mistake(store: Store) -> None:
    for share in (-0.1, 1.1):
        with pytest.raises(ValueError, match="between 0 and 1"):
            DoubleCheck(store, {}, share=share)


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        pytest.param({}, (), id="nothing"),
        pytest.param({"created_at": "2026-03-02T12:00:01Z"}, ("created_at",), id="created_at"),
        pytest.param({"data": {"fee": 50.0}}, ("data.fee",), id="50 and 50.0"),
        pytest.param({"data": {"description": None}}, (), id="null and absent"),
        pytest.param({"data": {"metadata": {"a": 1}}}, ("data.metadata",), id="something new"),
    ],
)
def test_events_are_compared_as_json(
    body: Body, changes: dict[str, Any], expected: tuple[str, ...]
) -> None:
    assert differing(body(), body(**changes)) == expected
    spaced = body(**changes).replace(b",", b" , ")
    assert differing(spaced, body()) == expected
