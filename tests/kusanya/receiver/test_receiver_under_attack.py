"""Honest deliveries are answered while others send floods, fragments and forgeries."""

import http.client
import random
import socket
from collections.abc import Callable
from contextlib import ExitStack

import pytest
from tests.kusanya.receiver.peers import Headers, SignHeaders

from kusanya.clock import Clock
from kusanya.receiver import app
from kusanya.receiver.serve import RunningReceiver
from kusanya.store import Store
from kusanya.store.records import DeliveryFilter, Verdict
from kusanya.wire import Mode

pytestmark = pytest.mark.merge

SECRET = "whsec_" + "a" * 32
FORGED = "whsec_forged"

Body = Callable[..., bytes]
Serve = Callable[..., RunningReceiver]

SPLICES = (
    b"\r\n",
    b"\x00",
    b": ",
    b"transfer-encoding: chunked\r\n",
    b"content-length: 7\r\n",
    b"expect: 100-continue\r\n",
    b"upgrade: websocket\r\nconnection: upgrade\r\n",
    b"\xff" * 40,
    b"a" * 5000,
    b"POST / HTTP/1.1\r\n\r\n",
    b"0\r\n\r\n",
)


def request(payload: bytes, headers: Headers) -> bytes:
    lines = b"".join(b"%b: %b\r\n" % pair for pair in headers)
    return b"POST /hooks HTTP/1.1\r\n" + lines + b"\r\n" + payload


def spoiled(chance: random.Random, sent: bytes) -> bytes:
    found = bytearray(sent)
    for _ in range(chance.randint(1, 4)):
        at = chance.randrange(len(found) + 1)
        match chance.randrange(4):
            case 0 if found:
                found[at % len(found)] = chance.randrange(256)
            case 1:
                found[at:at] = chance.choice(SPLICES)
            case 2:
                del found[at : at + chance.randint(1, 60)]
            case _:
                del found[at:]
    return bytes(found)


@pytest.fixture
def serving(store: Store, clock: Clock, serve_app: Serve) -> RunningReceiver:
    return serve_app(app(store, SECRET, mode="test", clock=clock))


@pytest.mark.timeout(3600)
@pytest.mark.scale(1_000, 20_000, 200_000)
def test_every_honest_delivery_is_answered_among_hostile_ones(
    store: Store, serving: RunningReceiver, body: Body, sign_headers: SignHeaders, rounds: int
) -> None:
    address = (serving.host, serving.port)
    chance = random.Random(11)  # noqa: S311 - a test repeats itself
    forged = body(999_999)
    attack = request(forged, sign_headers(forged, secret=FORGED))
    honest = 0
    with ExitStack() as stack:
        for _ in range(50):
            slow = stack.enter_context(socket.create_connection(address, timeout=10))
            slow.sendall(attack[: chance.randrange(len(attack))])
        connection = http.client.HTTPConnection(*address, timeout=10)
        for number in range(rounds):
            with socket.create_connection(address, timeout=10) as hostile:
                try:
                    hostile.sendall(spoiled(chance, attack))
                except (BrokenPipeError, ConnectionResetError):
                    # Refused while it was still being sent.
                    continue
            if number % 10 == 0:
                payload = body(number)
                headers = {n.decode(): v.decode() for n, v in sign_headers(payload)}
                connection.request("POST", "/", payload, headers)
                answer = connection.getresponse()
                assert (answer.status, answer.read()) == (200, b"")
                honest += 1
        connection.close()
    assert honest >= rounds / 11
    verified = store.deliveries.page(
        Mode.TEST, where=DeliveryFilter(verdicts=(Verdict.VERIFIED,)), limit=honest + 1
    )
    assert len(verified.rows) == honest
    assert store.collections.get("col_999999", Mode.TEST) is None
    assert store.events.get("evt_999999") is None
