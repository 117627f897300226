"""When the client tries again, how long it waits, and what each ending is called."""

import json
import logging
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kusanya.client.answers import retry_after_s, service_error
from kusanya.client.effects import Failure, Request, Response
from kusanya.client.retry_policy import pause_s, poll_pause_s
from kusanya.errors import (
    AuthenticationError,
    ConfigurationError,
    Conflict,
    IdempotencyKeyReused,
    InvalidRequest,
    KusanyaError,
    NotFound,
    NotSent,
    OutcomeUnknown,
    PermissionDenied,
    ProtocolError,
    RateLimited,
    ServiceUnavailable,
    WaitTimeout,
)
from kusanya.wire import Mode

ORDER: dict[str, Any] = {"amount": 5000, "phone": "0754000001", "reference": "order-1"}
NOW = datetime(2026, 3, 2, 12, tzinfo=UTC)
LOST = Failure(left=True, why="no answer in time")
REUSED = b'{"code": "idempotency_key_reused"}'
NEVER_LEFT = Failure(left=False, why="no connection")


TOLD = b'{"error": {"code": "some_word"}}'
PAGE = b"<html>Access denied</html>"


def _answer(status: int, body: bytes = TOLD, **headers: str) -> Response:
    pairs = tuple((n.replace("_", "-").encode(), v.encode()) for n, v in headers.items())
    return Response(status=status, headers=pairs, body=body)


class Script:
    """A network that replies by a list, its last entry again and again, taking no time."""

    def __init__(self, *replies: Response | Failure) -> None:
        self.replies = list(replies)
        self.requests: list[Request] = []
        self.within_s: list[float] = []

    def __call__(self, request: Request, within_s: float) -> Response | Failure:
        """Reply."""
        self.requests.append(request)
        self.within_s.append(within_s)
        return self.replies.pop(0) if len(self.replies) > 1 else self.replies[0]


@pytest.mark.parametrize(
    ("status", "body", "kind"),
    [
        (400, b"{}", InvalidRequest),
        (401, b"{}", AuthenticationError),
        (403, b"{}", PermissionDenied),
        (404, b"{}", NotFound),
        (405, b"", InvalidRequest),
        (409, b"{}", Conflict),
        (409, b'{"error": {"code": "idempotency_key_reused"}}', IdempotencyKeyReused),
        (409, b'{"code": "idempotency_key_reused"}', IdempotencyKeyReused),
        (409, b'{"error": "idempotency_key_reused"}', IdempotencyKeyReused),
        (409, b'{"type": "https://errors.example/idempotency_key_reused"}', IdempotencyKeyReused),
        (409, b"idempotency_key_reused", Conflict),
        (418, b"\xff", InvalidRequest),
        (422, b"[]", InvalidRequest),
        (429, b"", RateLimited),
        (500, b"<html>", ServiceUnavailable),
        (599, b'"x"', ServiceUnavailable),
    ],
)
def test_an_error_is_named_by_its_meaning(
    status: int, body: bytes, kind: type[KusanyaError]
) -> None:
    error = service_error(_answer(status, body, X_Request_Id="req_1"), now=NOW)
    assert type(error) is kind
    assert error.status == status
    assert error.request_id == "req_1"


def test_an_error_says_what_to_do_where_there_is_something_to_do() -> None:
    assert str(service_error(_answer(401, b"{}"), now=NOW)).endswith("401; check the API key")
    assert str(service_error(_answer(422, b"{}"), now=NOW)) == "the service answered 422"


@pytest.mark.parametrize(
    "body",
    [
        {"error": {"type": "t", "code": "c", "message": "m", "param": "p", "request_id": "r"}},
        {"code": "c", "message": "m", "param": "p", "request_id": "r"},
        {"type": "https://x/y#c", "title": "m", "param": "p", "request_id": "r"},
        {"error": "c", "error_description": "m", "field": "p", "requestId": "r"},
    ],
    ids=["nested", "flat", "problem+json", "oauth-like"],
)
def test_every_shape_of_error_body_is_read(body: dict[str, Any]) -> None:
    error = service_error(_answer(422, json.dumps(body).encode()), now=NOW)
    assert (error.code, error.param, error.request_id) == ("c", "p", "r")
    assert "m" in str(error)


