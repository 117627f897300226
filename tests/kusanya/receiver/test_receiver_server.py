"""The receiver on real sockets: slow, odd and many peers, starting and stopping."""

import contextlib
import http.client
import logging
import queue
import select
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path

import pytest
from tests.kusanya.receiver.slow_journal import SlowJournal

from kusanya.clock import Clock
from kusanya.errors import ConfigurationError
from kusanya.http_limits import AddressRefused, ConnectionLimits, PortTaken
from kusanya.receiver import app
from kusanya.receiver.serve import RunningReceiver, run, serve
from kusanya.store import Store
from kusanya.store.records import DeliveryReceipt, Verdict
from kusanya.wire import Mode

SECRET = "whsec_" + "a" * 32

Body = Callable[..., bytes]
Headers = list[tuple[bytes, bytes]]
Signed = Callable[..., Headers]
Serve = Callable[..., RunningReceiver]


def connect(serving: RunningReceiver) -> socket.socket:
    found = socket.create_connection((serving.host, serving.port), timeout=10)
    found.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return found


def request(payload: bytes, headers: Headers) -> bytes:
    lines = b"".join(b"%b: %b\r\n" % pair for pair in headers)
    return b"POST /hooks HTTP/1.1\r\n" + lines + b"\r\n" + payload


def read_answer(peer: socket.socket) -> bytes:
    """Return the status line of one answer, or b"" where the connection ended without one."""
    with peer.makefile("rb") as file:
        status = file.readline()
        length = 0
        while (line := file.readline().strip()) != b"":
            if line.startswith(b"content-length:"):
                length = int(line.split(b":")[1])
        file.read(length)
        return status.removeprefix(b"HTTP/1.1 ").strip()


@pytest.fixture
def receiving(store: Store, clock: Clock, serve_app: Serve) -> RunningReceiver:
    """Return a receiver that is accepting connections."""
    return serve_app(app(store, SECRET, mode="test", clock=clock))


def closed_by_the_other_side(peer: socket.socket) -> bool:
    try:
        return peer.recv(1) == b""
    except ConnectionResetError:
        return True


def test_deliveries_arrive_over_one_kept_connection(
    store: Store, clock: Clock, body: Body, signed: Signed, serve_app: Serve
) -> None:
    serving = serve_app(app(store, SECRET, mode="test", clock=clock))
    connection = http.client.HTTPConnection(serving.host, serving.port, timeout=10)
    for number in range(5):
        payload = body(number)
        headers = {n.decode(): v.decode() for n, v in signed(payload)}
        connection.request("POST", "/", payload, headers)
        answer = connection.getresponse()
        assert (answer.status, answer.read()) == (200, b"")
    connection.close()
    rows = store.deliveries.page(Mode.TEST).rows
    assert [row.verdict for row in rows] == [Verdict.VERIFIED] * 5


def test_requests_sent_without_waiting_are_answered_in_order(
    store: Store, clock: Clock, body: Body, signed: Signed, serve_app: Serve
) -> None:
    serving = serve_app(app(store, SECRET, mode="test", clock=clock))
    first, forged, last = (body(number) for number in (1, 2, 3))
    with connect(serving) as peer:
        peer.sendall(
            request(first, signed(first))
            + request(forged, signed(forged, secret="whsec_forged"))
            + request(last, signed(last))
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
    store: Store, clock: Clock, body: Body, signed: Signed, serve_app: Serve
) -> None:
    serving = serve_app(app(store, SECRET, mode="test", clock=clock))
    first, second = body(1), body(2)
    whole = request(second, signed(second))
    with connect(serving) as peer:
        peer.sendall(request(first, signed(first)) + whole[:90])
        assert read_answer(peer) == b"200 OK"
        peer.sendall(whole[90:])
        assert read_answer(peer) == b"200 OK"
    kept = store.deliveries.page(Mode.TEST).rows
    assert [row.verdict for row in kept] == [Verdict.VERIFIED, Verdict.VERIFIED]


