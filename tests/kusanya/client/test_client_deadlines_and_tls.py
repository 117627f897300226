"""Names, handshakes and addresses: nothing outlives the deadline, nothing leaves unvouched for."""

import socket
import ssl
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpcore
import pytest

from kusanya.errors import NotSent
from kusanya.platform.deadline import CallDeadline, DeadlineBackend

ORDER: dict[str, Any] = {"amount": 5000, "phone": "0754000001", "reference": "order-1"}


@pytest.fixture
def untrusted(self_signed: Path) -> Iterator[tuple[int, list[bytes]]]:
    """Serve TLS with a certificate that nobody vouches for; give the port and what was read."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(self_signed)
    listener = socket.create_server(("127.0.0.1", 0))
    read: list[bytes] = []

    def serve() -> None:
        while True:
            try:
                peer, _ = listener.accept()
            except OSError:
                return
            with peer:
                peer.settimeout(5)
                try:
                    with context.wrap_socket(peer, server_side=True) as secured:
                        read.append(secured.recv(65536))
                except OSError:
                    continue

    thread = threading.Thread(target=serve)
    thread.start()
    yield listener.getsockname()[1], read
    listener.shutdown(socket.SHUT_RDWR)
    listener.close()
    thread.join(10)


def test_a_certificate_that_nobody_vouches_for_gets_nothing(
    driver: Any, untrusted: tuple[int, list[bytes]]
) -> None:
    port, read = untrusted
    client = driver.client(f"https://127.0.0.1:{port}", max_attempts=1)
    with pytest.raises(NotSent):
        client.create_collection(**ORDER)
    assert not any(read)


def test_a_handshake_that_hangs_ends_at_the_deadline(driver: Any) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        client = driver.client(f"https://127.0.0.1:{port}", timeout=0.3, max_attempts=1)
        started = time.monotonic()
        with pytest.raises(NotSent):
            client.create_collection(**ORDER)
        assert 0.25 < time.monotonic() - started < 2


def test_a_name_is_looked_up_and_every_address_is_tried(
    driver: Any, server: Any, wire: Any
) -> None:
    # localhost may mean ::1 first, where nothing listens.
    server.answers(wire.answer(200, wire.collection()))
    assert driver.client(f"http://localhost:{server.port}").get_collection("col_1").id == "col_1"


def test_a_look_up_that_hangs_ends_at_the_deadline() -> None:
    released = threading.Event()

    def hang(host: str, port: int, **options: Any) -> list[Any]:
        if options["flags"]:
            raise socket.gaierror
        released.wait(10)
        return []

    call = CallDeadline()
    call.start(0.1)
    started = time.monotonic()
    with pytest.raises(httpcore.ConnectTimeout, match="not resolved"):
        DeadlineBackend(call, resolve=hang).connect_tcp("pay.example", 443)
    assert time.monotonic() - started < 1
    released.set()


def test_addresses_that_do_not_answer_share_the_time() -> None:
    with socket.create_server(("127.0.0.1", 0)) as dead:
        closed = dead.getsockname()[1]
    with socket.create_server(("127.0.0.1", 0)) as listener:
        addresses = [("127.0.0.1", closed), listener.getsockname()]
        found = [(socket.AF_INET, socket.SOCK_STREAM, 6, "", address) for address in addresses]
        call = CallDeadline()
        call.start(5)
        backend = DeadlineBackend(call, resolve=lambda *_names, **_options: found)
        connected = backend.connect_tcp("pay.example", 443)
        assert connected.get_extra_info("socket").getpeername() == listener.getsockname()
        assert not call.bytes_sent
        connected.close()
    call.start(0)
    with pytest.raises(httpcore.ConnectTimeout):
        backend.connect_tcp("pay.example", 443)
