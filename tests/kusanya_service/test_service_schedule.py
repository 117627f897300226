"""The retry schedule and the fuse, days of them in a moment."""

import time
from datetime import timedelta
from itertools import pairwise
from typing import Any

import pytest
from tests.kusanya_service.helpers import Order, deliveries, endpoints, instant, register, wait_for

from kusanya.webhooks import verify
from kusanya_service.testing import PaymentService
from kusanya_service.testing.capturing_endpoint import CapturedDelivery, CapturingEndpoint, Reply

HOUR = 3600


def delivery_of(service: PaymentService) -> Any:
    return deliveries(service)[-1]


def endpoint_of(service: PaymentService) -> Any:
    return endpoints(service)[0]


@pytest.mark.spec("delivery-2")
@pytest.mark.spec("limits-retry-schedule")
def test_attempts_are_made_1m_5m_30m_2h_6h_12h_after_each_failure_then_given_up(
    service: PaymentService, order: Order
) -> None:
    service.endpoint.answer_with(503)
    service.create(order)
    service.advance(4 * 24 * HOUR)
    delivery = delivery_of(service)
    first = instant(delivery["attempts"][0]["started_at"])
    minutes = [
        (instant(one["started_at"]) - first) / timedelta(minutes=1) for one in delivery["attempts"]
    ]
    assert minutes == [0, 1, 6, 36, 156, 516, 1236]
    assert (delivery["status"], delivery["next_attempt_at"]) == ("failed", None)
    assert len(service.deliveries) == 7


@pytest.mark.spec("delivery-2")
def test_a_retry_that_succeeds_is_the_last(service: PaymentService, order: Order) -> None:
    service.endpoint.answer_with(500)
    service.create(order)
    service.advance(20)
    service.advance(59)
    assert len(service.deliveries) == 1
    service.advance(1)
    assert len(service.deliveries) == 2
    service.endpoint.answer_with(200)
    service.advance(4 * 24 * HOUR)
    assert len(service.deliveries) == 3
    assert delivery_of(service)["status"] == "succeeded"


@pytest.mark.spec("signature-4")
def test_every_attempt_is_signed_afresh_at_its_own_instant_over_the_same_bytes(
    service: PaymentService, order: Order
) -> None:
    service.endpoint.answer_with(500)
    service.create(order)
    service.advance(4 * 24 * HOUR)
    starts = [instant(one["started_at"]) for one in delivery_of(service)["attempts"]]
    for captured, started in zip(service.deliveries, starts, strict=True):
        header = captured.headers["service-signature"]
        assert int(header.split(",")[0].removeprefix("t=")) == int(started.timestamp())
        secret = service.signing_secret
        verify(captured.body, header, secret, now=started.timestamp(), tolerance=1)
    assert len({one.body for one in service.deliveries}) == 1