def test_deliveries_pages_and_questions_take_turns_on_one_connection(
    store: Store, clock: Clock, body: Body, signed: Signed, serve_app: Serve
) -> None:
    serving = serve_app(app(store, SECRET, mode="test", clock=clock))
    payload = body()
    asked = request(payload, [*signed(payload), (b"expect", b"100-continue")])
    with connect(serving) as peer:
        for number in range(2):
            peer.sendall(b"GET /healthz HTTP/1.1\r\nhost: x\r\n\r\n")
            assert read_answer(peer) == b"200 OK"
            peer.sendall(request(body(number), signed(body(number))))
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
    receiving: RunningReceiver, body: Body, signed: Signed, line: bytes, more: Headers
) -> None:
    payload = body()
    asked = request(payload, [*signed(payload), *more])
    with connect(receiving) as peer:
        peer.sendall(asked.replace(b"POST /hooks HTTP/1.1", line))
        assert read_answer(peer) == b"200 OK"
        assert closed_by_the_other_side(peer)


def test_chunks_are_put_together_and_too_many_of_them_refused(
    store: Store, clock: Clock, body: Body, signed: Signed, serve_app: Serve
) -> None:
    serving = serve_app(app(store, SECRET, mode="test", clock=clock))

    def chunked(payload: bytes) -> bytes:
        headers = [pair for pair in signed(payload) if pair[0] != b"content-length"]
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
    store: Store, clock: Clock, body: Body, signed: Signed, serve_app: Serve
) -> None:
    serving = serve_app(app(store, SECRET, mode="test", clock=clock))
    payload = body()
    asked = request(payload, signed(payload))

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
    store: Store, clock: Clock, body: Body, signed: Signed, serve_app: Serve
) -> None:
    serving = serve_app(app(store, SECRET, mode="test", clock=clock))
    payload = body()
    headers = signed(payload)
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
    store: Store, clock: Clock, body: Body, signed: Signed, serve_app: Serve
) -> None:
    serving = serve_app(app(store, SECRET, mode="test", clock=clock), QUICK)
    payload = body()
    with connect(serving) as peer:
        peer.sendall(request(payload, signed(payload)))
        assert read_answer(peer) == b"200 OK"
        dripped = 0
        while not select.select([peer], [], [], 0.02)[0]:
            peer.send(b"\r\n")
            dripped += 1
            assert dripped < 200


def test_a_slow_but_timely_delivery_is_received(
    store: Store, clock: Clock, body: Body, signed: Signed, serve_app: Serve
) -> None:
    serving = serve_app(app(store, SECRET, mode="test", clock=clock))
    payload = body()
    sent = request(payload, signed(payload))
    with connect(serving) as peer:
        for part in (sent[:40], sent[40:300], sent[300:-5], sent[-5:]):
            peer.sendall(part)
            select.select([peer], [], [], 0.01)
        assert read_answer(peer) == b"200 OK"


def test_the_connection_that_waits_longest_gives_way_to_one_too_many(
    store: Store, clock: Clock, body: Body, signed: Signed, serve_app: Serve
) -> None:
    serving = serve_app(
        app(store, SECRET, mode="test", clock=clock), ConnectionLimits(connections=2)
    )
    payload = body()

    def deliver(peer: socket.socket) -> bytes:
        peer.sendall(request(payload, signed(payload)))
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
    store: Store, clock: Clock, body: Body, signed: Signed, serve_app: Serve, beginning: bytes
) -> None:
    patient = ConnectionLimits(connections=8, header_s=60, request_s=60)
    serving = serve_app(app(store, SECRET, mode="test", clock=clock), patient)

    def deliver(peer: socket.socket, number: int) -> bytes:
        peer.sendall(request(body(number), signed(body(number))))
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
    clock: Clock, body: Body, signed: Signed, serve_app: Serve
) -> None:
    journal = SlowJournal()
    serving = serve_app(
        app(journal, SECRET, mode="test", clock=clock), ConnectionLimits(connections=2)
    )
    asked = request(body(), signed(body()))
    with connect(serving) as first, connect(serving) as second:
        promises = []
        for peer in (first, second):
            peer.sendall(asked)
            promises.append(journal.submitted.get(timeout=10))
        with connect(serving) as third:
            assert read_answer(third) == b"503 Service Unavailable"
        for promise in promises:
            promise.set_result(
                DeliveryReceipt(delivery_id="dlv_1", verdict=Verdict.VERIFIED, seq=1)
            )
        assert (read_answer(first), read_answer(second)) == (b"200 OK", b"200 OK")


