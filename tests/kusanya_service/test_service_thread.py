"""One collection from POST to its event, over real HTTP, with the time in the test's hand."""

from typing import Any

import pytest

from kusanya.webhooks import verify
from kusanya_service.testing import PaymentService


def post(service: PaymentService, body: object, key: str = "key-1") -> Any:
    return service.request(
        "POST", "/v1/collections", body, key=service.test_key, headers={"Idempotency-Key": key}
    )


@pytest.mark.spec("service-3")
def test_a_collection_is_created_then_succeeds_and_its_event_is_delivered(
    service: PaymentService, order: dict[str, object]
) -> None:
    created = post(service, order)
    assert created.status == 202
    assert created.json["status"] == "created"
    service.advance(20)
    path = f"/v1/collections/{created.json['id']}"
    final = service.request("GET", path, key=service.test_key).json
    assert final["status"] == "succeeded"
    [delivery] = service.deliveries
    event = verify(
        delivery.body,
        delivery.headers["service-signature"],
        service.signing_secret,
        tolerance=None,
    )
    assert event.type == "collection.succeeded"
    assert delivery.event["data"] == final