def test_a_message_repeats_no_phone_no_key_and_nothing_active() -> None:
    sentence = "phone 255754000001 with Bearer svc_live_sk_abc \x1b[2J whsec_abc"
    error = service_error(_answer(422, json.dumps({"message": sentence}).encode()), now=NOW)
    for hidden in ("255754000001", "svc_live_sk_abc", "whsec_abc", "\x1b"):
        assert hidden not in str(error)
    assert "with" in str(error)


@given(st.binary(max_size=200))
def test_no_error_body_makes_reading_it_fail(body: bytes) -> None:
    assert service_error(_answer(422, body), now=NOW).status == 422


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("0", 0.0),
        ("7", 7.0),
        ("60", 60.0),
        ("61", 60.0),
        ("9" * 5000, 60.0),
        ("Mon, 02 Mar 2026 12:00:30 GMT", 30.0),
        ("Mon, 02 Mar 2026 12:01:01 GMT", 60.0),
        ("Mon, 02 Mar 2036 12:00:00 GMT", 60.0),
        ("Mon, 02 Mar 2026 11:00:00 GMT", 0.0),
        ("-1", None),
        ("1.5", None),
        ("soon", None),
        ("", None),
        ("٧", None),
    ],
    ids=lambda value: str(value)[:30],
)
def test_retry_after_is_read_in_both_forms_up_to_a_minute(text: str, seconds: float | None) -> None:
    response = Response(status=429, headers=((b"Retry-After", text.encode()),), body=b"")
    assert retry_after_s(response, now=NOW) == seconds


def test_pauses_double_with_full_jitter_and_are_never_shorter_than_the_service_asks_for() -> None:
    full = [pause_s(n, chance=1.0, retry_after_s=None) for n in range(1, 8)]
    assert full == [0.5, 1.0, 2.0, 4.0, 8.0, 8.0, 8.0]
    assert pause_s(5, chance=0.0, retry_after_s=None) == 0.0
    assert pause_s(1, chance=0.0, retry_after_s=12.0) == 12.0
    assert pause_s(10_000, chance=1.0, retry_after_s=None) == 8.0


def test_polls_begin_close_and_end_five_seconds_apart() -> None:
    assert [poll_pause_s(n, chance=0.5) for n in (1, 2, 3, 5, 9, 99)] == [1, 1, 2, 3, 5, 5]
    assert poll_pause_s(9, chance=0.0) == 3.75


def test_a_call_ends_before_its_total_deadline(driver: Any, wire: Any) -> None:
    clock, network = wire.clock(), Script(_answer(503))
    client = driver.client(transport=network, clock=clock, timeout=4.0, max_attempts=50)
    with pytest.raises(ServiceUnavailable):
        client.create_collection(**ORDER)
    assert clock.pauses == [0.5, 1.0, 2.0]
    assert network.within_s == [4.0, 3.5, 2.5, 0.5]


def test_one_attempt_takes_at_most_ten_seconds_of_the_thirty(driver: Any, wire: Any) -> None:
    network = Script(LOST, _answer(202, wire.collection()))
    driver.client(transport=network).create_collection(**ORDER)
    assert network.within_s == [10.0, 10.0]


def test_a_requested_pause_beyond_the_deadline_ends_the_call_at_once(
    driver: Any, wire: Any
) -> None:
    clock = wire.clock()
    client = driver.client(transport=Script(_answer(429, Retry_After="45")), clock=clock)
    with pytest.raises(RateLimited) as caught:
        client.create_collection(**ORDER)
    assert caught.value.retry_after_s == 45.0
    assert clock.pauses == []


def test_attempts_are_counted_and_bounded(driver: Any) -> None:
    network = Script(NEVER_LEFT)
    with pytest.raises(NotSent):
        driver.client(transport=network, max_attempts=3).get_collection("col_1")
    assert len(network.requests) == 3


