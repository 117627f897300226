"""What really crosses the wire, for both drivers: exact bytes, resent exactly."""

import gzip
import json
import socket
import time
from typing import Any

import pytest

from kusanya.client import Client
from kusanya.errors import (
    IdempotencyKeyReused,
    InvalidRequest,
    NoAnswer,
    OutcomeUnknown,
    ProtocolError,
    ServiceError,
    ServiceUnavailable,
)

ORDER: dict[str, Any] = {"amount": 5000, "phone": "0754 000 001", "reference": "order-1"}
REUSED = b'{"error": {"type": "conflict", "code": "idempotency_key_reused", "message": "no"}}'


def _headers(request: bytes) -> dict[str, str]:
    lines = request.partition(b"\r\n\r\n")[0].decode().split("\r\n")[1:]
    pairs = [line.split(": ", 1) for line in lines]
    assert len({name.lower() for name, _ in pairs}) == len(pairs), "no header is sent twice"
    return {name.lower(): value for name, value in pairs}


@pytest.mark.spec("post-headers")
def test_a_create_sends_its_key_its_credentials_and_exactly_this_body(
    driver: Any, server: Any, wire: Any
) -> None:
    server.answers(wire.answer(202, wire.collection()))
    made = driver.client(server.url).create_collection(
        **ORDER, description="Tea", metadata={"till": "4"}, idempotency_key="job 7"
    )
    [request] = server.requests
    assert request.startswith(b"POST /v1/collections HTTP/1.1\r\n")
    assert request.endswith(
        b'\r\n\r\n{"amount":5000,"phone":"255754000001","reference":"order-1",'
        b'"description":"Tea","metadata":{"till":"4"}}'
    )
    headers = _headers(request)
    agent = headers.pop("user-agent")
    assert agent.startswith("kusanya/")
    headers.pop("connection", None)
    assert headers == {
        "host": f"127.0.0.1:{server.port}",
        "authorization": "Bearer svc_test_sk_4242",
        "accept": "application/json",
        "accept-encoding": "identity",
        "content-type": "application/json",
        "content-length": "104",
        "idempotency-key": "job 7",
    }
    assert (made.id, made.status, made.fee) == ("col_1", "created", 60)


def test_a_get_carries_no_body_and_no_key(driver: Any, server: Any, wire: Any) -> None:
    server.answers(wire.answer(200, wire.collection(status="succeeded")))
    found = driver.client(server.url + "/pay/").get_collection("col_1")
    [request] = server.requests
    assert request.startswith(b"GET /pay/v1/collections/col_1 HTTP/1.1\r\n")
    assert request.endswith(b"\r\n\r\n")
    headers = _headers(request)
    assert not {"idempotency-key", "content-type", "transfer-encoding"} & set(headers)
    assert found.is_final


def test_a_made_key_is_sent_and_differs_from_call_to_call(
    driver: Any, server: Any, wire: Any
) -> None:
    server.answers(wire.answer(202, wire.collection()))
    client = driver.client(server.url)
    for _ in range(3):
        client.create_collection(**ORDER)
    keys = {_headers(request)["idempotency-key"] for request in server.requests}
    assert len(keys) == 3
    assert all(len(key) == 36 for key in keys)


def test_what_came_is_at_hand_on_the_value(driver: Any, server: Any, wire: Any) -> None:
    body = wire.collection(novelty=[1, 2], channel="NEW_TZ")
    headers = {"Idempotent-Replayed": "true", "X-Request-Id": "req_9", "X-Twice": "a"}
    server.answers(wire.answer(202, body, headers))
    made = driver.client(server.url).create_collection(**ORDER)
    assert made.raw == body
    assert made.extra == {"novelty": [1, 2]}
    assert made.response.replayed
    assert made.response.status == 202
    assert made.response.request_id == "req_9"
    assert made.response.header("x-twice") == "a"


@pytest.mark.spec("post-1")
@pytest.mark.parametrize(
    "trouble",
    [
        pytest.param(lambda wire: wire.answer(500, b"<html>oops</html>"), id="500"),
        pytest.param(lambda wire: wire.answer(503, b"", {"Retry-After": "1"}), id="503"),
        pytest.param(lambda wire: wire.answer(429, b"{}"), id="429"),
        pytest.param(lambda wire: wire.answer(409, b'{"code": "in_progress"}'), id="409 other"),
        pytest.param(lambda wire: wire.answer(408, b'{"error": {"code": "late"}}'), id="408"),
        pytest.param(lambda wire: wire.answer(425, b""), id="425"),
        pytest.param(lambda wire: wire.answer(499, b""), id="499"),
        pytest.param(lambda wire: wire.answer(403, b"<html>blocked</html>"), id="a page"),
        pytest.param(lambda wire: wire.reset(), id="reset"),
        pytest.param(lambda wire: wire.raw(b""), id="closed"),
        pytest.param(lambda wire: wire.raw(b"nonsense\r\n\r\n"), id="not HTTP"),
    ],
)
def test_a_passing_trouble_is_retried_with_identical_bytes(
    driver: Any, server: Any, wire: Any, trouble: Any
) -> None:
    server.answers(trouble(wire), trouble(wire), wire.answer(202, wire.collection()))
    assert driver.client(server.url).create_collection(**ORDER).id == "col_1"
    first, second, third = server.requests
    assert first == second == third


