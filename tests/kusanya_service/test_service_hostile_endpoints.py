"""Endpoints that stall, drip or present the wrong certificate hurt nobody but themselves."""

import shutil
import ssl
import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from socket import create_server, socket
from typing import Any

import pytest
from tests.kusanya_service.helpers import (
    Order,
    collections,
    deliveries,
    instant,
    register,
    wait_for,
)
from tests.kusanya_service.resetting import shorten_the_ten_seconds

from kusanya.clock import ManualClock
from kusanya_service.testing import PaymentService
from kusanya_service.testing.capturing_endpoint import CapturingEndpoint


@contextmanager
def raw_endpoint(serve: Callable[[socket, threading.Event], None]) -> Iterator[tuple[str, int]]:
    """Accept connections and hand each to `serve` on a thread of its own."""
    over = threading.Event()
    listener = create_server(("127.0.0.1", 0))
    threads: list[threading.Thread] = []

    def one(connection: socket) -> None:
        with connection:
            connection.settimeout(30)
            try:
                serve(connection, over)
            except OSError:
                return  # the service hung up, as it should

    def accept() -> None:
        while not over.is_set():
            try:
                connection, _ = listener.accept()
            except TimeoutError:
                continue
            threads.append(threading.Thread(target=one, args=(connection,)))
            threads[-1].start()

    listener.settimeout(0.05)
    accepting = threading.Thread(target=accept)
    accepting.start()
    try:
        yield listener.getsockname()[:2]
    finally:
        over.set()
        accepting.join()
        for thread in threads:
            thread.join()
        listener.close()


def read_request(connection: socket) -> None:
    """Read to the end of the event, so that closing does not reset the connection."""
    received = b""
    while not received.endswith(b"}}") and (chunk := connection.recv(65536)):
        received += chunk


def stall(connection: socket, over: threading.Event) -> None:
    read_request(connection)
    over.wait(30)


def drip(connection: socket, over: threading.Event) -> None:
    read_request(connection)
    connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n")
    while not over.wait(0.25):
        connection.sendall(b"x")


def nonsense(connection: socket, _over: threading.Event) -> None:
    read_request(connection)
    connection.sendall(b"220 mail.example ESMTP\r\n")


def hang_up(connection: socket, _over: threading.Event) -> None:
    read_request(connection)


def deliveries_to(service: PaymentService, url: str) -> list[Any]:
    return [one for one in deliveries(service) if one["url"] == url]


def register_place(service: PaymentService, place: tuple[str, int]) -> str:
    url = f"http://{place[0]}:{place[1]}/"
    register(service, url)
    return url


@pytest.mark.spec("delivery-1")
@pytest.mark.spec("limits-acknowledgement-time")
def test_an_answer_that_drips_is_cut_at_10_seconds_in_all(
    start: Any, order: Order, endpoint: CapturingEndpoint
) -> None:
    with raw_endpoint(drip) as place, start(allow_local=(endpoint.place, place)) as service:
        shorten_the_ten_seconds(service, 1.0)
        url = register_place(service, place)
        service.create(order)
        service.advance(20)
        [delivery] = deliveries_to(service, url)
        [attempt] = delivery["attempts"]
        assert attempt["outcome"] == "timeout"
        assert attempt["duration_ms"] >= 1_000


@pytest.mark.parametrize(
    ("serve", "outcome"), [(nonsense, "protocol_error"), (hang_up, "protocol_error")]
)
def test_an_answer_that_is_none_is_a_failure(
    start: Any,
    order: Order,
    endpoint: CapturingEndpoint,
    serve: Callable[[socket, threading.Event], None],
    outcome: str,
) -> None:
    with raw_endpoint(serve) as place, start(allow_local=(endpoint.place, place)) as service:
        url = register_place(service, place)
        service.create(order)
        service.advance(20)
        assert deliveries_to(service, url)[0]["attempts"][0]["outcome"] == outcome


@pytest.mark.spec("delivery-1")
def test_a_refused_connection_is_a_failure(
    start: Any, order: Order, endpoint: CapturingEndpoint
) -> None:
    with create_server(("127.0.0.1", 0)) as gone:
        place = gone.getsockname()[:2]
    with start(allow_local=(endpoint.place, place)) as service:
        url = register_place(service, place)
        service.create(order)
        service.advance(20)
        attempt = deliveries_to(service, url)[0]["attempts"][0]
        assert attempt["outcome"] == "connection_refused"


