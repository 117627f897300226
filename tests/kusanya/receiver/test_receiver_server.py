"""The receiver on real sockets: connections that are kept, used oddly, or left."""

import http.client

import pytest
from tests.kusanya.receiver.peers import (
    SECRET,
    Body,
    Headers,
    Serve,
    SignHeaders,
    closed_by_the_other_side,
    connect,
    read_answer,
    request,
)
from tests.kusanya.receiver.slow_journal import SlowJournal

from kusanya.clock import Clock
from kusanya.receiver import app
from kusanya.receiver.serve import RunningReceiver
from kusanya.store import Store
from kusanya.store.records import DeliveryCommit, Verdict
from kusanya.wire import Mode


def test_deliveries_arrive_over_one_kept_connection(
    store: Store, clock: Clock, body: Body, sign_headers: SignHeaders, serve_app: Serve
) -> None:
    serving = serve_app(app(store, SECRET, mode="test", clock=clock))
    connection = http.client.HTTPConnection(serving.host, serving.port, timeout=10)
    for number in range(5):
        payload = body(number)
        headers = {n.decode(): v.decode() for n, v in sign_headers(payload)}
        connection.request("POST", "/", payload, headers)
        answer = connection.getresponse()
        assert (answer.status, answer.read()) == (200, b"")
    connection.close()
    rows = store.deliveries.page(Mode.TEST).rows
    assert [row.verdict for row in rows] == [Verdict.VERIFIED] * 5


def test_requests_sent_without_waiting_are_answered_in_order(
    store: Store, clock: Clock, body: Body, sign_headers: SignHeaders, serve_app: Serve
) -> None:
    serving = serve_app(app(store, SECRET, mode="test", clock=clock))
    first, forged, last = (body(number) for number in (1, 2, 3))
    with connect(serving) as peer:
        peer.sendall(
            request(first, sign_headers(first))
            + request(forged, sign_headers(forged, secret="whsec_forged"))
            + request(last, sign_headers(last))
        )
        received = b""
        while received.count(b"HTTP/1.1 ") < 3 or not received.endswith(b"\r\n\r\n"):
            received += peer.recv(65536)
    statuses = [part[:3] for part in received.split(b"HTTP/1.1 ")[1:]]
    assert statuses == [b"200", b"400", b"200"]
    kept = store.deliveries.page(Mode.TEST).rows
    assert [(row.event_id, row.verdict) for row in reversed(kept)] == [
        ("evt_1", Verdict.VERIFIED),
        ("evt_2", Verdict.REJECTED),
        ("evt_3", Verdict.VERIFIED),
    ]
    for row, payload in zip(reversed(kept), (first, forged, last), strict=True):
        found = store.deliveries.body(row.id)
        assert found is not None
        assert found.body == payload
        assert dict(found.headers)[b"content-length"] == str(len(payload)).encode()


def test_the_beginning_of_a_second_request_does_not_touch_the_first(
    store: Store, clock: Clock, body: Body, sign_headers: SignHeaders, serve_app: Serve
) -> None:
    serving = serve_app(app(store, SECRET, mode="test", clock=clock))
    first, second = body(1), body(2)
    whole = request(second, sign_headers(second))
    with connect(serving) as peer:
        peer.sendall(request(first, sign_headers(first)) + whole[:90])
        assert read_answer(peer) == b"200 OK"
        peer.sendall(whole[90:])
        assert read_answer(peer) == b"200 OK"
    kept = store.deliveries.page(Mode.TEST).rows
    assert [row.verdict for row in kept] == [Verdict.VERIFIED, Verdict.VERIFIED]


def test_deliveries_pages_and_questions_take_turns_on_one_connection(
    store: Store, clock: Clock, body: Body, sign_headers: SignHeaders, serve_app: Serve
) -> None:
    serving = serve_app(app(store, SECRET, mode="test", clock=clock))
    payload = body()
    asked = request(payload, [*sign_headers(payload), (b"expect", b"100-continue")])
    with connect(serving) as peer:
        for number in range(2):
            peer.sendall(b"GET /healthz HTTP/1.1\r\nhost: x\r\n\r\n")
            assert read_answer(peer) == b"200 OK"
            peer.sendall(request(body(number), sign_headers(body(number))))
            assert read_answer(peer) == b"200 OK"
        head = len(asked) - len(payload)
        peer.sendall(asked[:head])
        assert peer.recv(100) == b"HTTP/1.1 100 Continue\r\n\r\n"
        peer.sendall(asked[head:])
        assert read_answer(peer) == b"200 OK"


