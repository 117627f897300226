"""What a client makes of connections that are cut, drip, stay silent or are refused."""

import socket
import threading
import time
from typing import Any

import pytest

from kusanya.errors import (
    NoAnswer,
    NotSent,
    OutcomeUnknown,
)

ORDER: dict[str, Any] = {"amount": 5000, "phone": "0754 000 001", "reference": "order-1"}


@pytest.mark.merge
def test_an_answer_cut_at_any_byte_is_asked_for_again_with_the_same_bytes(
    driver: Any, server: Any, wire: Any
) -> None:
    whole = wire.bytes(202, wire.collection(), {"X-Request-Id": "req_1"})
    assert len(whole) > 300
    client = driver.client(server.url)
    for cut in range(len(whole)):
        server.requests.clear()
        server.answers(wire.raw(whole[:cut]), wire.raw(whole))
        made = client.create_collection(**ORDER, idempotency_key=f"key-{cut}")
        assert made.id == "col_1"
        assert len(server.requests) == 2, f"cut at {cut}"
        assert server.requests[0] == server.requests[1]


def test_a_request_cut_at_any_byte_is_an_unknown_outcome(driver: Any, server: Any) -> None:
    # A listener that reads n bytes and breaks the connection: what left cannot be known.
    listener = socket.create_server(("127.0.0.1", 0))
    listener.settimeout(10)
    port = listener.getsockname()[1]
    taken: list[int] = []

    def serve(amount: int) -> None:
        peer, _ = listener.accept()
        with peer:
            got = 0
            while got < amount:
                got += len(peer.recv(amount - got))
            taken.append(got)

    client = driver.client(f"http://127.0.0.1:{port}", max_attempts=1)
    with listener:
        for amount in range(1, 290, 7):
            thread = threading.Thread(target=serve, args=(amount,))
            thread.start()
            with pytest.raises(OutcomeUnknown) as caught:
                client.create_collection(**ORDER, idempotency_key="k")
            thread.join(10)
            assert caught.value.reference == "order-1"
            assert caught.value.idempotency_key == "k"
    assert taken == list(range(1, 290, 7))


def test_an_answer_that_drips_ends_at_the_deadline(driver: Any, server: Any, wire: Any) -> None:
    whole = wire.bytes(202, wire.collection())

    def drip(peer: socket.socket) -> bool:
        for at in range(len(whole)):
            if server.closing.wait(0.02):
                return False
            peer.sendall(whole[at : at + 1])
        return False

    server.answers(drip)
    client = driver.client(server.url, timeout=0.3, max_attempts=1)
    started = time.monotonic()
    with pytest.raises(OutcomeUnknown):
        client.create_collection(**ORDER)
    assert 0.25 < time.monotonic() - started < 1.5


def test_silence_after_a_create_is_unknown_and_after_a_get_no_answer(
    driver: Any, server: Any
) -> None:
    def hang(peer: socket.socket) -> bool:
        server.closing.wait(10)
        return False

    server.answers(hang)
    client = driver.client(server.url, timeout=0.2, max_attempts=1)
    with pytest.raises(OutcomeUnknown) as caught:
        client.create_collection(**ORDER)
    assert caught.value.attempts == 1
    with pytest.raises(NoAnswer) as lost:
        client.get_collection("col_1")
    assert not isinstance(lost.value, OutcomeUnknown)


def test_a_refused_connection_means_that_nothing_was_sent(driver: Any) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    with pytest.raises(NotSent):
        driver.client(f"http://127.0.0.1:{port}").create_collection(**ORDER)


def test_a_create_lost_once_stays_unknown_when_the_service_is_gone(
    driver: Any, server: Any, wire: Any
) -> None:
    def vanish(peer: socket.socket) -> bool:
        server._listener.shutdown(socket.SHUT_RDWR)
        server._listener.close()
        return False

    server.answers(vanish)
    with pytest.raises(OutcomeUnknown) as caught:
        driver.client(server.url).create_collection(**ORDER)
    assert caught.value.attempts == 1
    assert isinstance(caught.value.__cause__, NotSent)
    server._listener = socket.create_server(("127.0.0.1", 0))
