"""Both drivers against the embedded service, over loopback, with its scripted phones and faults."""

from typing import Any

import pytest

from kusanya.errors import AuthenticationError, IdempotencyKeyReused, InvalidRequest, NotFound
from kusanya.wire import Mode
from kusanya_service.testing import payment_service  # noqa: F401 - a fixture

ORDER: dict[str, Any] = {"amount": 5000, "phone": "0754 000 001", "reference": "order-1"}


@pytest.fixture
def client(driver: Any, payment_service: Any) -> Any:  # noqa: F811 - the fixture's name
    return driver.client(payment_service.base_url, api_key=payment_service.test_key)


@pytest.mark.spec("service-1")
def test_a_collection_is_created_paid_and_read_back(
    client: Any,
    payment_service: Any,  # noqa: F811
) -> None:
    made = client.create_collection(**ORDER, description="Tea", metadata={"till": "4"})
    assert (made.status, made.phone, made.mode) == ("created", "255754000001", Mode.TEST)
    payment_service.advance(30)
    paid = client.wait(made.id, timeout=5)
    assert (paid.status, paid.amount, paid.fee) == ("succeeded", 5000, made.fee)
    event = client.get_event(payment_service.deliveries[0].event["id"])
    assert event.raw == payment_service.deliveries[0].body
    assert event.data.id == made.id


@pytest.mark.spec("post-1")
def test_the_same_key_and_body_is_replayed_with_the_original_bytes(client: Any) -> None:
    first = client.create_collection(**ORDER, idempotency_key="job 7")
    again = client.create_collection(**ORDER, idempotency_key="job 7")
    assert (first.response.replayed, again.response.replayed) == (False, True)
    assert again.raw == first.raw


@pytest.mark.spec("post-2")
def test_the_same_key_with_another_body_is_refused(client: Any) -> None:
    client.create_collection(**ORDER, idempotency_key="job 7")
    with pytest.raises(IdempotencyKeyReused):
        client.create_collection(**{**ORDER, "amount": 1}, idempotency_key="job 7")


@pytest.mark.parametrize("phone", ["255754000014", "255754000015"], ids=["lost 202", "first 500"])
def test_a_lost_or_failed_create_ends_as_one_collection(
    client: Any,
    payment_service: Any,  # noqa: F811
    phone: str,
) -> None:
    made = client.create_collection(**{**ORDER, "phone": phone})
    payment_service.advance(30)
    assert {delivery.event["data"]["id"] for delivery in payment_service.deliveries} == {made.id}


def test_the_principal_has_the_mode(client: Any) -> None:
    found = client.whoami()
    assert found.mode is Mode.TEST
    assert found.key_id.startswith("key_")
    assert found.merchant_id.startswith("mer_")


def test_a_live_key_creates_after_it_was_confirmed(
    driver: Any,
    payment_service: Any,  # noqa: F811
) -> None:
    live = driver.client(payment_service.base_url, api_key=payment_service.live_key, mode="live")
    assert live.create_collection(**ORDER).mode is Mode.LIVE


def test_errors_of_the_service_come_as_errors_of_the_tree(
    driver: Any,
    client: Any,
    payment_service: Any,  # noqa: F811
) -> None:
    with pytest.raises(NotFound) as missing:
        client.get_collection("col_missing")
    assert missing.value.request_id
    with pytest.raises(InvalidRequest) as refused:
        client.create_collection(**{**ORDER, "amount": 10**15})
    assert refused.value.param == "amount"
    stranger = driver.client(payment_service.base_url, api_key="svc_test_sk_unknown")
    with pytest.raises(AuthenticationError):
        stranger.whoami()
