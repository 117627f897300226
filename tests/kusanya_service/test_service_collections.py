"""Creating and reading collections: fields, states, times and money."""

import json
from datetime import timedelta
from typing import Any

import pytest
from tests.kusanya_service.helpers import Order, instant

from kusanya_service.simulation.clock import to_ms
from kusanya_service.simulation.resources import Status, final_json
from kusanya_service.simulation.tariff import Rate
from kusanya_service.testing import PaymentService


def seconds_between(collection: Any) -> float:
    created = instant(collection["created_at"])
    return (instant(collection["completed_at"]) - created).total_seconds()


@pytest.mark.spec("service-1")
@pytest.mark.spec("states")
def test_a_post_is_answered_202_with_a_collection_in_the_state_created(
    service: PaymentService, order: Order
) -> None:
    answer = service.create(order | {"description": "Tea", "metadata": {"cart": "9"}})
    assert answer.status == 202
    body = answer.json
    assert body.pop("id").startswith("col_")
    assert body.pop("fee") == 90
    assert body == {
        "object": "collection",
        "status": "created",
        "amount": 5000,
        "currency": "TZS",
        "channel": "MPESA_TZ",
        "phone": "255754000001",
        "reference": "order-1",
        "description": "Tea",
        "metadata": {"cart": "9"},
        "mode": "test",
        "created_at": "2026-03-02T12:00:00.000Z",
    }


@pytest.mark.spec("fields-collection")
def test_fields_that_do_not_apply_yet_are_absent(service: PaymentService, order: Order) -> None:
    body = service.create(order | {"description": None}).json
    absent = {"description", "metadata", "failure_code", "failure_message", "completed_at"}
    assert not absent & set(body)


@pytest.mark.spec("service-2")
@pytest.mark.spec("service-2")
@pytest.mark.spec("service-3")
@pytest.mark.spec("get-collection")
def test_polling_shows_the_final_state_once_the_customer_has_paid(
    service: PaymentService, order: Order
) -> None:
    created = service.create(order).json
    assert service.get(f"collections/{created['id']}").json == created
    service.advance(20)
    final = service.get(f"collections/{created['id']}").json
    assert final == created | {"status": "succeeded", "completed_at": final["completed_at"]}


@pytest.mark.spec("service-5")
@pytest.mark.spec("limits-test-completion")
def test_a_test_collection_completes_on_its_own_within_10_to_20_seconds(
    service: PaymentService, order: Order
) -> None:
    ids = [service.create(order).json["id"] for _ in range(12)]
    service.advance(9.999)
    assert {service.get(f"collections/{one}").json["status"] for one in ids} == {"created"}
    service.advance(10.001)
    finals = [service.get(f"collections/{one}").json for one in ids]
    assert all(10 <= seconds_between(one) <= 20 for one in finals)
    assert len({seconds_between(one) for one in finals}) > 1


@pytest.mark.spec("service-5")
def test_the_designated_number_succeeds_whatever_the_mix(start: Any, order: Order) -> None:
    with start(mix={"insufficient_funds": 1}) as service:
        designated = service.create(order).json["id"]
        other = service.create(order | {"phone": "255754123456"}).json["id"]
        service.advance(20)
        assert service.get(f"collections/{designated}").json["status"] == "succeeded"
        assert service.get(f"collections/{other}").json["status"] == "failed"


@pytest.mark.spec("states")
@pytest.mark.parametrize(
    ("phone", "code"),
    [
        ("255754000002", "insufficient_funds"),
        ("255754000003", "user_cancelled"),
        ("255754000004", "invalid_pin"),
        ("255754000005", "payer_not_found"),
        ("255754000006", "payer_limit_reached"),
        ("255754000007", "payer_unreachable"),
        ("255754000008", "provider_unavailable"),
    ],
)
def test_a_scripted_phone_fails_with_its_code_and_a_message(
    shared: PaymentService, order: Order, phone: str, code: str
) -> None:
    created = shared.create(order | {"phone": phone}).json
    shared.advance(20)
    final = shared.get(f"collections/{created['id']}").json
    assert final["status"] == "failed"
    assert final["failure_code"] == code
    assert final["failure_message"].endswith(".")
    assert final["fee"] == created["fee"]


@pytest.mark.spec("states")
@pytest.mark.parametrize(
    "code",
    [
        "insufficient_funds",
        "user_cancelled",
        "declined",
        "invalid_pin",
        "payer_not_found",
        "payer_inactive",
        "payer_limit_reached",
        "payment_in_progress",
        "payer_unreachable",
        "provider_unavailable",
        "amount_out_of_bounds",
        "duplicate",
        "unknown",
    ],
)
def test_every_failure_code_of_the_field_can_be_scripted(shared: PaymentService, code: str) -> None:
    shared.script("255711111111", code)
    made = shared.create({"amount": 1, "phone": "255711111111", "reference": "r"}).json
    shared.advance(20)
    final = shared.get(f"collections/{made['id']}").json
    assert (final["status"], final["failure_code"]) == ("failed", code)


@pytest.mark.spec("states")
def test_a_phone_that_does_not_approve_in_time_expires_at_20_seconds(
    service: PaymentService, order: Order
) -> None:
    made = service.create(order | {"phone": "255754000009"}).json
    service.advance(19.999)
    assert service.get(f"collections/{made['id']}").json["status"] == "created"
    service.advance(0.001)
    final = service.get(f"collections/{made['id']}").json
    assert final["status"] == "expired"
    assert "failure_code" not in final