@pytest.mark.spec("post-2")
def test_a_reused_key_is_final_and_never_retried(driver: Any, server: Any, wire: Any) -> None:
    server.answers(wire.answer(409, REUSED))
    with pytest.raises(IdempotencyKeyReused) as caught:
        driver.client(server.url).create_collection(**ORDER)
    assert (caught.value.status, caught.value.code) == (409, "idempotency_key_reused")
    assert len(server.requests) == 1


@pytest.mark.parametrize("status", [408, 425, 499])
@pytest.mark.parametrize("body", [b"", b'{"error": {"code": "request_timeout"}}'])
def test_whoever_did_not_wait_leaves_the_outcome_unknown(
    driver: Any, server: Any, wire: Any, status: int, body: bytes
) -> None:
    server.answers(wire.answer(status, body))
    client = driver.client(server.url, max_attempts=2)
    with pytest.raises(OutcomeUnknown) as caught:
        client.create_collection(**ORDER)
    assert str(status) in str(caught.value.__cause__)
    assert caught.value.attempts == 2
    assert len(set(server.requests)) == 1
    with pytest.raises(NoAnswer) as asked:
        client.get_collection("col_1")
    assert type(asked.value) is NoAnswer


@pytest.mark.parametrize("status", [400, 401, 402, 403, 404, 405, 409, 413, 415, 422, 429, 451])
@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"<html>blocked</html>",
        b"{}",
        b"[]",
        b'{"error": {}}',
        b'{"code": 7}',
        b'"no"',
        b"\xff",
    ],
    ids=["empty", "page", "object", "list", "no words", "number", "text", "bytes"],
)
def test_a_refusal_that_is_not_in_the_services_words_leaves_the_outcome_unknown(
    server: Any, wire: Any, status: int, body: bytes
) -> None:
    server.answers(wire.answer(status, body))
    with (
        Client(wire.test_key, base_url=server.url, max_attempts=1) as client,
        pytest.raises(OutcomeUnknown),
    ):
        client.create_collection(**ORDER)


def test_a_refusal_too_long_to_read_or_compressed_leaves_the_outcome_unknown(
    driver: Any, server: Any, wire: Any
) -> None:
    body = b'{"error": {"code": "invalid_request"}}'
    packed = wire.answer(422, gzip.compress(body), {"Content-Encoding": "gzip"})
    for act in (packed, wire.answer(422, body + b" " * 1_048_577)):
        server.answers(act)
        with pytest.raises(OutcomeUnknown):
            driver.client(server.url, max_attempts=1).create_collection(**ORDER)


@pytest.mark.parametrize("status", [400, 401, 403, 404, 405, 413, 415, 422])
@pytest.mark.parametrize(
    "body",
    [
        b'{"error": {"type": "t", "code": "c", "message": "m", "request_id": "r"}}',
        b'{"code": "c", "message": "m"}',
        b'{"type": "https://errors.example/c", "title": "m"}',
        b'{"error": "c"}',
    ],
    ids=["nested", "flat", "problem+json", "oauth-like"],
)
def test_a_refusal_in_the_services_words_is_final(
    driver: Any, server: Any, wire: Any, status: int, body: bytes
) -> None:
    server.answers(wire.answer(status, body))
    with pytest.raises(ServiceError) as caught:
        driver.client(server.url).create_collection(**ORDER)
    assert (caught.value.status, caught.value.code) == (status, "c")
    assert len(server.requests) == 1


def test_a_page_from_between_that_asks_for_a_pause_is_given_it(
    driver: Any, server: Any, wire: Any
) -> None:
    page = wire.answer(429, b"<html>slow down</html>", {"Retry-After": "7"})
    server.answers(page, wire.answer(202, wire.collection()))
    clock = wire.clock()
    driver.client(server.url, clock=clock).create_collection(**ORDER)
    assert clock.pauses == [7.0]


@pytest.mark.parametrize("status", [401, 403, 404])
def test_a_page_in_answer_to_a_question_is_what_its_status_says(
    driver: Any, server: Any, wire: Any, status: int
) -> None:
    server.answers(wire.answer(status, b"<html>blocked</html>"))
    with pytest.raises(ServiceError) as caught:
        driver.client(server.url).get_collection("col_1")
    assert caught.value.status == status
    assert len(server.requests) == 1


