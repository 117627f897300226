"""Events and their deliveries: payload, signature, success and failure, resending, rotation."""

import hashlib
import hmac
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from tests.kusanya_service.helpers import Order, deliveries, endpoints, register
from tests.kusanya_service.resetting import shorten_the_ten_seconds

from kusanya.webhooks import verify
from kusanya_service.testing import PaymentService
from kusanya_service.testing.capturing_endpoint import CapturedDelivery, CapturingEndpoint, Reply

NOON = 1_772_452_800


@pytest.mark.spec("events-payload")
@pytest.mark.spec("get-event")
@pytest.mark.spec("fields-event")
def test_the_payload_is_the_event_as_get_shows_it_with_the_collection_at_that_moment(
    service: PaymentService, order: Order
) -> None:
    made = service.create(order).json
    service.advance(20)
    [delivery] = service.deliveries
    assert delivery.body == service.get(f"events/{delivery.event['id']}").body
    assert list(delivery.event) == ["id", "type", "created_at", "mode", "data"]
    assert delivery.event["id"].startswith("evt_")
    assert delivery.event["mode"] == "test"
    assert delivery.event["data"] == service.get(f"collections/{made['id']}").json
    assert delivery.headers["content-type"] == "application/json"


@pytest.mark.spec("events-types")
@pytest.mark.parametrize(
    ("phone", "kind"),
    [
        ("255754000001", "collection.succeeded"),
        ("255754000002", "collection.failed"),
        ("255754000009", "collection.expired"),
    ],
)
def test_each_final_state_has_its_event_and_only_one(
    service: PaymentService, order: Order, phone: str, kind: str
) -> None:
    service.create(order | {"phone": phone})
    service.advance(24 * 3600)
    assert [one.event["type"] for one in service.deliveries] == [kind]
    failure = service.deliveries[0].event["data"].get("failure_code")
    assert failure == ("insufficient_funds" if kind == "collection.failed" else None)


@pytest.mark.spec("get-event")
def test_an_unknown_event_is_404(service: PaymentService) -> None:
    assert service.get("events/evt_none").status == 404


@pytest.mark.spec("signature-1")
@pytest.mark.spec("signature-2")
@pytest.mark.spec("signature-3")
def test_v1_is_the_hmac_of_t_and_the_exact_bytes_under_the_whole_secret(
    service: PaymentService, order: Order
) -> None:
    service.create(order)
    service.advance(20)
    [delivery] = service.deliveries
    t, v1 = delivery.headers["service-signature"].split(",")
    signed = t.removeprefix("t=").encode() + b"." + delivery.body
    expected = hmac.new(service.signing_secret.encode(), signed, hashlib.sha256).hexdigest()
    assert v1 == f"v1={expected}"
    assert NOON + 10 <= int(t.removeprefix("t=")) <= NOON + 20


def test_the_signature_header_and_the_key_prefix_can_be_named(start: Any, order: Order) -> None:
    with start(signature_header="Acme-Signature", key_prefix="acme") as service:
        assert service.test_key.startswith("acme_test_sk_")
        service.create(order)
        service.advance(20)
        assert "acme-signature" in service.deliveries[0].headers


@pytest.mark.spec("authentication-4")
def test_test_and_live_endpoints_are_separate(service: PaymentService, order: Order) -> None:
    service.create(order, key=service.live_key)
    service.advance(120)
    assert service.deliveries == []
    assert service.dashboard("GET", "endpoints?mode=live")["data"] == []


@pytest.mark.spec("authentication-4")
def test_a_signing_secret_is_shown_once(service: PaymentService) -> None:
    [listed] = endpoints(service)
    assert service.signing_secret.startswith("whsec_")
    assert set(listed) == {
        "id",
        "url",
        "mode",
        "status",
        "failing_since",
        "disabled_at",
        "created_at",
    }


@pytest.mark.spec("delivery-1")
@pytest.mark.parametrize("status", [200, 201, 202, 204, 299])
def test_any_2xx_is_success(service: PaymentService, order: Order, status: int) -> None:
    service.endpoint.answer_with(status)
    service.create(order)
    service.advance(4 * 24 * 3600)
    [delivery] = deliveries(service)
    assert delivery["status"] == "succeeded"
    assert [one["status_code"] for one in delivery["attempts"]] == [status]


