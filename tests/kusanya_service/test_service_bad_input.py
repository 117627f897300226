"""Bodies and requests that are no request: a clear 4xx in the envelope, never a 5xx."""

import pytest
from tests.kusanya_service.helpers import Order

from kusanya_service.testing import PaymentService


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b'{"amount":5000,}',
        b"\xef\xbb\xbf{}",
        '{"amount":1}'.encode("utf-16"),
        b'{"reference":"\xff"}',
        b'{"amount":1,"amount":2}',
        b'{"metadata":{"a":"1","a":"2"}}',
        b'{"amount":NaN}',
        b'{"amount":Infinity}',
        b'{"amount":1e400}',
        b'{"amount":' + b"9" * 5000 + b"}",
        b'{"reference":"\\ud800"}',
        b'{"reference":"\\udc00\\ud800"}',
        b"[" * 60_000,
        b'{"a":' * 10_000,
        b'{"metadata":' + b"[" * 200 + b"]" * 200 + b"}",
        b"{'amount':1}",
        b"\x00",
    ],
    ids=[
        "empty",
        "cut",
        "trailing comma",
        "byte order mark",
        "utf-16",
        "not utf-8",
        "duplicate key",
        "duplicate key inside",
        "NaN",
        "Infinity",
        "1e400",
        "5000 digits",
        "lone surrogate",
        "swapped surrogates",
        "60000 brackets",
        "10000 objects",
        "200 deep",
        "single quotes",
        "NUL",
    ],
)
def test_a_malformed_body_is_400_in_the_envelope(shared: PaymentService, body: bytes) -> None:
    answer = shared.create(body)
    assert answer.status == 400
    error = answer.json["error"]
    assert error["code"] == "invalid_request"
    assert error["type"] == "invalid_request_error"
    assert error["request_id"] == answer.headers["request-id"]


@pytest.mark.parametrize("number", ["1e400", "-1e400", "9" * 5000])
def test_a_number_that_is_too_large_is_called_so(shared: PaymentService, number: str) -> None:
    error = shared.create(b'{"amount":%b}' % number.encode()).json["error"]
    assert error["message"] == "the body has a number that is too large"


@pytest.mark.parametrize("path", ["/v1/whoami", "/openapi.json", "/dashboard/keys", "/v1/nowhere"])
def test_head_is_get_without_its_body(shared: PaymentService, path: str) -> None:
    key = shared.dashboard_token if path.startswith("/dashboard") else shared.test_key
    got = shared.request("GET", path, key=key)
    head = shared.request("HEAD", path, key=key)
    assert head.status == got.status
    assert head.headers["content-length"] == got.headers["content-length"]


@pytest.mark.spec("post-body")
@pytest.mark.parametrize(
    ("change", "param"),
    [
        ({"amount": 0}, "amount"),
        ({"amount": -1}, "amount"),
        ({"amount": 1.0}, "amount"),
        ({"amount": True}, "amount"),
        ({"amount": "5000"}, "amount"),
        ({"amount": None}, "amount"),
        ({"amount": 1_000_000_001}, "amount"),
        ({"amount": 2**63}, "amount"),
        ({"amount": 10**300}, "amount"),
        ({"phone": "0754-000-001"}, "phone"),
        ({"phone": "1234567"}, "phone"),
        ({"phone": "1234567890123456"}, "phone"),
        ({"phone": "++255754000001"}, "phone"),
        ({"phone": "٢٥٥٧٥٤٠٠٠٠٠١"}, "phone"),
        ({"phone": 255754000001}, "phone"),
        ({"reference": ""}, "reference"),
        ({"reference": "x" * 256}, "reference"),
        ({"reference": 7}, "reference"),
        ({"description": "x" * 1001}, "description"),
        ({"description": ["x"]}, "description"),
        ({"metadata": []}, "metadata"),
        ({"metadata": {"a": 1}}, "metadata"),
        ({"metadata": {"a": None}}, "metadata"),
        ({"metadata": {"a": {"b": "c"}}}, "metadata"),
        ({"metadata": {"": "x"}}, "metadata"),
        ({"metadata": {"k" * 65: "x"}}, "metadata"),
        ({"metadata": {"k": "x" * 1001}}, "metadata"),
        ({"metadata": {str(n): "" for n in range(51)}}, "metadata"),
        ({"ammount": 5000}, "ammount"),
        ({"255754000001": 5000}, "body"),
    ],
)
def test_a_well_formed_body_with_an_unacceptable_value_is_422_naming_the_field(
    shared: PaymentService, order: Order, change: Order, param: str
) -> None:
    answer = shared.create(order | change)
    assert answer.status == 422
    assert answer.json["error"]["param"] == param


@pytest.mark.spec("post-body")
@pytest.mark.parametrize(
    "change",
    [
        {"amount": 1},
        {"amount": 1_000_000_000},
        {"phone": "+25575400"},
        {"phone": "123456789012345"},
        {"reference": "x" * 255},
        {"reference": "\u0000\u202e\U0001f600"},
        {"description": ""},
        {"description": "x" * 1000},
        {"metadata": {}},
        {"metadata": {"k" * 64: "x" * 1000}},
        {"metadata": {str(n): "" for n in range(50)}},
    ],
)
def test_the_outermost_acceptable_values_pass_unchanged(
    shared: PaymentService, order: Order, change: Order
) -> None:
    answer = shared.create(order | change)
    assert answer.status == 202
    assert answer.json | change == answer.json


@pytest.mark.spec("post-body")
@pytest.mark.parametrize("missing", ["amount", "phone", "reference"])
def test_amount_phone_and_reference_are_required(
    shared: PaymentService, order: Order, missing: str
) -> None:
    del order[missing]
    answer = shared.create(order)
    assert (answer.status, answer.json["error"]["param"]) == (422, missing)