@pytest.mark.merge
def test_endpoints_that_stall_do_not_slow_the_others(
    start: Any, order: Order, endpoint: CapturingEndpoint
) -> None:
    with (
        raw_endpoint(stall) as place,
        start(clock="10x", allow_local=(endpoint.place, place)) as service,
    ):
        for number in range(9):
            url = f"http://{place[0]}:{place[1]}/{number}"
            register(service, url)
        body = {"url": f"{endpoint.url}/2", "mode": "test"}
        service.dashboard("POST", "endpoints", body)
        made = [service.create(order).json["id"] for _ in range(30)]

        def recorded() -> list[Any]:
            return [one for one in deliveries_to(service, endpoint.url) if one["attempts"]]

        wait_for(lambda: len(recorded()) >= 30)
        finals = {one["id"]: one["completed_at"] for one in collections(service)}
        sent = [
            (delivery["attempts"][0]["ended_at"], delivery["event_id"]) for delivery in recorded()
        ]
        assert len(sent) == len(made) == 30
        by_event = {one.event["id"]: one.event["data"]["id"] for one in endpoint.deliveries}
        lags = [instant(ended) - instant(finals[by_event[event]]) for ended, event in sent]
        assert max(lags) < timedelta(seconds=20)  # two seconds of real time


def test_a_step_of_the_wall_clock_neither_frees_a_key_nor_hastens_an_attempt(
    start: Any, order: Order
) -> None:
    clock = ManualClock()
    with start(clock=clock) as service:
        service.endpoint.answer_with(500)
        at_once = order | {"phone": "255754000012"}
        first = service.create(at_once, idempotency_key="k")
        for step in (timedelta(hours=25), timedelta(hours=-50)):
            clock.step(step)
            assert service.create(at_once, idempotency_key="k").body == first.body
            service.create(at_once)
        assert len(service.deliveries) == 3
        assert len({one.event["id"] for one in service.deliveries}) == 3


@contextmanager
def https_endpoint(folder: Path, name: str) -> Iterator[tuple[int, Path, list[bytes]]]:
    """Serve HTTPS on loopback with a certificate of its own for `name`."""
    key, certificate = folder / "key.pem", folder / "certificate.pem"
    command = (
        f"openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN={name} "
        f"-addext subjectAltName=DNS:{name} -keyout {key} -out {certificate}"
    )
    subprocess.run(command.split(), check=True, capture_output=True)
    arrived: list[bytes] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            arrived.append(self.rfile.read(int(self.headers["Content-Length"])))
            self.send_response(204)
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base's name
            return

    class Server(HTTPServer):
        def handle_error(self, request: Any, client_address: Any) -> None:
            return  # a refused handshake is what the test is about

    server = Server(("127.0.0.1", 0), Handler)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    server.socket = context.wrap_socket(server.socket, server_side=True)
    thread = threading.Thread(target=server.serve_forever, args=(0.02,))
    thread.start()
    try:
        yield server.server_address[1], certificate, arrived
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


async def loopback(_host: str, _port: int) -> list[str]:
    return ["127.0.0.1"]


@pytest.mark.skipif(shutil.which("openssl") is None, reason="makes its certificate with openssl")
@pytest.mark.parametrize(
    "case",
    [
        ("merchant.example", True, "succeeded"),
        ("other.example", True, "tls_error"),
        ("merchant.example", False, "tls_error"),
    ],
    ids=["right", "another name", "unknown authority"],
)
def test_a_certificate_is_checked_against_the_name_although_the_address_is_pinned(
    start: Any, order: Order, tmp_path: Path, case: tuple[str, bool, str]
) -> None:
    host, trusted, outcome = case
    with https_endpoint(tmp_path, "merchant.example") as (port, certificate, arrived):
        options = {
            "allow_local": (("127.0.0.1", port),),
            "ca_file": certificate if trusted else None,
            "resolve": loopback,
            "registered": False,
        }
        with start(**options) as service:
            body = {"url": f"https://{host}:{port}/", "mode": "test"}
            service.dashboard("POST", "endpoints", body)
            service.create(order)
            service.advance(20)
            [delivery] = deliveries(service)
            assert delivery["attempts"][0]["outcome"] == outcome
            assert len(arrived) == (outcome == "succeeded")


def test_stopping_hangs_up_and_begins_no_attempt_that_waited(
    start: Any, order: Order, endpoint: CapturingEndpoint
) -> None:
    ended: list[bytes] = []
    opened: list[bytes] = []

    def hold(connection: socket, _over: threading.Event) -> None:
        read_request(connection)
        opened.append(b"")
        ended.append(connection.recv(1))  # b"" when the service hangs up

    with (
        raw_endpoint(hold) as place,
        start(clock="100x", allow_local=(endpoint.place, place)) as service,
    ):
        url = register_place(service, place)
        for _ in range(60):
            service.create(order)
        wait_for(lambda: len(opened) >= 16 and len(deliveries_to(service, url)) >= 60)
    assert len(opened) == 16  # none of the 44 that wait begins while the service stops
    assert ended == [b""] * 16