def fail_for(service: PaymentService, order: Order, hours: float) -> None:
    """Let the endpoint fail from now on, with an event every 6 hours, for `hours`."""
    service.endpoint.answer_with(500)
    for _ in range(int(hours // 6)):
        service.create(order)
        service.advance(6 * HOUR)


@pytest.mark.spec("delivery-3")
@pytest.mark.spec("limits-endpoint-disabling")
def test_an_endpoint_is_disabled_by_the_first_failure_72_hours_after_its_first(
    service: PaymentService, order: Order
) -> None:
    fail_for(service, order, 72)
    before = endpoint_of(service)
    assert before["status"] == "enabled"
    since = instant(before["failing_since"])
    service.advance(6 * HOUR)
    after = endpoint_of(service)
    assert after["status"] == "disabled"
    failures = sorted(
        instant(attempt["ended_at"]) for one in deliveries(service) for attempt in one["attempts"]
    )
    assert failures[0] == since
    assert instant(after["disabled_at"]) == failures[-1]
    assert failures[-1] - since >= timedelta(hours=72)
    assert all(one - since < timedelta(hours=72) for one in failures[:-1])


@pytest.mark.spec("delivery-3")
def test_nothing_is_sent_to_a_disabled_endpoint_and_what_it_held_is_sent_once_when_enabled(
    service: PaymentService, order: Order
) -> None:
    fail_for(service, order, 90)
    assert endpoint_of(service)["status"] == "disabled"
    sent = len(service.deliveries)
    service.create(order | {"reference": "while-disabled"})
    service.advance(3 * 24 * HOUR)
    assert len(service.deliveries) == sent
    held = deliveries(service, status="held")
    assert len(held) > 1
    resend = service.request(
        "POST", f"/dashboard/deliveries/{held[0]['id']}/resend", key=service.dashboard_token
    )
    assert resend.status == 409
    service.endpoint.answer_with(200)
    enabled = service.dashboard("POST", f"endpoints/{endpoint_of(service)['id']}/enable")
    assert (enabled["status"], enabled["failing_since"]) == ("enabled", None)
    service.advance(24 * HOUR)
    arrived = [one.event["id"] for one in service.deliveries[sent:]]
    assert sorted(arrived) == sorted(one["event_id"] for one in held)
    assert deliveries(service, status="held") == []


@pytest.mark.spec("delivery-2")
@pytest.mark.spec("delivery-3")
def test_an_endpoint_enabled_at_once_gets_nothing_before_its_time(
    service: PaymentService, order: Order
) -> None:
    fail_for(service, order, 72)
    service.advance(20)
    service.create(order | {"reference": "the-last-straw"})
    service.advance(20)
    assert endpoint_of(service)["status"] == "disabled"
    last = delivery_of(service)
    assert len(last["attempts"]) == 1
    assert (last["status"], last["next_attempt_at"]) == ("held", None)
    service.dashboard("POST", f"endpoints/{endpoint_of(service)['id']}/enable")
    went = len(service.deliveries)
    due = instant(last["attempts"][0]["ended_at"]) + timedelta(minutes=1)
    assert instant(delivery_of(service)["next_attempt_at"]) == due
    service.advance(1)
    assert last["event_id"] not in [one.event["id"] for one in service.deliveries[went:]]
    service.advance(59)
    assert last["event_id"] in [one.event["id"] for one in service.deliveries[went:]]


@pytest.mark.spec("delivery-3")
def test_a_success_clears_the_fuse(service: PaymentService, order: Order) -> None:
    fail_for(service, order, 66)
    service.endpoint.answer_with(200)
    service.create(order)
    service.advance(20)
    assert endpoint_of(service)["failing_since"] is None
    fail_for(service, order, 66)
    assert endpoint_of(service)["status"] == "enabled"


@pytest.mark.spec("delivery-3")
def test_one_event_alone_never_disables_for_its_attempts_end_after_20_hours(
    service: PaymentService, order: Order
) -> None:
    service.endpoint.answer_with(500)
    service.create(order)
    service.advance(10 * 24 * HOUR)
    assert endpoint_of(service)["status"] == "enabled"
    service.create(order)
    service.advance(20)
    assert endpoint_of(service)["status"] == "disabled"


def test_four_days_of_retries_to_twenty_endpoints_pass_in_seconds(
    start: Any, order: Order, endpoint: CapturingEndpoint
) -> None:
    with start(registered=False) as service:
        for number in range(20):
            url = f"{endpoint.url}/{number}"
            register(service, url)
        endpoint.answer_with(500)
        service.create(order)
        began = time.monotonic()
        service.advance(4 * 24 * HOUR)
        assert time.monotonic() - began < 10
        assert len(endpoint.deliveries) == 140


@pytest.mark.merge
def test_the_same_seed_gives_the_same_ids_fees_events_and_order(
    start: Any, order: Order, tmp_path: Any, endpoint: CapturingEndpoint
) -> None:
    mix = {"succeeded": 3, "user_cancelled": 1, "expired": 1}
    endpoint.reply = lambda captured: Reply(status=500 if "9" in captured.event["id"] else 200)
    seen = []
    for run, seed in (("a", 11), ("b", 11), ("c", 12)):
        endpoint.deliveries.clear()
        with start(data=tmp_path / run, seed=seed, mix=mix) as service:
            for number in range(15):
                service.create(order | {"phone": f"2557541{number:05d}", "amount": 100 + number})
            service.advance(24 * HOUR)
            listed = deliveries(service)
            for one in listed:
                for attempt in one["attempts"]:
                    del attempt["duration_ms"]
                one["url"] = one["endpoint_id"] = ""
            bodies = [one.body for one in endpoint.deliveries]
            seen.append((listed, sorted(bodies)))
    assert seen[0] == seen[1]
    assert seen[0] != seen[2]


def test_a_merchant_who_posts_from_inside_a_delivery_does_not_stop_time(
    service: PaymentService, order: Order
) -> None:
    def order_again(captured: CapturedDelivery) -> Reply:
        if captured.event["data"]["reference"] == "order-1":
            service.create(order | {"reference": "again", "phone": "255754000012"})
        return Reply()

    service.endpoint.reply = order_again
    service.create(order)
    service.advance(60)
    references = [one.event["data"]["reference"] for one in service.deliveries]
    assert references == ["order-1", "again"]


@pytest.mark.spec("delivery-2")
def test_in_accelerated_time_the_schedule_is_kept_by_the_services_clock(
    start: Any, order: Order, endpoint: CapturingEndpoint
) -> None:
    endpoint.answer_with(500)
    with start(clock="2000x") as service:
        service.create(order | {"phone": "255754000012"})
        wait_for(lambda: bool(deliveries(service)))
        wait_for(lambda: len(delivery_of(service)["attempts"]) >= 4)
        attempts = delivery_of(service)["attempts"]
    gaps = [
        instant(later["started_at"]) - instant(earlier["ended_at"])
        for earlier, later in pairwise(attempts)
    ]
    least = [timedelta(minutes=1), timedelta(minutes=5), timedelta(minutes=30)]
    assert len(gaps) >= 3
    assert all(gap >= wanted for gap, wanted in zip(gaps, least, strict=False))