def test_a_graceful_stop_answers_what_is_in_flight_and_takes_nothing_new(
    clock: Clock, body: Body, signed: Signed
) -> None:
    journal, ready = SlowJournal(), queue.Queue[RunningReceiver]()
    thread = threading.Thread(
        target=serve,
        args=(app(journal, SECRET, mode="test", clock=clock),),
        kwargs={"on_ready": ready.put},
    )
    thread.start()
    serving, payload = ready.get(timeout=10), body()
    with connect(serving) as peer:
        peer.sendall(request(payload, signed(payload)))
        future = journal.submitted.get(timeout=10)
        serving.stop()
        refused_at = time.monotonic() + 10
        while time.monotonic() < refused_at:
            try:
                connect(serving).close()
            except (ConnectionRefusedError, ConnectionResetError):
                break
        else:
            pytest.fail("a stopping receiver still takes connections")
        future.set_result(DeliveryReceipt(delivery_id="dlv_1", verdict=Verdict.VERIFIED, seq=1))
        assert read_answer(peer) == b"200 OK"
    thread.join(10)
    assert not thread.is_alive()


def test_a_taken_port_and_a_foreign_address_are_one_clear_error(store: Store) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        with pytest.raises(PortTaken, match=f"port {port} on 127.0.0.1 is taken"):
            run(store, SECRET, mode="test", port=port)
    # An address of the documentation range is no machine's own.
    with pytest.raises(AddressRefused, match=r"203\.0\.113\.7"):
        run(store, SECRET, mode="test", host="203.0.113.7")
    for port in (-1, 70_000):
        with pytest.raises(AddressRefused, match="0 to 65535"):
            run(store, SECRET, mode="test", port=port)
    with pytest.raises(ConfigurationError):
        run(store, [])


PROGRAM = """
import sys
from kusanya.receiver.serve import run
from kusanya.store import Store
with Store.open(sys.argv[1]) as store:
    run(store, sys.argv[2], mode="test", on_ready=lambda serving: print(serving.url, flush=True))
print("stopped", flush=True)
"""


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT], ids=["TERM", "INT"])
def test_a_signal_stops_the_receiver_with_everything_acknowledged_kept(
    tmp_path: Path, body: Body, signed: Signed, number: signal.Signals
) -> None:
    command = [sys.executable, "-c", PROGRAM, str(tmp_path / "s.db"), SECRET]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        host, _, port = (
            process.stdout.readline().strip().strip("/").rpartition("/")[2].partition(":")
        )
        payload = body()
        headers = signed(payload, at=datetime.now(UTC))
        connection = http.client.HTTPConnection(host, int(port), timeout=10)
        connection.request("POST", "/", payload, {n.decode(): v.decode() for n, v in headers})
        assert connection.getresponse().status == 200
        process.send_signal(number)
        assert process.stdout.read() == "stopped\n"
        assert process.wait(20) == 0
        connection.close()
    with Store.open(tmp_path / "s.db") as store:
        assert [row.event_id for row in store.deliveries.page(Mode.TEST).rows] == ["evt_1"]


def test_a_drained_receiver_acknowledges_what_comes_until_it_is_told_again(
    clock: Clock, body: Body, signed: Signed
) -> None:
    journal, ready = SlowJournal(), queue.Queue[RunningReceiver]()
    thread = threading.Thread(
        target=serve,
        args=(app(journal, SECRET, mode="test", clock=clock),),
        kwargs={"on_ready": ready.put, "drain_s": 3600.0},
    )
    thread.start()
    serving, payload = ready.get(timeout=10), body()

    def readiness() -> bytes:
        with connect(serving) as peer:
            peer.sendall(b"GET /readyz HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n")
            return read_answer(peer)

    assert readiness() == b"200 OK"
    serving.stop()
    while readiness() == b"200 OK":
        pass
    with connect(serving) as peer, connect(serving) as late:
        peer.sendall(request(payload, signed(payload)))
        future = journal.submitted.get(timeout=10)
        late.sendall(request(payload, signed(payload)))
        last = journal.submitted.get(timeout=10)
        future.set_result(DeliveryReceipt(delivery_id="dlv_1", verdict=Verdict.VERIFIED, seq=1))
        assert read_answer(peer) == b"200 OK"
        assert closed_by_the_other_side(peer)
        # Told again it does not wait for the end of the drain; what it has read is acknowledged.
        serving.stop()
        while thread.is_alive() and not _is_refused(serving):
            pass
        last.set_result(DeliveryReceipt(delivery_id="dlv_2", verdict=Verdict.REPEAT, seq=2))
        assert read_answer(late) == b"200 OK"
    thread.join(10)
    assert not thread.is_alive()


