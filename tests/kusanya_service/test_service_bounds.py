"""Raw sockets: slow and endless requests are bounded in time and memory."""

import socket
import threading
import time

import pytest

from kusanya_service.testing import PaymentService

Order = dict[str, object]


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


@pytest.mark.parametrize(
    "flood",
    [
        GET + b"X-A: " + b"a" * 1_000_000 + b"\r\n\r\n",
        GET + b"X-A: " + b"a" * 1_000_000,
        GET + b"".join(b"X-%d: a\r\n" % n for n in range(50_000)) + b"\r\n",
        GET + b"X: a\r\n" * 65 + b"\r\n",
        b"GET /" + b"a" * 20_000 + b" HTTP/1.1\r\nHost: x\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00",
        b"GET\r\n\r\n",
        POST + b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n",
        GET + b"X: a\r\n folded\r\n\r\n",
    ],
    ids=[
        "1 MB header",
        "1 MB of an unfinished header",
        "50000 headers",
        "65 headers",
        "long path",
        "TLS",
        "no HTTP",
        "two lengths",
        "folded",
    ],
)
def test_a_flood_or_nonsense_is_answered_400_and_closed(
    shared: PaymentService, flood: bytes
) -> None:
    with connected(shared) as connection:
        send_all(connection, flood)
        received = answer_of(connection)
    assert received.startswith(b"HTTP/1.1 400 ") or received == b""
    assert shared.get("whoami").status == 200


def test_16_kib_of_headers_and_64_fields_pass(shared: PaymentService) -> None:
    authorization = f"Authorization: Bearer {shared.test_key}\r\nConnection: close\r\n".encode()
    request = GET + authorization + b"X: " + b"a" * 200 + b"\r\n"
    request += b"".join(b"X-%d: %s\r\n" % (n, b"a" * 200) for n in range(60)) + b"\r\n"
    with connected(shared) as connection:
        connection.sendall(request)
        assert answer_of(connection).startswith(b"HTTP/1.1 200 ")


def test_slow_requests_are_cut_and_honest_ones_answered_meanwhile(
    shared: PaymentService, order: Order
) -> None:
    authorization = b"Authorization: Bearer %s\r\n" % shared.test_key.encode()
    whole = POST + authorization + b"Idempotency-Key: slow\r\nContent-Length: 400\r\n\r\n{"
    slow = [b"", b"GET / HT", GET, whole]
    ends: list[tuple[float, bytes]] = []

    def hold(start: bytes) -> None:
        began = time.monotonic()
        with connected(shared) as connection:
            connection.sendall(start)
            ends.append((time.monotonic() - began, answer_of(connection)))
            ends[-1] = (time.monotonic() - began, ends[-1][1])

    threads = [threading.Thread(target=hold, args=(start,)) for start in slow * 5]
    for thread in threads:
        thread.start()
    for _ in range(20):
        assert shared.create(order).status == 202
    for thread in threads:
        thread.join()
    assert len(ends) == 20
    assert max(seconds for seconds, _ in ends) < 9.5
    assert {received[:13] for _, received in ends} == {b"", b"HTTP/1.1 408 "}


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
    assert len(service.dashboard("GET", "collections?mode=test")["data"]) == 1


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


def test_the_connection_past_1024_is_refused_in_the_envelope(service: PaymentService) -> None:
    held = [connected(service) for _ in range(1_024)]
    try:
        deadline = time.monotonic() + 4  # idle connections are closed after 5 s
        received = b""
        while not received and time.monotonic() < deadline:
            with connected(service) as connection:
                received = answer_of(connection)
        assert received.startswith(b"HTTP/1.1 503 ")
        assert b'"too_many_connections"' in received
    finally:
        for connection in held:
            connection.close()
    assert 200 in {service.get("whoami").status for _ in range(20)}
