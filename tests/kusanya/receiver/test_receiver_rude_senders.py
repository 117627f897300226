"""Senders that ask without reading, say half of goodbye, or hide headers behind the body."""

import asyncio
import logging
import queue
import socket
import struct
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest
from tests.kusanya.receiver.peers import Headers, SignHeaders
from tests.kusanya.receiver.slow_journal import SlowJournal

from kusanya.clock import Clock
from kusanya.platform.http_limits import ConnectionLimits
from kusanya.receiver import Limits, app
from kusanya.receiver.serve import RunningReceiver
from kusanya.store import Store
from kusanya.store.records import Arrival, DeliveryCommit, Verdict
from kusanya.wire import Mode

SECRET = "whsec_" + "a" * 32
GET = b"GET /healthz HTTP/1.1\r\nhost: x\r\n\r\n"

Body = Callable[..., bytes]
Serve = Callable[..., RunningReceiver]


def connect(serving: RunningReceiver) -> socket.socket:
    return socket.create_connection((serving.host, serving.port), timeout=10)


def asking(payload: bytes, headers: Headers) -> bytes:
    lines = b"".join(b"%b: %b\r\n" % pair for pair in headers)
    return b"POST /hooks HTTP/1.1\r\n" + lines + b"\r\n" + payload


def everything(peer: socket.socket) -> bytes:
    return b"".join(iter(lambda: peer.recv(65536), b""))


def durable() -> DeliveryCommit:
    return DeliveryCommit(delivery_id="dlv_1", verdict=Verdict.VERIFIED, seq=1)


def has_noticed(serving: RunningReceiver) -> None:
    """Return once the receiver has read what its other connections brought before."""
    for _ in range(3):
        with connect(serving) as peer:
            peer.sendall(GET.replace(b"\r\n\r\n", b"\r\nconnection: close\r\n\r\n"))
            assert everything(peer).startswith(b"HTTP/1.1 200")


@pytest.mark.parametrize("sent", [(9, b"200"), (10, b"400")])
def test_so_many_requests_wait_on_one_connection_and_no_more(
    clock: Clock, body: Body, sign_headers: SignHeaders, serve_app: Serve, sent: tuple[int, bytes]
) -> None:
    journal, payload = SlowJournal(), body()
    many, status = sent
    limits = ConnectionLimits(pipelined=8)
    serving = serve_app(app(journal, SECRET, mode="test", clock=clock), limits)
    with connect(serving) as peer:
        peer.sendall(asking(payload, sign_headers(payload)) + GET * (many - 1))
        promise = journal.submitted.get(timeout=10)
        has_noticed(serving)
        promise.set_result(durable())
        assert peer.recv(12).endswith(status)


def test_a_sender_that_reads_no_answer_is_let_go(serve_app: Serve) -> None:
    let_go = threading.Event()

    async def endless(_scope: Any, _receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})
        for _ in range(64):
            await send({"type": "http.response.body", "body": bytes(2**20), "more_body": True})
        let_go.set()

    serving = serve_app(endless, ConnectionLimits(request_s=0.2))
    with socket.socket() as peer:
        peer.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        peer.connect((serving.host, serving.port))
        peer.sendall(GET)
        assert let_go.wait(10)


def test_a_closed_connection_does_not_wait_for_ever_to_be_read(serve_app: Serve) -> None:
    ended = threading.Event()

    async def until_stuck(_scope: Any, _receive: Any, send: Any) -> None:
        if not ended.is_set():
            head = [(b"connection", b"close")]
            await send({"type": "http.response.start", "status": 200, "headers": head})
            transport = send.__self__.transport
            while not transport.get_write_buffer_size():
                part = {"type": "http.response.body", "body": bytes(32_768), "more_body": True}
                await send(part)
                await asyncio.sleep(0.001)
            await send({"type": "http.response.body", "body": b""})
            ended.set()
        else:
            await send({"type": "http.response.start", "status": 204, "headers": []})
            await send({"type": "http.response.body", "body": b""})

    serving = serve_app(until_stuck, ConnectionLimits(request_s=0.2, connections=1))
    with socket.socket() as peer:
        peer.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        peer.connect((serving.host, serving.port))
        peer.sendall(GET)
        assert ended.wait(10)
        given_up = time.monotonic() + 10
        while time.monotonic() < given_up:
            with connect(serving) as other:
                other.sendall(GET)
                if other.recv(12).endswith(b"204"):
                    return
    pytest.fail("its place is still taken")


