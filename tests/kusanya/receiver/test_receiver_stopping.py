"""The receiver as a process: its address, its signals, its end, its secrets read again."""

import http.client
import logging
import queue
import signal
import socket
import subprocess
import sys
import threading
import time
from datetime import UTC, datetime
from pathlib import Path

import pytest
from tests.kusanya.receiver.peers import (
    SECRET,
    Body,
    SignHeaders,
    closed_by_the_other_side,
    connect,
    read_answer,
    request,
)
from tests.kusanya.receiver.slow_journal import SlowJournal

from kusanya.clock import Clock
from kusanya.errors import ConfigurationError
from kusanya.platform.http_limits import AddressRefused, PortTaken
from kusanya.receiver import app
from kusanya.receiver.endpoints import Endpoints
from kusanya.receiver.serve import RunningReceiver, serve
from kusanya.store import Store
from kusanya.store.records import DeliveryCommit, Verdict
from kusanya.wire import Mode


def test_a_graceful_stop_answers_what_is_in_flight_and_takes_nothing_new(
    clock: Clock, body: Body, sign_headers: SignHeaders
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
        peer.sendall(request(payload, sign_headers(payload)))
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
        future.set_result(DeliveryCommit(delivery_id="dlv_1", verdict=Verdict.VERIFIED, seq=1))
        assert read_answer(peer) == b"200 OK"
    thread.join(10)
    assert not thread.is_alive()


def test_a_taken_port_and_a_foreign_address_are_one_clear_error(store: Store) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        with pytest.raises(PortTaken, match=f"port {port} on 127.0.0.1 is taken"):
            serve(app(store, SECRET, mode="test"), port=port)
    # An address of the documentation range is no machine's own.
    with pytest.raises(AddressRefused, match=r"203\.0\.113\.7"):
        serve(app(store, SECRET, mode="test"), host="203.0.113.7")
    for port in (-1, 70_000):
        with pytest.raises(AddressRefused, match="0 to 65535"):
            serve(app(store, SECRET, mode="test"), port=port)
    with pytest.raises(ConfigurationError):
        app(store, [])


PROGRAM = """
import sys
from kusanya.receiver import app
from kusanya.receiver.serve import serve
from kusanya.store import Store
def ready(serving): print(serving.url, flush=True)
with Store.open(sys.argv[1]) as store:
    serve(app(store, sys.argv[2], mode="test"), on_ready=ready)
print("stopped", flush=True)
"""


@pytest.mark.merge
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT], ids=["TERM", "INT"])
def test_a_signal_stops_the_receiver_with_everything_acknowledged_kept(
    tmp_path: Path, body: Body, sign_headers: SignHeaders, number: signal.Signals
) -> None:
    command = [sys.executable, "-c", PROGRAM, str(tmp_path / "s.db"), SECRET]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        host, _, port = (
            process.stdout.readline().strip().strip("/").rpartition("/")[2].partition(":")
        )
        payload = body()
        headers = sign_headers(payload, at=datetime.now(UTC))
        connection = http.client.HTTPConnection(host, int(port), timeout=10)
        connection.request("POST", "/", payload, {n.decode(): v.decode() for n, v in headers})
        assert connection.getresponse().status == 200
        process.send_signal(number)
        assert process.stdout.read() == "stopped\n"
        assert process.wait(20) == 0
        connection.close()
    with Store.open(tmp_path / "s.db") as store:
        assert [row.event_id for row in store.deliveries.page(Mode.TEST).rows] == ["evt_1"]


def test_a_drained_receiver_acknowledges_what_comes_until_it_gets_a_second_signal(
    clock: Clock, body: Body, sign_headers: SignHeaders
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
        peer.sendall(request(payload, sign_headers(payload)))
        future = journal.submitted.get(timeout=10)
        late.sendall(request(payload, sign_headers(payload)))
        last = journal.submitted.get(timeout=10)
        future.set_result(DeliveryCommit(delivery_id="dlv_1", verdict=Verdict.VERIFIED, seq=1))
        assert read_answer(peer) == b"200 OK"
        assert closed_by_the_other_side(peer)
        # Told again it does not wait for the end of the drain; what it has read is acknowledged.
        serving.stop()
        while thread.is_alive() and not _is_refused(serving):
            pass
        last.set_result(DeliveryCommit(delivery_id="dlv_2", verdict=Verdict.REPEAT, seq=2))
        assert read_answer(late) == b"200 OK"
    thread.join(10)
    assert not thread.is_alive()


def test_secrets_are_read_again_without_losing_a_delivery(
    clock: Clock, body: Body, sign_headers: SignHeaders, caplog: pytest.LogCaptureFixture
) -> None:
    journal, ready, payload = SlowJournal(), queue.Queue[RunningReceiver](), body()
    held: list[str | ConfigurationError] = ["whsec_new", ConfigurationError("the file is empty")]
    log_lines: queue.Queue[str] = queue.Queue()

    def keep(line: logging.LogRecord) -> bool:
        log_lines.put(line.getMessage())
        return True

    caplog.handler.addFilter(keep)
    caplog.set_level(logging.INFO, "kusanya.receiver")

    def reread() -> Endpoints:
        found = held.pop(0)
        if isinstance(found, ConfigurationError):
            raise found
        return Endpoints.of(found, mode="test")

    receiver = app(journal, "whsec_old", mode="test", clock=clock)
    thread = threading.Thread(
        target=serve, args=(receiver,), kwargs={"reread": reread, "on_ready": ready.put}
    )
    thread.start()
    serving = ready.get(timeout=10)

    def logged() -> str:
        while not (line := log_lines.get(timeout=10)).startswith("the secrets"):
            pass
        return line

    with connect(serving) as old, connect(serving) as new:
        old.sendall(request(payload, sign_headers(payload, secret="whsec_old")))
        under_way = journal.submitted.get(timeout=10)
        serving.hang_up()
        assert logged() == "the secrets were read again"
        under_way.set_result(DeliveryCommit(delivery_id="dlv_1", verdict=Verdict.VERIFIED, seq=1))
        assert read_answer(old) == b"200 OK"
        for number, answer in ((2, b"200 OK"), (3, b"200 OK")):
            new.sendall(request(payload, sign_headers(payload, secret="whsec_new")))
            future = journal.submitted.get(timeout=10)
            future.set_result(
                DeliveryCommit(delivery_id="dlv", verdict=Verdict.VERIFIED, seq=number)
            )
            assert read_answer(new) == answer
            if held:
                serving.hang_up()
                assert logged() == "the secrets stay as they were"
        old.sendall(request(payload, sign_headers(payload, secret="whsec_old")))
        last = journal.submitted.get(timeout=10)
        last.set_result(DeliveryCommit(delivery_id="dlv", verdict=Verdict.REJECTED, seq=4))
        assert read_answer(old) == b"400 Bad Request"
    caplog.handler.removeFilter(keep)
    serving.stop()
    thread.join(10)
    assert not thread.is_alive()


def _is_refused(serving: RunningReceiver) -> bool:
    try:
        connect(serving).close()
    except (ConnectionRefusedError, ConnectionResetError):
        return True
    return False