@pytest.mark.parametrize(
    ("replies", "kind"),
    [
        pytest.param([NEVER_LEFT], NotSent, id="never left"),
        pytest.param([LOST, NEVER_LEFT], OutcomeUnknown, id="lost, then no connection"),
        pytest.param([LOST], OutcomeUnknown, id="lost"),
        pytest.param([LOST, _answer(429)], OutcomeUnknown, id="lost, then not now"),
        pytest.param([LOST, _answer(500)], OutcomeUnknown, id="lost, then failing"),
        pytest.param([LOST, _answer(401)], OutcomeUnknown, id="lost, then key revoked"),
        pytest.param([LOST, _answer(403)], OutcomeUnknown, id="lost, then forbidden"),
        pytest.param([_answer(500), NEVER_LEFT], OutcomeUnknown, id="failed, then no connection"),
        pytest.param([_answer(429), NEVER_LEFT], NotSent, id="not now, then no connection"),
        pytest.param([LOST, _answer(404)], OutcomeUnknown, id="lost, then a proxy's 404"),
        pytest.param([LOST, _answer(422)], OutcomeUnknown, id="lost, then refused"),
        pytest.param([LOST, _answer(409, REUSED)], IdempotencyKeyReused, id="lost, then reused"),
        pytest.param([LOST, _answer(200)], ProtocolError, id="lost, then another answer"),
        pytest.param([_answer(429), _answer(422)], InvalidRequest, id="not now, then refused"),
        pytest.param([_answer(429), _answer(401)], AuthenticationError, id="key revoked"),
        pytest.param([_answer(500)], ServiceUnavailable, id="failing"),
        pytest.param([_answer(408)], OutcomeUnknown, id="somebody between gave up"),
        pytest.param([_answer(403, PAGE)], OutcomeUnknown, id="a page from between"),
        pytest.param([_answer(499), _answer(422)], OutcomeUnknown, id="hung up, then refused"),
        pytest.param([_answer(429, PAGE), _answer(422)], OutcomeUnknown, id="page, then refused"),
        pytest.param([_answer(499), _answer(409, REUSED)], IdempotencyKeyReused, id="then reused"),
        pytest.param([_answer(409)], Conflict, id="conflict that stays"),
    ],
)
def test_the_error_of_a_create_says_whether_money_may_have_moved(
    driver: Any, replies: list[Response | Failure], kind: type[KusanyaError]
) -> None:
    network = Script(*replies)
    with pytest.raises(KusanyaError) as caught:
        driver.client(transport=network).create_collection(**ORDER)
    assert type(caught.value) is kind
    if isinstance(caught.value, OutcomeUnknown):
        assert caught.value.reference == ORDER["reference"]
    assert len({(sent.idempotency_key, sent.body) for sent in network.requests}) == 1


def test_a_live_key_is_confirmed_before_the_first_create_only(driver: Any, wire: Any) -> None:
    whoami = b'{"key_id":"key_1","merchant_id":"mer_1","mode":"live","object":"principal"}'
    created = _answer(202, wire.collection(mode="live"))
    network = Script(_answer(200, whoami), created, created)
    client = driver.client(
        "https://pay.example", api_key=wire.live_key, transport=network, mode=Mode.LIVE
    )
    client.create_collection(**ORDER)
    client.create_collection(**ORDER)
    assert [sent.method for sent in network.requests] == ["GET", "POST", "POST"]


@pytest.mark.parametrize(
    ("reply", "kind"),
    [
        (_answer(200, b'{"key_id":"k","merchant_id":"m","mode":"test"}'), ConfigurationError),
        (_answer(401), AuthenticationError),
        (LOST, NotSent),
        (_answer(500), NotSent),
    ],
    ids=["other mode", "unknown key", "silence", "failing"],
)
def test_a_live_key_that_is_not_confirmed_creates_nothing(
    driver: Any, wire: Any, reply: Response | Failure, kind: type[KusanyaError]
) -> None:
    network = Script(reply)
    client = driver.client("https://pay.example", api_key=wire.live_key, transport=network)
    with pytest.raises(kind):
        client.create_collection(**ORDER)
    assert {sent.method for sent in network.requests} == {"GET"}


def test_waiting_polls_until_the_collection_is_final(driver: Any, wire: Any) -> None:
    still, paid = (_answer(200, wire.collection(status=s)) for s in ("created", "succeeded"))
    clock = wire.clock()
    network = Script(still, NEVER_LEFT, still, _answer(503), still, paid)
    client = driver.client(transport=network, clock=clock, max_attempts=1)
    assert client.wait("col_1", timeout=60).status == "succeeded"
    assert len(network.requests) == 6
    assert clock.elapsed_s < 12


def test_waiting_ends_within_its_timeout_and_polls_close_to_the_end(driver: Any, wire: Any) -> None:
    clock, network = wire.clock(), Script(_answer(200, wire.collection()))
    with pytest.raises(WaitTimeout, match="col_1 is not final after 30 s"):
        driver.client(transport=network, clock=clock).wait("col_1", timeout=30)
    assert 28 < clock.elapsed_s <= 30
    assert len(network.requests) < 15