@pytest.mark.parametrize("body", [b"[]", b'"text"', b"7", b"null", b"true"])
def test_json_that_is_no_object_is_422(shared: PaymentService, body: bytes) -> None:
    assert shared.create(body).status == 422


@pytest.mark.parametrize(("name", "param"), [("refund", "refund"), ("255754000001", "body")])
def test_an_unknown_field_is_named_unless_it_could_be_a_phone(
    shared: PaymentService, order: Order, name: str, param: str
) -> None:
    answer = shared.create(order | {name: 1})
    assert (answer.status, answer.json["error"]["param"]) == (422, param)
    assert "255754000001" not in answer.body.decode()


def test_a_number_beyond_every_float_is_called_too_large(
    shared: PaymentService,
) -> None:
    answer = shared.create(b'{"amount":1e400,"phone":"255754000001","reference":"r"}')
    assert (answer.status, answer.json["error"]["message"]) == (
        400,
        "the body has a number that is too large",
    )


@pytest.mark.parametrize("path", ["/v1%2fwhoami", "/v1/collections%2Fcol_x", "/%2Fv1/whoami"])
def test_an_escaped_slash_is_no_slash(shared: PaymentService, path: str) -> None:
    assert shared.request("GET", path, key=shared.test_key).status == 404


@pytest.mark.parametrize("size", [64 * 1024 - 1, 64 * 1024, 64 * 1024 + 1, 5_000_000])
def test_a_body_over_64_kib_is_413(shared: PaymentService, order: Order, size: int) -> None:
    body = b'{"amount":1,"phone":"255754000001","reference":"r"}'
    answer = shared.create(body + b" " * (size - len(body)))
    assert answer.status == (202 if size <= 65_536 else 413)


@pytest.mark.spec("post-headers")
@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Content-Type": "text/plain"}, 415),
        ({"Content-Type": ""}, 415),
        ({"Content-Type": "application/json, text/plain"}, 415),
        ({"Content-Type": "application/jsonp"}, 415),
        ({"Content-Type": "application/json", "Content-Encoding": "gzip"}, 415),
        ({"Content-Type": "Application/JSON; charset=utf-8"}, 202),
    ],
)
def test_a_post_is_application_json_and_uncompressed(
    shared: PaymentService, order: Order, headers: dict[str, str], status: int
) -> None:
    answer = shared.request(
        "POST",
        "/v1/collections",
        order,
        key=shared.test_key,
        headers=headers | {"Idempotency-Key": str(headers)},
    )
    assert answer.status == status


@pytest.mark.spec("versioning")
@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("POST", "/openapi.json", 405),
        ("GET", "/v1/collections", 405),
        ("PUT", "/v1/collections", 405),
        ("DELETE", "/v1/collections/col_x", 405),
        ("POST", "/v1/events/evt_x", 405),
        ("POST", "/v1/whoami", 405),
        ("HEAD", "/v1/collections", 405),
        ("GET", "/v1%2fwhoami", 404),
        ("GET", "/v1/collections%2Fcol_x", 404),
        ("GET", "/v1/events", 404),
        ("GET", "/v1/collections/col_x/refunds", 404),
        ("GET", "/v1/whoami/", 404),
        ("GET", "/v2/whoami", 404),
        ("GET", "/", 404),
        ("GET", "/v1", 404),
    ],
)
def test_nothing_exists_under_v1_but_the_four_endpoints(
    shared: PaymentService, method: str, path: str, status: int
) -> None:
    answer = shared.request(method, path, key=shared.test_key)
    assert answer.status == status
    assert answer.headers["request-id"].startswith("req_")
    if status == 405:
        assert answer.headers["allow"] in {"GET, HEAD", "POST"}


@pytest.mark.parametrize(
    ("method", "path", "body", "status"),
    [
        ("POST", "keys", {"mode": "other"}, 422),
        ("POST", "keys", {"mode": "test", "access": "all"}, 422),
        ("POST", "keys", b"{", 400),
        ("POST", "keys", b"x" * 100_000, 413),
        ("DELETE", "keys/key_none", None, 404),
        ("PATCH", "keys", None, 405),
        ("POST", "endpoints", {"mode": "test"}, 422),
        ("POST", "endpoints/we_none/enable", None, 404),
        ("DELETE", "endpoints/we_none", None, 404),
        ("POST", "deliveries/dlv_none/resend", None, 404),
        ("GET", "deliveries?limit=0", None, 422),
        ("GET", "deliveries?limit=1001", None, 422),
        ("GET", "deliveries?limit=%D9%A1", None, 422),
        ("GET", "deliveries?status=lost", None, 422),
        ("GET", "deliveries?mode=both", None, 422),
        ("GET", "deliveries?after=dlv_none", None, 422),
        ("GET", "collections", None, 422),
        ("POST", "clock/advance", {"seconds": -1}, 422),
        ("POST", "clock/advance", {"seconds": "1"}, 422),
        ("POST", "clock/advance", {}, 422),
        ("PUT", "faults", {"rules": [{"kind": "fire"}]}, 422),
        ("PUT", "faults", {"rules": [{"kind": "drop_delivery", "rate": 2}]}, 422),
        ("PUT", "faults", {"rules": [{"kind": "drop_delivery"}] * 101}, 422),
        ("GET", "nowhere", None, 404),
    ],
)
def test_the_dashboard_refuses_bad_input_in_the_same_envelope(
    shared: PaymentService, method: str, path: str, body: object, status: int
) -> None:
    answer = shared.request(method, f"/dashboard/{path}", body, key=shared.dashboard_token)
    assert answer.status == status
    assert answer.json["error"]["request_id"] == answer.headers["request-id"]