def test_secrets_are_read_again_without_losing_a_delivery(
    clock: Clock, body: Body, signed: Signed, caplog: pytest.LogCaptureFixture
) -> None:
    journal, ready, payload = SlowJournal(), queue.Queue[RunningReceiver](), body()
    held: list[str | ConfigurationError] = ["whsec_new", ConfigurationError("the file is empty")]
    heard: queue.Queue[str] = queue.Queue()

    def hear(line: logging.LogRecord) -> bool:
        heard.put(line.getMessage())
        return True

    caplog.handler.addFilter(hear)
    caplog.set_level(logging.INFO, "kusanya.receiver")

    def reread() -> str:
        found = held.pop(0)
        if isinstance(found, ConfigurationError):
            raise found
        return found

    thread = threading.Thread(
        target=run,
        args=(journal, "whsec_old"),
        kwargs={"mode": "test", "clock": clock, "reread": reread, "on_ready": ready.put},
    )
    thread.start()
    serving = ready.get(timeout=10)

    def told() -> str:
        while not (line := heard.get(timeout=10)).startswith("the secrets"):
            pass
        return line

    with connect(serving) as old, connect(serving) as new:
        old.sendall(request(payload, signed(payload, secret="whsec_old")))
        under_way = journal.submitted.get(timeout=10)
        serving.hang_up()
        assert told() == "the secrets were read again"
        under_way.set_result(DeliveryReceipt(delivery_id="dlv_1", verdict=Verdict.VERIFIED, seq=1))
        assert read_answer(old) == b"200 OK"
        for number, answer in ((2, b"200 OK"), (3, b"200 OK")):
            new.sendall(request(payload, signed(payload, secret="whsec_new")))
            future = journal.submitted.get(timeout=10)
            future.set_result(
                DeliveryReceipt(delivery_id="dlv", verdict=Verdict.VERIFIED, seq=number)
            )
            assert read_answer(new) == answer
            if held:
                serving.hang_up()
                assert told() == "the secrets stay as they were"
        old.sendall(request(payload, signed(payload, secret="whsec_old")))
        last = journal.submitted.get(timeout=10)
        last.set_result(DeliveryReceipt(delivery_id="dlv", verdict=Verdict.REJECTED, seq=4))
        assert read_answer(old) == b"400 Bad Request"
    caplog.handler.removeFilter(hear)
    serving.stop()
    thread.join(10)
    assert not thread.is_alive()


def _is_refused(serving: RunningReceiver) -> bool:
    try:
        connect(serving).close()
    except (ConnectionRefusedError, ConnectionResetError):
        return True
    return False


def test_an_address_for_people_is_complete() -> None:
    assert RunningReceiver("127.0.0.1", 8080, lambda: None).url == "http://127.0.0.1:8080/"
    assert RunningReceiver("::1", 8080, lambda: None).url == "http://[::1]:8080/"


def test_a_sender_that_goes_away_with_a_second_request_begun_is_counted_once(
    clock: Clock, body: Body, signed: Signed, serve_app: Serve
) -> None:
    journal, payload = SlowJournal(), body()
    serving = serve_app(app(journal, SECRET, mode="test", clock=clock))

    def in_flight() -> bytes:
        with connect(serving) as peer:
            peer.sendall(b"GET /metrics HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n")
            said = b"".join(iter(lambda: peer.recv(65536), b""))
        return said.rpartition(b"kusanya_requests_in_flight ")[2].split(b"\n")[0]

    asked = request(payload, signed(payload))
    with connect(serving) as peer:
        peer.sendall(asked + asked[:30])
        promise = journal.submitted.get(timeout=10)
    # Whoever connects after it left is answered after its leaving was noticed.
    assert [in_flight() for _ in range(3)] == [b"1.0"] * 3
    promise.set_result(DeliveryReceipt(delivery_id="dlv_1", verdict=Verdict.VERIFIED, seq=1))
    while (found := in_flight()) == b"1.0":
        pass
    assert found == b"0.0"