def test_waiting_for_no_time_asks_nobody_and_says_so(driver: Any, wire: Any) -> None:
    clock, network = wire.clock(), Script(_answer(200, wire.collection()))
    with pytest.raises(WaitTimeout, match="col_1 could not be asked after 0 s") as raised:
        driver.client(transport=network, clock=clock).wait("col_1", timeout=0)
    assert isinstance(raised.value.__cause__, NotSent)
    assert (network.requests, clock.elapsed_s) == ([], 0)


def test_waiting_for_an_unknown_collection_ends_at_once(driver: Any) -> None:
    with pytest.raises(NotFound):
        driver.client(transport=Script(_answer(404))).wait("col_1")


@pytest.mark.parametrize("method", ["get_collection", "get_event", "whoami"])
def test_reading_asks_the_documented_path(driver: Any, wire: Any, method: str) -> None:
    event = b'{"id":"evt_1","type":"collection.succeeded","created_at":"2026-03-02T12:00:00Z",'
    event += b'"mode":"test","data":' + wire.collection(status="succeeded") + b"}"
    calls = {
        "get_collection": ("col_1", "/v1/collections/col_1", wire.collection()),
        "get_event": ("evt_1", "/v1/events/evt_1", event),
        "whoami": (None, "/v1/whoami", b'{"key_id":"key_1","merchant_id":"m","mode":"test"}'),
    }
    argument, path, body = calls[method]
    network = Script(_answer(200, body))
    call = getattr(driver.client(transport=network), method)
    found = call() if argument is None else call(argument)
    assert found.raw == body
    assert [(sent.method, sent.path) for sent in network.requests] == [("GET", path)]


def test_each_retry_leaves_a_line_with_its_reason_and_what_to_quote_to_support(
    driver: Any, wire: Any, caplog: pytest.LogCaptureFixture
) -> None:
    answers = Script(
        NEVER_LEFT,
        _answer(503, x_request_id="req_1"),
        Response(status=202, headers=(), body=wire.collection()),
    )
    driver.client(transport=answers).create_collection(**ORDER)
    again = [one for one in caplog.records if one.name == "kusanya.client"]
    assert [one.getMessage() for one in again] == ["request will be sent again"] * 2
    assert {one.levelno for one in again} == {logging.WARNING}
    first, second = map(vars, again)
    assert (first["attempt"], first["outcome"], first["path"]) == (1, "not_sent", "/v1/collections")
    assert "no connection" in first["why"]
    assert (second["attempt"], second["status"]) == (2, 503)
    assert "754000001" not in caplog.text
    assert "order-1" not in caplog.text


def test_a_call_that_is_answered_at_once_leaves_no_line(
    driver: Any, wire: Any, caplog: pytest.LogCaptureFixture
) -> None:
    body = wire.collection()
    driver.client(transport=Script(Response(status=202, headers=(), body=body))).create_collection(
        **ORDER
    )
    assert [one for one in caplog.records if one.name == "kusanya.client"] == []


def test_making_a_client_leaves_the_log_levels_of_its_program_alone(
    driver: Any, server: Any, wire: Any, caplog: pytest.LogCaptureFixture
) -> None:
    names = ("httpx", "httpcore", "aiohttp")
    before = [logging.getLogger(name).level for name in names]
    with caplog.at_level(logging.DEBUG):
        server.script = [wire.answer(202, wire.collection())]
        driver.client(server.url).create_collection(**ORDER)
    assert [logging.getLogger(name).level for name in names] == before
    # And what they say at their most talkative holds neither key nor number.
    assert wire.test_key not in caplog.text
    assert "754000001" not in caplog.text


@pytest.mark.parametrize("said", list(Mode))
def test_an_answer_of_the_other_mode_is_no_answer_to_this_key(
    driver: Any, wire: Any, said: Mode
) -> None:
    """A test payment that a live program took for real would ship goods that nobody paid."""
    whoami = b'{"key_id":"key_1","merchant_id":"mer_1","mode":"live","object":"principal"}'
    asks: list[Callable[[Any], Any]] = [
        lambda client: client.get_collection("col_1"),
        lambda client: client.create_collection(**ORDER),
    ]
    for ask, before, status in zip(asks, ((), (_answer(200, whoami),)), (200, 202), strict=True):
        network = Script(*before, *[_answer(status, wire.collection(mode=said.value))] * 9)
        client = driver.client(
            "https://pay.example", api_key=wire.live_key, transport=network, mode=Mode.LIVE
        )
        if said is Mode.LIVE:
            assert ask(client).mode is Mode.LIVE
            continue
        with pytest.raises(KusanyaError, match="test mode"):
            ask(client)
