"""One key, one collection: replays, reuse, retention, concurrency."""

from concurrent.futures import ThreadPoolExecutor

import pytest
from tests.kusanya_service.helpers import Order, collections

from kusanya_service.http.creation import _PURGE_EVERY
from kusanya_service.testing import Answer, PaymentService


@pytest.mark.spec("post-1")
def test_the_same_key_and_body_replays_the_original_bytes_and_charges_once(
    service: PaymentService, order: Order
) -> None:
    first = service.create(order, idempotency_key="k")
    service.advance(20)
    again = service.create(order, idempotency_key="k")
    assert (again.status, again.body) == (202, first.body)
    assert again.json["status"] == "created"
    assert "idempotent-replayed" not in first.headers
    assert again.headers["idempotent-replayed"] == "true"
    assert len(collections(service)) == 1


@pytest.mark.spec("post-2")
@pytest.mark.spec("errors")
def test_the_same_key_with_another_body_is_409_without_effect_and_the_original_still_replays(
    service: PaymentService, order: Order
) -> None:
    first = service.create(order, idempotency_key="k")
    other = service.create(order | {"amount": 5001}, idempotency_key="k")
    assert other.status == 409
    assert other.json["error"]["code"] == "idempotency_key_reused"
    assert service.create(order, idempotency_key="k").body == first.body
    assert len(collections(service)) == 1


@pytest.mark.spec("post-1")
@pytest.mark.parametrize(
    "same",
    [
        b'{"reference":"r","phone":"255754000001","amount":5000}',
        b' {\n"amount" : 5000, "phone":"255754000001",\t"reference":"\\u0072"} ',
    ],
    ids=["other order", "other spelling"],
)
def test_equal_json_values_are_the_same_body(service: PaymentService, same: bytes) -> None:
    order = {"amount": 5000, "phone": "255754000001", "reference": "r"}
    first = service.create(order, idempotency_key="k")
    again = service.create(same, idempotency_key="k")
    assert (again.status, again.body) == (202, first.body)


@pytest.mark.spec("post-2")
@pytest.mark.parametrize(
    "other",
    [
        b'{"amount":5000.0,"phone":"255754000001","reference":"r"}',
        b'{"amount":5000,"phone":"255754000001","reference":"r","description":null}',
        b'{"amount":true,"phone":"255754000001","reference":"r"}',
        b"[]",
    ],
    ids=["5000.0", "null for absent", "true", "no object"],
)
def test_a_body_that_differs_is_409_even_where_it_would_be_refused_by_itself(
    service: PaymentService, other: bytes
) -> None:
    order = {"amount": 5000, "phone": "255754000001", "reference": "r"}
    assert service.create(order, idempotency_key="k").status == 202
    assert service.create(other, idempotency_key="k").status == 409


def test_a_rejected_request_does_not_burn_its_key(service: PaymentService, order: Order) -> None:
    assert service.create(order | {"amount": 0}, idempotency_key="k").status == 422
    answer = service.create(order, idempotency_key="k")
    assert answer.status == 202
    assert "idempotent-replayed" not in answer.headers


def test_the_modes_do_not_share_keys(service: PaymentService, order: Order) -> None:
    test = service.create(order, idempotency_key="k")
    live = service.create(order, idempotency_key="k", key=service.live_key)
    assert live.status == 202
    assert live.json["id"] != test.json["id"]


def test_two_keys_of_one_mode_share_idempotency_keys(service: PaymentService, order: Order) -> None:
    second = service.dashboard("POST", "keys", {"mode": "test"})["key"]
    first = service.create(order, idempotency_key="k")
    again = service.create(order, idempotency_key="k", key=second)
    assert again.body == first.body


@pytest.mark.spec("limits-key-retention")
def test_a_key_is_kept_for_exactly_24_hours_from_its_first_receipt(
    service: PaymentService, order: Order
) -> None:
    first = service.create(order, idempotency_key="k")
    service.advance(24 * 3600 - 0.001)
    assert service.create(order, idempotency_key="k").body == first.body
    service.advance(0.001)
    later = service.create(order, idempotency_key="k")
    assert later.status == 202
    assert later.json["id"] != first.json["id"]
    assert "idempotent-replayed" not in later.headers


@pytest.mark.spec("limits-key-retention")
@pytest.mark.parametrize(
    "age_s", [23.5 * 3600, 24 * 3600 - 60, 24 * 3600 - 0.001], ids=["23:30", "23:59", "a moment"]
)
def test_keys_that_are_still_kept_survive_the_removal_of_old_ones(
    service: PaymentService, order: Order, age_s: float
) -> None:
    first = service.create(order, idempotency_key="k")
    service.advance(age_s)
    # Old keys are removed now and then while new collections are made.
    for _ in range(2 * _PURGE_EVERY):
        service.create(order)
    again = service.create(order, idempotency_key="k")
    assert (again.status, again.body) == (202, first.body)
    assert again.headers["idempotent-replayed"] == "true"


@pytest.mark.spec("limits-key-length")
@pytest.mark.parametrize("key", ["a", "x" * 255, "a b", '"abc"', "~!{}"], ids=lambda k: k[:5])
def test_1_to_255_printable_ascii_characters_are_a_key(
    service: PaymentService, order: Order, key: str
) -> None:
    assert service.create(order, idempotency_key=key).status == 202


@pytest.mark.spec("limits-key-length")
@pytest.mark.spec("post-headers")
@pytest.mark.spec("service-6")
@pytest.mark.spec("service-6")
@pytest.mark.parametrize(
    ("headers", "code"),
    [
        ({}, "idempotency_key_required"),
        ({"Idempotency-Key": ""}, "idempotency_key_invalid"),
        ({"Idempotency-Key": "x" * 256}, "idempotency_key_invalid"),
        ({"Idempotency-Key": "a\tb"}, "idempotency_key_invalid"),
        ({"Idempotency-Key": "caf\xe9"}, "idempotency_key_invalid"),
    ],
    ids=["missing", "empty", "256", "tab", "é"],
)
def test_a_missing_or_invalid_key_is_400(
    service: PaymentService, order: Order, headers: dict[str, str], code: str
) -> None:
    answer = service.request(
        "POST", "/v1/collections", order, key=service.test_key, headers=headers
    )
    assert answer.status == 400
    assert answer.json["error"]["code"] == code
    assert answer.json["error"]["param"] == "Idempotency-Key"


@pytest.mark.spec("limits-key-length")
def test_white_space_around_a_key_is_not_part_of_it(service: PaymentService, order: Order) -> None:
    first = service.create(order, idempotency_key="k")
    assert service.create(order, idempotency_key="k \t ").body == first.body


@pytest.mark.spec("post-1")
@pytest.mark.scale(3, 100, 1000)
def test_64_callers_with_one_key_get_one_collection_and_63_equal_replays(
    service: PaymentService, order: Order, rounds: int
) -> None:
    with ThreadPoolExecutor(64) as pool:
        for number in range(rounds):
            calls = [
                pool.submit(service.create, order, idempotency_key=f"k{number}") for _ in range(64)
            ]
            answers: list[Answer] = [call.result() for call in calls]
            assert {one.status for one in answers} == {202}
            assert len({one.body for one in answers}) == 1
            assert sum("idempotent-replayed" in one.headers for one in answers) == 63
    assert len(collections(service)) == rounds