@pytest.mark.parametrize(
    ("line", "more"),
    [
        pytest.param(b"POST /hooks HTTP/1.0", [], id="an old sender"),
        pytest.param(b"POST /hooks HTTP/1.1", [(b"connection", b"close")], id="the last request"),
    ],
)
def test_a_connection_that_is_not_to_be_kept_is_closed_after_the_answer(
    receiving: RunningReceiver, body: Body, sign_headers: SignHeaders, line: bytes, more: Headers
) -> None:
    payload = body()
    asked = request(payload, [*sign_headers(payload), *more])
    with connect(receiving) as peer:
        peer.sendall(asked.replace(b"POST /hooks HTTP/1.1", line))
        assert read_answer(peer) == b"200 OK"
        assert closed_by_the_other_side(peer)


def test_chunks_are_put_together_and_too_many_of_them_refused(
    store: Store, clock: Clock, body: Body, sign_headers: SignHeaders, serve_app: Serve
) -> None:
    serving = serve_app(app(store, SECRET, mode="test", clock=clock))

    def chunked(payload: bytes) -> bytes:
        headers = [pair for pair in sign_headers(payload) if pair[0] != b"content-length"]
        pieces = [payload[at : at + 60_000] for at in range(0, len(payload), 60_000)]
        sent = b"".join(b"%x\r\n%b\r\n" % (len(piece), piece) for piece in pieces)
        return request(sent + b"0\r\n\r\n", [*headers, (b"transfer-encoding", b"chunked")])

    with connect(serving) as peer:
        peer.sendall(chunked(body()))
        assert read_answer(peer) == b"200 OK"
        peer.sendall(chunked(b" " * 262_145))
        assert read_answer(peer).startswith(b"413")
        assert closed_by_the_other_side(peer)
    assert [row.verdict for row in store.deliveries.page(Mode.TEST).rows] == [Verdict.VERIFIED]


def test_whoever_goes_away_leaves_nothing_behind(
    store: Store, clock: Clock, body: Body, sign_headers: SignHeaders, serve_app: Serve
) -> None:
    serving = serve_app(app(store, SECRET, mode="test", clock=clock))
    payload = body()
    asked = request(payload, sign_headers(payload))

    def metrics() -> bytes:
        with connect(serving) as peer:
            peer.sendall(b"GET /metrics HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n")
            return b"".join(iter(lambda: peer.recv(65536), b""))

    with connect(serving) as peer:
        peer.sendall(asked[:-10])
        while b"kusanya_requests_in_flight 1.0" not in metrics():
            pass
    with connect(serving) as peer:
        peer.sendall(asked)
    # Its answer had nobody to go to; the delivery is durable all the same.
    while not store.deliveries.page(Mode.TEST).rows:
        pass
    while b"kusanya_requests_in_flight 0.0" not in (said := metrics()):
        pass
    assert b"kusanya_discarded_requests_total 1.0" in said
    assert b'endpoint="webhooks",verdict="verified"} 1.0' in said


def test_an_address_for_people_is_complete() -> None:
    assert RunningReceiver("127.0.0.1", 8080, lambda: None).url == "http://127.0.0.1:8080/"
    assert RunningReceiver("::1", 8080, lambda: None).url == "http://[::1]:8080/"


def test_a_sender_that_goes_away_with_a_second_request_begun_is_counted_once(
    clock: Clock, body: Body, sign_headers: SignHeaders, serve_app: Serve
) -> None:
    journal, payload = SlowJournal(), body()
    serving = serve_app(app(journal, SECRET, mode="test", clock=clock))

    def in_flight() -> bytes:
        with connect(serving) as peer:
            peer.sendall(b"GET /metrics HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n")
            said = b"".join(iter(lambda: peer.recv(65536), b""))
        return said.rpartition(b"kusanya_requests_in_flight ")[2].split(b"\n")[0]

    asked = request(payload, sign_headers(payload))
    with connect(serving) as peer:
        peer.sendall(asked + asked[:30])
        promise = journal.submitted.get(timeout=10)
    # Whoever connects after it left is answered after its leaving was noticed.
    assert [in_flight() for _ in range(3)] == [b"1.0"] * 3
    promise.set_result(DeliveryCommit(delivery_id="dlv_1", verdict=Verdict.VERIFIED, seq=1))
    while (found := in_flight()) == b"1.0":
        pass
    assert found == b"0.0"
