"""Raw sockets: slow and endless requests are bounded in time and memory."""

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager

import pytest
from msgspec.structs import replace
from tests.kusanya_service.helpers import Order, collections

from kusanya_service.http import protocol
from kusanya_service.testing import PaymentService

Start = Callable[..., AbstractContextManager[PaymentService]]


def connected(service: PaymentService) -> socket.socket:
    port = int(service.base_url.rsplit(":", 1)[1])
    connection = socket.create_connection(("127.0.0.1", port))
    connection.settimeout(15)
    return connection


def answer_of(connection: socket.socket) -> bytes:
    """Return everything until the service closes."""
    received = b""
    try:
        while chunk := connection.recv(65536):
            received += chunk
    except ConnectionResetError:
        return received
    return received


def send_all(connection: socket.socket, data: bytes) -> None:
    try:
        connection.sendall(data)
    except (BrokenPipeError, ConnectionResetError):
        return  # refused before everything was sent, which is the point


GET = b"GET /v1/whoami HTTP/1.1\r\nHost: x\r\n"
POST = b"POST /v1/collections HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"


FLOODS = {
    "1 MB header": (431, GET + b"X-A: " + b"a" * 1_000_000 + b"\r\n\r\n"),
    "1 MB of an unfinished header": (431, GET + b"X-A: " + b"a" * 1_000_000),
    "50000 headers": (431, GET + b"".join(b"X-%d: a\r\n" % n for n in range(50_000)) + b"\r\n"),
    "65 headers": (431, GET + b"X: a\r\n" * 65 + b"\r\n"),
    "long path": (414, b"GET /" + b"a" * 20_000 + b" HTTP/1.1\r\nHost: x\r\n\r\n"),
    "TLS": (400, b"\x16\x03\x01\x02\x00\x01\x00"),
    "no HTTP": (400, b"GET\r\n\r\n"),
    "two lengths": (400, POST + b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n"),
    "folded": (400, GET + b"X: a\r\n folded\r\n\r\n"),
    "no Host": (400, b"GET /v1/whoami HTTP/1.1\r\n\r\n"),
    "two Hosts": (400, GET + b"Host: x\r\n\r\n"),
}


@pytest.mark.parametrize(("status", "flood"), FLOODS.values(), ids=FLOODS.keys())
def test_a_flood_or_nonsense_is_refused_in_the_envelope_and_closed(
    shared: PaymentService, status: int, flood: bytes
) -> None:
    with connected(shared) as connection:
        send_all(connection, flood)
        received = answer_of(connection)
    # A reset on its way may take the answer with it.
    assert received == b"" or (
        received.startswith(b"HTTP/1.1 %d " % status) and b'"error"' in received
    )
    assert shared.get("whoami").status == 200


def test_a_body_that_will_be_refused_is_not_asked_for(shared: PaymentService) -> None:
    authorization = b"Authorization: Bearer %s\r\n" % shared.test_key.encode()
    head = POST + authorization + b"Idempotency-Key: k-100\r\nExpect: 100-continue\r\n"
    with connected(shared) as connection:
        connection.sendall(head + b"Content-Length: 65537\r\nConnection: close\r\n\r\n")
        assert answer_of(connection).startswith(b"HTTP/1.1 413 ")
    with connected(shared) as connection:
        connection.sendall(head + b"Content-Length: 2\r\nConnection: close\r\n\r\n")
        assert connection.recv(100) == b"HTTP/1.1 100 Continue\r\n\r\n"
        connection.sendall(b"{}")
        assert answer_of(connection).startswith(b"HTTP/1.1 422 ")


def test_the_white_space_around_a_header_is_no_part_of_it(shared: PaymentService) -> None:
    authorization = b"Authorization: Bearer %s \t\r\n" % shared.test_key.encode()
    body = b'{"amount":1,"phone":"255754000001","reference":"r"}'
    end = b"Connection: close\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body)
    answers = []
    for key in (b"Idempotency-Key: \t trailing\r\n", b"Idempotency-Key: trailing \t \r\n"):
        with connected(shared) as connection:
            connection.sendall(POST + authorization + key + end)
            answers.append(answer_of(connection))
    assert [answer[9:12] for answer in answers] == [b"202", b"202"]
    assert [b"idempotent-replayed: true" in answer for answer in answers] == [False, True]


def test_16_kib_of_headers_and_64_fields_pass(shared: PaymentService) -> None:
    authorization = f"Authorization: Bearer {shared.test_key}\r\nConnection: close\r\n".encode()
    request = GET + authorization + b"X: " + b"a" * 200 + b"\r\n"
    request += b"".join(b"X-%d: %s\r\n" % (n, b"a" * 200) for n in range(60)) + b"\r\n"
    with connected(shared) as connection:
        connection.sendall(request)
        assert answer_of(connection).startswith(b"HTTP/1.1 200 ")


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch, start: Start) -> Iterator[PaymentService]:
    """Give a service that waits for a request no longer than a moment."""
    limits = replace(protocol.LIMITS, header_s=0.3, request_s=0.6)
    monkeypatch.setattr(protocol, "LIMITS", limits)
    with start() as running:
        yield running


