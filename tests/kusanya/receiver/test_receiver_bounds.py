"""The receiver on real sockets: requests too large, too slow and too many."""

import contextlib
import select
import socket
from contextlib import ExitStack

import pytest
from tests.kusanya.receiver.peers import (
    SECRET,
    Body,
    Serve,
    SignHeaders,
    closed_by_the_other_side,
    connect,
    read_answer,
    request,
)
from tests.kusanya.receiver.slow_journal import SlowJournal

from kusanya.clock import Clock
from kusanya.platform.http_limits import ConnectionLimits
from kusanya.receiver import app
from kusanya.store import Store
from kusanya.store.records import DeliveryCommit, Verdict
from kusanya.wire import Mode

FLOODS = {
    "one header of a megabyte": (431, b"POST / HTTP/1.1\r\nhost: x\r\na: " + b"b" * 1_000_000),
    "headers past 16 KiB, complete": (
        431,
        b"POST / HTTP/1.1\r\nhost: x\r\n"
        + b"".join(b"a%d: %b\r\n" % (n, b"b" * 2000) for n in range(10))
        + b"content-length: 0\r\n\r\n",
    ),
    "65 headers": (
        431,
        b"POST / HTTP/1.1\r\n" + b"".join(b"a%d: b\r\n" % n for n in range(65)) + b"\r\n",
    ),
    "an address of 20 kB": (
        414,
        b"POST /" + b"a" * 20_000 + b" HTTP/1.1\r\nhost: x\r\n\r\n",
    ),
    "a chunk extension of a megabyte": (
        413,
        b"POST / HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n1;" + b"e" * 1_000_000,
    ),
    "length and chunks": (
        400,
        b"POST / HTTP/1.1\r\nhost: x\r\n%b\r\n0\r\n\r\n"
        % b"content-length: 5\r\ntransfer-encoding: chunked\r\n",
    ),
    "two lengths": (
        400,
        b"POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 5\r\ncontent-length: 6\r\n\r\n",
    ),
    "a folded header": (
        400,
        b"POST / HTTP/1.1\r\nhost: x\r\na: b\r\n c\r\ncontent-length: 0\r\n\r\n",
    ),
    "no HTTP": (400, b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03"),
    "no host": (400, b"POST / HTTP/1.1\r\ncontent-length: 0\r\n\r\n"),
    "two hosts": (400, b"POST / HTTP/1.1\r\nhost: x\r\nhost: x\r\ncontent-length: 0\r\n\r\n"),
}


@pytest.mark.parametrize(("status", "flood"), FLOODS.values(), ids=FLOODS.keys())
def test_a_request_out_of_bounds_is_refused_and_its_connection_closed(
    store: Store, serve_app: Serve, status: int, flood: bytes
) -> None:
    serving = serve_app(app(store, SECRET, mode="test"))
    with connect(serving) as peer:
        try:
            peer.sendall(flood)
            assert read_answer(peer).startswith(b"%d" % status)
            assert closed_by_the_other_side(peer)
        except (BrokenPipeError, ConnectionResetError):
            # It closed while we were still flooding: refused all the same.
            pass
    assert store.deliveries.page(Mode.TEST).rows == ()


def test_64_headers_of_almost_16_kib_are_read(
    store: Store, clock: Clock, body: Body, sign_headers: SignHeaders, serve_app: Serve
) -> None:
    serving = serve_app(app(store, SECRET, mode="test", clock=clock))
    payload = body()
    headers = sign_headers(payload)
    headers += [(b"x%d" % n, b"y" * 240) for n in range(64 - len(headers))]
    with connect(serving) as peer:
        peer.sendall(request(payload, headers))
        assert read_answer(peer) == b"200 OK"


QUICK = ConnectionLimits(header_s=0.1, request_s=0.25)
SLOW = {
    "says nothing": b"",
    "half a header": b"POST / HTTP/1.1\r\nhos",
    "half a body": b"POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 10\r\n\r\n12345",
    "half a chunk": b"POST / HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\nff\r\n1",
    "empty lines": b"\r\n\r\n\r\n",
}


@pytest.mark.parametrize("beginning", SLOW.values(), ids=SLOW.keys())
def test_a_peer_that_stops_in_the_middle_is_cut(
    store: Store, serve_app: Serve, beginning: bytes
) -> None:
    serving = serve_app(app(store, SECRET, mode="test"), QUICK)
    with connect(serving) as peer:
        peer.sendall(beginning)
        assert read_answer(peer) == b"408 Request Timeout"
        assert closed_by_the_other_side(peer)
    assert store.deliveries.page(Mode.TEST).rows == ()


def test_dripping_does_not_buy_time(store: Store, serve_app: Serve) -> None:
    serving = serve_app(app(store, SECRET, mode="test"), QUICK)
    with connect(serving) as peer:
        peer.sendall(b"POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 100000\r\n\r\n")
        # A byte whenever the other side has been silent for a moment: cut all the same.
        dripped = 0
        while not select.select([peer], [], [], 0.02)[0]:
            peer.send(b"x")
            dripped += 1
            assert dripped < 200
        assert read_answer(peer) == b"408 Request Timeout"


def test_dripped_empty_lines_after_an_answer_do_not_hold_a_connection(
    store: Store, clock: Clock, body: Body, sign_headers: SignHeaders, serve_app: Serve
) -> None:
    serving = serve_app(app(store, SECRET, mode="test", clock=clock), QUICK)
    payload = body()
    with connect(serving) as peer:
        peer.sendall(request(payload, sign_headers(payload)))
        assert read_answer(peer) == b"200 OK"
        dripped = 0
        while not select.select([peer], [], [], 0.02)[0]:
            peer.send(b"\r\n")
            dripped += 1
            assert dripped < 200


def test_a_slow_but_timely_delivery_is_received(
    store: Store, clock: Clock, body: Body, sign_headers: SignHeaders, serve_app: Serve
) -> None:
    serving = serve_app(app(store, SECRET, mode="test", clock=clock))
    payload = body()
    sent = request(payload, sign_headers(payload))
    with connect(serving) as peer:
        for part in (sent[:40], sent[40:300], sent[300:-5], sent[-5:]):
            peer.sendall(part)
            select.select([peer], [], [], 0.01)
        assert read_answer(peer) == b"200 OK"


def test_the_connection_that_waits_longest_gives_way_to_one_too_many(
    store: Store, clock: Clock, body: Body, sign_headers: SignHeaders, serve_app: Serve
) -> None:
    serving = serve_app(
        app(store, SECRET, mode="test", clock=clock), ConnectionLimits(connections=2)
    )
    payload = body()

    def deliver(peer: socket.socket) -> bytes:
        peer.sendall(request(payload, sign_headers(payload)))
        return read_answer(peer)

    first, second, third = (connect(serving) for _ in range(3))
    assert read_answer(first) == b"503 Service Unavailable"
    assert (deliver(second), deliver(third)) == (b"200 OK", b"200 OK")
    with connect(serving) as again:
        # Of two that were answered the one that waits longer is closed, without a word.
        assert deliver(again) == b"200 OK"
        assert second.recv(100) == b""
        assert deliver(third) == b"200 OK"
    for peer in (first, second, third):
        peer.close()


@pytest.mark.parametrize("beginning", SLOW.values(), ids=SLOW.keys())
def test_slow_and_idle_connections_do_not_keep_honest_deliveries_out(  # noqa: PLR0917 - fixtures
    store: Store,
    clock: Clock,
    body: Body,
    sign_headers: SignHeaders,
    serve_app: Serve,
    beginning: bytes,
) -> None:
    patient = ConnectionLimits(connections=8, header_s=60, request_s=60)
    serving = serve_app(app(store, SECRET, mode="test", clock=clock), patient)

    def deliver(peer: socket.socket, number: int) -> bytes:
        peer.sendall(request(body(number), sign_headers(body(number))))
        return read_answer(peer)

    with ExitStack() as stack:
        kept = stack.enter_context(connect(serving))
        assert deliver(kept, 0) == b"200 OK"
        answers = []
        for number in range(1, 25):
            slow = stack.enter_context(connect(serving))
            with contextlib.suppress(ConnectionError):
                slow.sendall(beginning)
            with connect(serving) as honest:
                answers.append(deliver(honest, number))
        assert answers == [b"200 OK"] * 24
        assert deliver(kept, 25) == b"200 OK"
    assert len(store.deliveries.page(Mode.TEST).rows) == 26


def test_a_connection_that_is_being_answered_never_gives_way(
    clock: Clock, body: Body, sign_headers: SignHeaders, serve_app: Serve
) -> None:
    journal = SlowJournal()
    serving = serve_app(
        app(journal, SECRET, mode="test", clock=clock), ConnectionLimits(connections=2)
    )
    asked = request(body(), sign_headers(body()))
    with connect(serving) as first, connect(serving) as second:
        promises = []
        for peer in (first, second):
            peer.sendall(asked)
            promises.append(journal.submitted.get(timeout=10))
        with connect(serving) as third:
            assert read_answer(third) == b"503 Service Unavailable"
        for promise in promises:
            promise.set_result(DeliveryCommit(delivery_id="dlv_1", verdict=Verdict.VERIFIED, seq=1))
        assert (read_answer(first), read_answer(second)) == (b"200 OK", b"200 OK")