def test_a_refused_request_is_not_sent_again(driver: Any, server: Any, wire: Any) -> None:
    server.answers(wire.answer(422, b'{"error": {"code": "invalid_request", "param": "phone"}}'))
    with pytest.raises(InvalidRequest) as caught:
        driver.client(server.url).create_collection(**ORDER)
    assert caught.value.param == "phone"
    assert len(server.requests) == 1


def test_a_redirect_is_not_followed_and_the_credentials_stay(
    driver: Any, server: Any, wire: Any
) -> None:
    elsewhere = wire.server()
    try:
        elsewhere.answers(wire.answer(202, wire.collection()))
        server.answers(wire.answer(307, b"", {"Location": elsewhere.url + "/v1/collections"}))
        with pytest.raises(ProtocolError) as caught:
            driver.client(server.url).create_collection(**ORDER)
        assert caught.value.outcome_unknown
        assert caught.value.status == 307
        assert elsewhere.connections == 0
        assert len(server.requests) == 1
    finally:
        elsewhere.close()


@pytest.mark.parametrize(
    "answered",
    [
        pytest.param((200, None, {}), id="200 where 202 is due"),
        pytest.param((202, b"<html>Sign in to the hotel</html>", {}), id="a page"),
        pytest.param((202, b"[]", {}), id="another shape"),
        pytest.param((202, b"\xff\xfe", {}), id="not UTF-8"),
        pytest.param((202, b"[" * 200_000, {}), id="deep"),
        pytest.param((202, None, {"Content-Encoding": "gzip"}), id="compressed"),
    ],
)
def test_an_answer_that_is_no_answer_is_never_taken_for_success(
    driver: Any, server: Any, wire: Any, answered: tuple[int, bytes | None, dict[str, str]]
) -> None:
    status, body, headers = answered
    server.answers(wire.answer(status, wire.collection() if body is None else body, headers))
    with pytest.raises(ProtocolError) as caught:
        driver.client(server.url).create_collection(**ORDER)
    assert caught.value.outcome_unknown
    assert len(server.requests) == 1


@pytest.mark.parametrize(
    "changed",
    [{"mode": "live"}, {"amount": 5001}, {"reference": "order-2"}, {"fee": 60.0}, {"id": "x"}],
    ids=str,
)
def test_an_answer_about_something_else_is_refused(
    driver: Any, server: Any, wire: Any, changed: dict[str, Any]
) -> None:
    server.answers(wire.answer(202, wire.collection(**changed)))
    with pytest.raises(ProtocolError):
        driver.client(server.url).create_collection(**ORDER)


def test_an_answer_without_end_is_dropped_at_one_mebibyte(driver: Any, server: Any) -> None:
    sent = [0]

    def flood(peer: socket.socket) -> bool:
        peer.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 1000000000\r\n\r\n")
        while not server.closing.is_set():
            sent[0] += peer.send(b"x" * 65536)
        return False

    server.answers(flood)
    started = time.monotonic()
    with pytest.raises(ProtocolError, match="1048576"):
        driver.client(server.url).get_collection("col_1")
    assert time.monotonic() - started < 5
    time.sleep(0.05)
    assert sent[0] < 64 * 1024 * 1024


def test_cookies_are_not_kept(driver: Any, server: Any, wire: Any) -> None:
    server.answers(wire.answer(200, wire.collection(), {"Set-Cookie": "a=b"}))
    client = driver.client(server.url)
    client.get_collection("col_1")
    client.get_collection("col_1")
    assert all(b"ookie" not in request for request in server.requests)


def test_the_environment_names_no_proxy_and_no_certificates(
    driver: Any, server: Any, wire: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("http_proxy", "HTTP_PROXY", "ALL_PROXY", "https_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    monkeypatch.setenv("SSL_CERT_FILE", "/nowhere/at/all.pem")
    monkeypatch.delenv("no_proxy", raising=False)
    server.answers(wire.answer(200, wire.collection()))
    assert driver.client(server.url).get_collection("col_1").id == "col_1"


def test_connections_are_used_again_and_survive_being_closed_by_the_service(
    driver: Any, server: Any, wire: Any
) -> None:
    server.answers(wire.answer(200, wire.collection()))
    client = driver.client(server.url)
    for _ in range(20):
        client.get_collection("col_1")
    assert server.connections == 1
    server.answers(wire.raw(wire.bytes(200, wire.collection())))
    for _ in range(3):
        client.get_collection("col_1")
    assert len(server.requests) <= 26


def test_a_service_that_only_fails_is_unavailable(driver: Any, server: Any, wire: Any) -> None:
    server.answers(wire.answer(500, json.dumps({"message": "down"}).encode()))
    with pytest.raises(ServiceUnavailable) as caught:
        driver.client(server.url, max_attempts=3).create_collection(**ORDER)
    assert len(server.requests) == 3
    assert caught.value.status == 500