@pytest.mark.spec("delivery-1")
@pytest.mark.parametrize(
    ("status", "outcome"),
    [
        (301, "redirect"),
        (302, "redirect"),
        (307, "redirect"),
        (308, "redirect"),
        (304, "redirect"),
        (400, "bad_status"),
        (410, "bad_status"),
        (500, "bad_status"),
        (503, "bad_status"),
    ],
)
def test_anything_but_2xx_is_a_failure_and_no_redirect_is_followed(
    service: PaymentService, order: Order, status: int, outcome: str
) -> None:
    location = {"Location": service.endpoint.url + "/elsewhere"}
    service.endpoint.reply = lambda _: Reply(status=status, headers=location)
    service.create(order)
    service.advance(20)
    [delivery] = deliveries(service)
    assert delivery["status"] == "pending"
    assert [one["outcome"] for one in delivery["attempts"]] == [outcome]
    assert {one.path for one in service.deliveries} == {"/webhooks"}


@pytest.mark.spec("delivery-1")
def test_an_answer_after_10_seconds_is_a_timeout(service: PaymentService, order: Order) -> None:
    over = threading.Event()

    def slow(_captured: CapturedDelivery) -> Reply:
        over.wait(60)
        return Reply()

    shorten_the_ten_seconds(service, 0.3)
    service.endpoint.reply = slow
    service.create(order)
    service.advance(20)
    over.set()
    [delivery] = deliveries(service)
    [attempt] = delivery["attempts"]
    assert (attempt["outcome"], attempt["status_code"]) == ("timeout", None)
    assert attempt["duration_ms"] >= 300


def test_a_long_answer_is_cut_and_judged_by_its_status(
    service: PaymentService, order: Order
) -> None:
    service.endpoint.reply = lambda _: Reply(body=b"x" * 2_000_000)
    service.create(order)
    service.advance(20)
    assert deliveries(service)[0]["status"] == "succeeded"


@pytest.mark.spec("delivery-4")
def test_a_phone_can_have_its_event_delivered_twice(service: PaymentService, order: Order) -> None:
    service.create(order | {"phone": "255754000011"})
    service.advance(20)
    first, second = service.deliveries
    assert first.body == second.body
    path = f"events/{first.event['id']}/deliveries"
    assert [one["status"] for one in service.dashboard("GET", path)["data"]] == ["succeeded"] * 2


@pytest.mark.spec("delivery-5")
def test_an_event_can_arrive_before_the_202(service: PaymentService, order: Order) -> None:
    made = service.create(order | {"phone": "255754000012"})
    [delivery] = service.deliveries
    assert made.json["status"] == "created"
    assert delivery.event["data"]["id"] == made.json["id"]
    assert service.get(f"collections/{made.json['id']}").json["status"] == "succeeded"


@pytest.mark.spec("delivery-5")
def test_an_event_can_arrive_before_the_202_in_running_time_too(start: Any, order: Order) -> None:
    with start(clock="real") as service:
        made = service.create(order | {"phone": "255754000012"}).json
        assert [one.event["data"]["id"] for one in service.deliveries] == [made["id"]]


@pytest.mark.spec("service-3")
def test_every_endpoint_of_the_mode_gets_every_event(service: PaymentService, order: Order) -> None:
    other = register(service, service.endpoint.url + "/second")
    service.create(order)
    service.advance(20)
    assert sorted(one.path for one in service.deliveries) == ["/webhooks", "/webhooks/second"]
    second = next(one for one in service.deliveries if one.path.endswith("second"))
    header = second.headers["service-signature"]
    verify(second.body, header, other["secret"], tolerance=None)


def test_a_rotated_secret_signs_beside_the_old_one_for_a_day(
    service: PaymentService, order: Order
) -> None:
    [listed] = endpoints(service)
    before = service.signing_secret
    rotated = service.dashboard("POST", f"endpoints/{listed['id']}/rotate-secret")
    assert rotated["secret"] != before
    service.create(order)
    service.advance(20)
    both = service.deliveries[0]
    assert both.headers["service-signature"].count("v1=") == 2
    for secret in (before, rotated["secret"]):
        verify(both.body, both.headers["service-signature"], secret, tolerance=None)
    service.advance(2 * 24 * 3600)
    service.create(order)
    service.advance(20)
    assert service.deliveries[1].headers["service-signature"].count("v1=") == 1


