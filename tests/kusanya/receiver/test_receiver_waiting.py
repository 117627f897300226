"""A receiver that is started while its database is away: alive, not ready, and then at work."""

import http.client
import threading
from collections.abc import Callable

import pytest
from tests.kusanya.receiver.peers import SignHeaders

from kusanya.alarms.gauges import UnreadableStore
from kusanya.clock import Clock
from kusanya.errors import StoreAway, StoreTooNew
from kusanya.receiver import app
from kusanya.receiver.asgi import Receiver
from kusanya.receiver.endpoints import Endpoints
from kusanya.receiver.serve import RunningReceiver, serve
from kusanya.receiver.waiting import WaitingReceiver
from kusanya.store import Store
from kusanya.wire import Mode

SECRET = "whsec_" + "a" * 32

Body = Callable[..., bytes]
Serve = Callable[..., RunningReceiver]


class Turns:
    """Lets a pause pass when the test says so; notes how long each would have been."""

    def __init__(self) -> None:
        self.seen: list[float] = []
        self._go = threading.Semaphore(0)
        self._waits = threading.Semaphore(0)

    def __call__(self, stopping: threading.Event, pause: float) -> bool:
        """Wait for the test's word, or the receiver's end."""
        self.seen.append(pause)
        self._waits.release()
        while not self._go.acquire(timeout=0.05):
            if stopping.is_set():
                return True
        return False

    def reached(self) -> None:
        """Return once the receiver waits."""
        assert self._waits.acquire(timeout=60)

    def go_on(self) -> None:
        """Let it try again."""
        self._go.release()


def ask(
    serving: RunningReceiver,
    method: str,
    path: str,
    body: bytes = b"",
    headers: list[tuple[bytes, bytes]] | None = None,
) -> tuple[int, str]:
    connection = http.client.HTTPConnection(serving.host, serving.port, timeout=30)
    given = {name.decode(): value.decode() for name, value in headers or ()}
    connection.request(method, path, body, given)
    answer = connection.getresponse()
    found = answer.status, answer.read().decode()
    connection.close()
    return found


def test_it_lives_is_not_ready_refuses_for_now_and_then_works(
    store: Store, clock: Clock, body: Body, sign_headers: SignHeaders, serve_app: Serve
) -> None:
    turns, away = Turns(), [StoreAway("the database does not answer")] * 2
    pending = list(away)

    def make() -> Receiver:
        if pending:
            raise pending.pop()
        opened.set()
        return app(store, SECRET, mode="test", clock=clock)

    opened = threading.Event()
    waiting = WaitingReceiver(make, gauges=UnreadableStore(Mode.TEST), rest=turns)
    serving = serve_app(waiting)
    payload = body()
    turns.reached()
    assert ask(serving, "GET", "/livez") == (200, "ok")
    for page in ("/readyz", "/healthz"):
        assert ask(serving, "GET", page) == (503, "the store cannot be read or written")
    status, metrics = ask(serving, "GET", "/metrics")
    assert (status, 'kusanya_store_readable{mode="test"} 0.0' in metrics) == (200, True)
    assert ask(serving, "POST", "/", payload, sign_headers(payload)) == (
        503,
        "cannot be made durable now",
    )
    assert ask(serving, "PUT", "/")[0] == 405
    turns.go_on()
    turns.reached()
    assert ask(serving, "GET", "/readyz")[0] == 503
    turns.go_on()
    assert opened.wait(60)
    while ask(serving, "GET", "/readyz")[0] != 200:
        pass
    assert ask(serving, "POST", "/", payload, sign_headers(payload))[0] == 200
    assert store.feed.head() > 0
    assert turns.seen == [0.5, 1.0]


def test_secrets_that_were_read_again_meanwhile_hold(
    store: Store, clock: Clock, body: Body, sign_headers: SignHeaders
) -> None:
    turns = Turns()
    pending = [StoreAway("away")]

    def make() -> Receiver:
        if pending:
            raise pending.pop()
        return app(store, "whsec_" + "z" * 32, mode="test", clock=clock)

    waiting = WaitingReceiver(make, rest=turns)
    waiting.start()
    turns.reached()
    waiting.use(Endpoints.of(SECRET, mode="test"))
    turns.go_on()
    waiting._thread.join(60)
    assert waiting._receiver is not None
    waiting.close()
    assert waiting._receiver._handler._endpoints.every == Endpoints.of(SECRET, mode="test").every


@pytest.mark.parametrize("is_open", [True, False], ids=["open", "waiting"])
def test_one_that_drains_is_not_ready_though_its_store_is_open(
    store: Store, clock: Clock, serve_app: Serve, *, is_open: bool
) -> None:
    turns, pending = Turns(), [] if is_open else [StoreAway("away")]

    def make() -> Receiver:
        if pending:
            raise pending.pop()
        return app(store, SECRET, mode="test", clock=clock)

    waiting = WaitingReceiver(make, rest=turns)
    serving = serve_app(waiting)
    if is_open:
        waiting._thread.join(60)
        assert ask(serving, "GET", "/readyz")[0] == 200
        waiting.drain()
    else:
        turns.reached()
        waiting.drain()
        turns.go_on()
        waiting._thread.join(60)
    assert waiting._receiver is not None
    assert ask(serving, "GET", "/readyz") == (503, "about to end: send to another one")


def test_what_waiting_does_not_help_ends_the_program_with_its_reason() -> None:
    errors = [StoreTooNew("a newer version wrote this store"), StoreAway("away")]

    def make() -> Receiver:
        raise errors.pop()

    turns = Turns()
    turns.go_on()
    with pytest.raises(StoreTooNew, match="newer version"):
        serve(WaitingReceiver(make, rest=turns), drain_s=600)


def test_it_ends_at_once_while_it_waits(serve_app: Serve) -> None:
    def make() -> Receiver:
        raise StoreAway("away")

    turns = Turns()
    waiting = WaitingReceiver(make, rest=turns)
    serving = serve_app(waiting)
    turns.reached()
    assert ask(serving, "GET", "/metrics")[0] == 405, "metrics were turned off"
    serving.stop()
    waiting._thread.join(60)
    assert not waiting._thread.is_alive()
    assert turns.seen == [0.5]