def test_a_sender_that_leaves_while_more_of_it_waits_is_no_error_and_its_deliveries_count(
    clock: Clock,
    body: Body,
    sign_headers: SignHeaders,
    serve_app: Serve,
    caplog: pytest.LogCaptureFixture,
) -> None:
    journal, arrivals = SlowJournal(), queue.Queue[Arrival]()
    serving = serve_app(
        app(
            journal,
            SECRET,
            mode="test",
            clock=clock,
            on_receipt=lambda arrival, _: arrivals.put(arrival),
        )
    )
    with caplog.at_level(logging.ERROR):
        peer = connect(serving)
        peer.sendall(b"".join(asking(body(n), sign_headers(body(n))) for n in range(3)))
        journal.submitted.get(timeout=10).set_result(durable())
        second = journal.submitted.get(timeout=10)
        peer.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        peer.close()
        has_noticed(serving)
        second.set_result(durable())
        assert [arrivals.get(timeout=10).event_id for _ in range(2)] == ["evt_0", "evt_1"]
        has_noticed(serving)
    assert [record.getMessage() for record in caplog.records] == []


def test_a_sender_that_has_said_all_is_answered(
    clock: Clock, body: Body, sign_headers: SignHeaders, serve_app: Serve
) -> None:
    journal, payload = SlowJournal(), body()
    serving = serve_app(app(journal, SECRET, mode="test", clock=clock))
    with connect(serving) as peer:
        peer.sendall(asking(payload, sign_headers(payload)))
        peer.shutdown(socket.SHUT_WR)
        promise = journal.submitted.get(timeout=10)
        has_noticed(serving)
        promise.set_result(durable())
        answer = everything(peer)
    assert answer.startswith(b"HTTP/1.1 200")
    assert b"connection: close" in answer


def test_a_sender_that_says_no_more_within_its_body_is_closed_and_nothing_kept(
    store: Store, clock: Clock, body: Body, sign_headers: SignHeaders, serve_app: Serve
) -> None:
    payload = body()
    serving = serve_app(app(store, SECRET, mode="test", clock=clock))
    with connect(serving) as peer:
        peer.sendall(asking(payload, sign_headers(payload))[:-1])
        peer.shutdown(socket.SHUT_WR)
        assert everything(peer) == b""
    assert store.deliveries.page(Mode.TEST).rows == ()


@pytest.fixture(params=[b"", GET], ids=["taken at once", "after another request"])
def trailed(
    request: pytest.FixtureRequest, body: Body, sign_headers: SignHeaders
) -> Callable[[bytes], bytes]:
    """Return a maker of a chunked delivery with a trailer, alone or behind another request."""
    payload = body()
    headers = [pair for pair in sign_headers(payload) if pair[0] != b"content-length"]
    headers += [(b"transfer-encoding", b"chunked"), (b"connection", b"close")]

    def make(trailer: bytes) -> bytes:
        chunked = b"%x\r\n%b\r\n0\r\n%b\r\n\r\n" % (len(payload), payload, trailer)
        return bytes(request.param) + asking(chunked, headers)

    return make


@pytest.mark.parametrize("trailer", [b"service-signature: t=1,v1=00", b"content-encoding: gzip"])
def test_what_follows_the_body_is_no_header(
    store: Store,
    clock: Clock,
    serve_app: Serve,
    trailed: Callable[[bytes], bytes],
    trailer: bytes,
) -> None:
    serving = serve_app(app(store, SECRET, mode="test", clock=clock))
    with connect(serving) as peer:
        peer.sendall(trailed(trailer))
        assert b"HTTP/1.1 200" in everything(peer).rpartition(b"\r\n\r\n")[0][-200:]
    assert [row.verdict for row in store.deliveries.page(Mode.TEST).rows] == [Verdict.VERIFIED]


def test_a_callback_that_fails_keeps_no_other_delivery_back(
    clock: Clock, body: Body, sign_headers: SignHeaders, serve_app: Serve
) -> None:
    journal, failed = SlowJournal(), threading.Event()

    def fail_once(_arrival: Arrival, _commit: DeliveryCommit) -> None:
        if not failed.is_set():
            failed.set()
            raise ValueError("the owner's own")

    limits = Limits(receipt_s=60.0)
    serving = serve_app(
        app(journal, SECRET, mode="test", clock=clock, limits=limits, on_receipt=fail_once)
    )
    payload = body()
    with connect(serving) as first, connect(serving) as second:
        commits = []
        for peer in (first, second):
            peer.sendall(asking(payload, sign_headers(payload)))
            commits.append(journal.submitted.get(timeout=10))
        for commit in commits:
            commit.set_result(durable())
        for peer in (first, second):
            assert peer.recv(12).endswith(b"200")