def test_a_delivery_can_be_sent_again_by_hand(service: PaymentService, order: Order) -> None:
    service.create(order)
    service.advance(20)
    [delivery] = deliveries(service)
    again = service.dashboard("POST", f"deliveries/{delivery['id']}/resend")
    assert [one["manual"] for one in again["attempts"]] == [False, True]
    assert len(service.deliveries) == 2


def test_a_failed_resend_shows_its_cause_and_leaves_the_schedule_alone(
    service: PaymentService, order: Order
) -> None:
    service.endpoint.answer_with(500)
    service.create(order)
    service.advance(20)
    [before] = deliveries(service)
    after = service.dashboard("POST", f"deliveries/{before['id']}/resend")
    assert after["next_attempt_at"] == before["next_attempt_at"]
    assert after["attempts"][1]["error"] == "the endpoint answered 500, not 2xx"
    service.advance(60)
    service.endpoint.answer_with(200)
    service.advance(24 * 3600)
    [last] = deliveries(service)
    assert last["status"] == "succeeded"
    assert [one["manual"] for one in last["attempts"]] == [False, True, False, False]


def test_a_successful_resend_ends_the_delivery(service: PaymentService, order: Order) -> None:
    service.endpoint.answer_with(500)
    service.create(order)
    service.advance(20)
    [before] = deliveries(service)
    service.endpoint.answer_with(200)
    after = service.dashboard("POST", f"deliveries/{before['id']}/resend")
    assert (after["status"], after["next_attempt_at"]) == ("succeeded", None)
    service.advance(4 * 24 * 3600)
    assert len(service.deliveries) == 2


def test_a_deleted_endpoint_gets_nothing_more(service: PaymentService, order: Order) -> None:
    service.endpoint.answer_with(500)
    service.create(order)
    service.advance(20)
    [listed] = endpoints(service)
    service.dashboard("DELETE", f"endpoints/{listed['id']}")
    service.create(order)
    service.advance(4 * 24 * 3600)
    assert len(service.deliveries) == 1
    assert endpoints(service) == []
    [given_up] = deliveries(service)
    assert given_up["status"] == "failed"


def test_lists_are_paged_by_the_last_id(service: PaymentService, order: Order) -> None:
    made = [service.create(order).json["id"] for _ in range(7)]
    service.advance(20)
    for name, path in (("collections", "collections?mode=test&"), ("deliveries", "deliveries?")):
        seen: list[str] = []
        after = ""
        while page := service.dashboard("GET", f"{path}limit=3{after}")["data"]:
            seen += [one["id"] for one in page]
            after = f"&after={seen[-1]}"
        assert len(seen) == len(set(seen)) == 7
        assert name == "deliveries" or seen == made


def test_deliveries_can_be_narrowed(service: PaymentService, order: Order) -> None:
    service.create(order)
    service.advance(20)
    [endpoint] = endpoints(service)
    [delivery] = deliveries(service)
    found = f"deliveries?mode=test&status=succeeded&endpoint={endpoint['id']}"
    assert service.dashboard("GET", found)["data"] == [delivery]
    for other in ("mode=live", "status=failed", "endpoint=we_none", f"after={delivery['id']}"):
        assert service.dashboard("GET", f"deliveries?{other}")["data"] == []


def test_one_attempt_of_an_event_is_in_flight_at_a_time(
    start: Any, order: Order, endpoint: CapturingEndpoint
) -> None:
    in_flight: list[int] = []
    most: list[int] = []

    def watch(_captured: CapturedDelivery) -> Reply:
        in_flight.append(1)
        most.append(len(in_flight))
        time.sleep(0.2)
        in_flight.pop()
        return Reply(status=500)

    with start(clock="real") as service:
        endpoint.reply = watch
        service.create(order | {"phone": "255754000012"})
        [delivery] = deliveries(service)
        path = f"/dashboard/deliveries/{delivery['id']}/resend"
        with ThreadPoolExecutor(8) as pool:
            token = service.dashboard_token
            answers = list(
                pool.map(lambda _: service.request("POST", path, key=token).status, range(8))
            )
    assert sorted(set(answers)) == [200, 409]
    assert max(most) == 1