@pytest.mark.spec("states")
def test_a_live_collection_expires_after_120_seconds(start: Any, order: Order) -> None:
    with start(mix={"expired": 1}) as service:
        made = service.create(order, key=service.live_key).json
        assert made["mode"] == "live"
        path = f"collections/{made['id']}"
        service.advance(119.999)
        assert service.get(path, key=service.live_key).json["status"] == "created"
        service.advance(0.001)
        assert service.get(path, key=service.live_key).json["status"] == "expired"


def test_in_live_mode_no_phone_is_scripted(service: PaymentService, order: Order) -> None:
    made = service.create(order | {"phone": "255754000002"}, key=service.live_key).json
    service.advance(120)
    path = f"collections/{made['id']}"
    assert service.get(path, key=service.live_key).json["status"] == "succeeded"


def test_a_phone_that_never_finishes_stays_created(service: PaymentService, order: Order) -> None:
    made = service.create(order | {"phone": "255754000010"}).json
    service.advance(10 * 24 * 3600)
    assert service.get(f"collections/{made['id']}").json["status"] == "created"
    assert service.deliveries == []


def test_a_phone_that_pays_at_the_last_moment_does_so_a_millisecond_before_expiry(
    service: PaymentService, order: Order
) -> None:
    made = service.create(order | {"phone": "255754000013"}).json
    service.advance(20)
    final = service.get(f"collections/{made['id']}").json
    assert final["status"] == "succeeded"
    assert seconds_between(final) == timedelta(seconds=19.999).total_seconds()


@pytest.mark.spec("service-4")
def test_the_fee_is_whole_shillings_fixed_at_creation_and_never_above_the_amount(
    start: Any, order: Order
) -> None:
    tariff = {"MPESA_TZ": Rate(basis_points=150, least=10), "TIGO_TZ": Rate(basis_points=200)}
    with start(tariff=tariff) as service:
        wanted = [
            ("255754000001", 1_001, 16),  # 15.015 rounded up
            ("255754000001", 5, 5),  # the least fee, held to the amount
            ("255715000001", 1_000, 20),
            ("255688000001", 1_000, 0),  # a channel without a rate
        ]
        made = [
            (service.create(order | {"phone": phone, "amount": amount}).json, fee)
            for phone, amount, fee in wanted
        ]
        assert [one["fee"] for one, _ in made] == [fee for _, fee in made]
        ids = [one["id"] for one, _ in made]
    with start(tariff={"MPESA_TZ": Rate(basis_points=9_000)}) as service:
        service.advance(20)
        finals = [service.get(f"collections/{one}").json for one in ids]
        assert [one["status"] for one in finals] == ["succeeded"] * 4
        assert [one["fee"] for one in finals] == [fee for _, fee in made]


@pytest.mark.spec("fields-collection")
@pytest.mark.parametrize(
    ("prefix", "channel"),
    [
        ("25574", "MPESA_TZ"),
        ("25565", "TIGO_TZ"),
        ("25568", "AIRTEL_TZ"),
        ("25562", "HALOPESA_TZ"),
        ("25573", "TTCL_TZ"),
        ("44712", "MPESA_TZ"),
    ],
)
def test_the_channel_follows_the_prefix(
    shared: PaymentService, order: Order, prefix: str, channel: str
) -> None:
    assert shared.create(order | {"phone": f"+{prefix}1234567"}).json["channel"] == channel


@pytest.mark.spec("get-collection")
@pytest.mark.parametrize("unknown", ["col_", "col_nothing", "evt_x", "%20", "col_' OR 1=1"])
def test_an_unknown_collection_is_404(shared: PaymentService, unknown: str) -> None:
    answer = shared.get(f"collections/{unknown.replace(' ', '%20')}")
    assert answer.status == 404
    assert answer.json["error"]["code"] == "resource_missing"


def test_the_mix_is_drawn_from_the_seed(start: Any, order: Order) -> None:
    mix = {"succeeded": 2, "user_cancelled": 1, "expired": 1}
    with start(mix=mix) as service:
        for number in range(40):
            service.create(order | {"phone": f"2557541{number:05d}"})
        service.advance(20)
        types = [one.event["data"]["status"] for one in service.deliveries]
    assert set(types) == {"succeeded", "failed", "expired"}
    assert len(types) == 40


def test_a_collection_is_never_completed_before_it_was_created() -> None:
    created = (
        b'{"id":"col_1","object":"collection","status":"created","amount":1000,"fee":18,'
        b'"currency":"TZS","channel":"MPESA_TZ","phone":"255754000001","reference":"A",'
        b'"mode":"test","created_at":"2026-03-02T12:00:00.237Z"}'
    )
    at = to_ms(instant("2026-03-02T12:00:00.237Z"))
    for completed, said in ((at - 1, ".237Z"), (at + 1, ".238Z")):
        final = final_json(
            created, status=Status.SUCCEEDED, failure_code=None, message=None, at_ms=completed
        )
        assert json.loads(final)["completed_at"] == f"2026-03-02T12:00:00{said}"