def test_slow_requests_are_cut_and_honest_ones_answered_meanwhile(
    impatient: PaymentService, order: Order
) -> None:
    authorization = b"Authorization: Bearer %s\r\n" % impatient.test_key.encode()
    whole = POST + authorization + b"Idempotency-Key: slow\r\nContent-Length: 400\r\n\r\n{"
    slow = [b"", b"GET / HT", GET, whole]
    ends: list[bytes] = []

    def hold(start: bytes) -> None:
        with connected(impatient) as connection:
            connection.sendall(start)
            ends.append(answer_of(connection))

    threads = [threading.Thread(target=hold, args=(start,)) for start in slow * 5]
    for thread in threads:
        thread.start()
    for _ in range(20):
        assert impatient.create(order).status == 202
    for thread in threads:
        thread.join(10)
    assert [received[:13] for received in ends] == [b"HTTP/1.1 408 "] * 20
    assert all(b'"request_timeout"' in received for received in ends)


def test_a_caller_who_leaves_in_the_middle_creates_nothing(
    service: PaymentService, order: Order
) -> None:
    authorization = b"Authorization: Bearer %s\r\n" % service.test_key.encode()
    body = b'{"amount":1,"phone":"255754000001","reference":"r"}'
    head = POST + authorization + b"Idempotency-Key: k\r\nContent-Length: %d\r\n\r\n" % len(body)
    for cut in (0, 1, len(body) // 2, len(body) - 1):
        with connected(service) as connection:
            connection.sendall(head + body[:cut])
    assert service.create(order, idempotency_key="k").status == 202
    assert len(collections(service)) == 1


def test_pipelined_requests_are_answered_in_order(shared: PaymentService) -> None:
    authorization = b"Authorization: Bearer %s\r\n" % shared.test_key.encode()
    with connected(shared) as connection:
        connection.sendall((GET + authorization + b"\r\n") * 2 + GET + b"Connection: close\r\n\r\n")
        received = answer_of(connection)
    statuses = [part[:3] for part in received.split(b"HTTP/1.1 ")[1:]]
    assert statuses == [b"200", b"200", b"401"]


def test_a_repeated_header_that_decides_is_refused(shared: PaymentService, order: Order) -> None:
    authorization = b"Authorization: Bearer %s\r\n" % shared.test_key.encode()
    body = b'{"amount":1,"phone":"255754000001","reference":"r"}'
    end = b"Connection: close\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body)
    cases = [
        (authorization * 2 + b"Idempotency-Key: k\r\n", b"401"),
        (authorization + b"Idempotency-Key: k\r\nIdempotency-Key: k\r\n", b"400"),
        (
            authorization + b"Idempotency-Key: k\r\nContent-Type: application/json\r\n",
            b"415",
        ),
    ]
    for headers, status in cases:
        with connected(shared) as connection:
            connection.sendall(POST + headers + end)
            assert answer_of(connection)[9:12] == status


def test_the_connection_that_waits_longest_gives_way_to_the_one_past_1024(
    service: PaymentService,
) -> None:
    held = [connected(service) for _ in range(1_024)]
    try:
        assert service.get("whoami").status == 200
        received = answer_of(held[0])
        assert received.startswith(b"HTTP/1.1 503 ")
        assert b'"too_many_connections"' in received
    finally:
        for connection in held:
            connection.close()
    assert service.get("whoami").status == 200
