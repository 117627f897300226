"""Deliveries as the service sends them, and a receiver on loopback to send them to."""

import asyncio
import json
import queue
import threading
from collections import deque
from collections.abc import Awaitable, Callable, Iterator, MutableMapping
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from shutil import copy
from typing import Any

import pytest
from tests.kusanya.receiver.peers import Headers, SignHeaders

from kusanya.clock import Clock, ManualClock
from kusanya.platform.http_limits import ConnectionLimits
from kusanya.receiver import app
from kusanya.receiver.asgi import Receiver
from kusanya.receiver.serve import RunningReceiver, serve
from kusanya.store import Store
from kusanya.webhooks import sign

NOON = datetime(2026, 3, 2, 12, tzinfo=UTC)
SECRET = "whsec_" + "a" * 32

Body = Callable[..., bytes]
Serve = Callable[..., RunningReceiver]


@pytest.fixture(scope="session")
def body() -> Body:
    """Return a maker of event bodies; `data` changes the collection, other names the event."""

    def make(number: int = 1, data: dict[str, Any] | None = None, **event: Any) -> bytes:
        status = (data or {}).get("status", "succeeded")
        collection = {
            "id": f"col_{number}",
            "object": "collection",
            "status": status,
            "amount": 5000,
            "fee": 50,
            "currency": "TZS",
            "channel": "MPESA_TZ",
            "phone": "255754000001",
            "reference": f"order-{number}",
            "mode": "test",
            "created_at": "2026-03-02T11:59:48Z",
            "completed_at": "2026-03-02T12:00:00Z",
        } | (data or {})
        said = {
            "id": f"evt_{number}",
            "type": f"collection.{status}",
            "created_at": "2026-03-02T12:00:00Z",
            "mode": "test",
            "data": collection,
        } | event
        return json.dumps(said, separators=(",", ":")).encode()

    return make


@pytest.fixture(scope="session")
def sign_headers() -> SignHeaders:
    """Return a maker of request headers over a body, signed at noon unless told otherwise."""

    def make(payload: bytes, *, secret: str = SECRET, at: datetime = NOON) -> Headers:
        value = sign(payload, secret, int(at.timestamp()))
        return [
            (b"host", b"merchant.example"),
            (b"content-type", b"application/json"),
            (b"content-length", str(len(payload)).encode()),
            (b"service-signature", value.encode()),
        ]

    return make


@pytest.fixture
def clock() -> Clock:
    """Return a clock that stands still at noon."""
    return ManualClock(NOON)


@contextmanager
def _running(application: Receiver, limits: ConnectionLimits) -> Iterator[RunningReceiver]:
    ready: queue.Queue[RunningReceiver | BaseException] = queue.Queue()

    def target() -> None:
        try:
            serve(application, connections=limits, on_ready=ready.put)
        except BaseException as error:
            ready.put(error)
            raise

    thread = threading.Thread(target=target, name="receiver under test")
    thread.start()
    found = ready.get(timeout=30)
    if isinstance(found, BaseException):
        raise found
    try:
        yield found
    finally:
        found.stop()
        thread.join(30)
        assert not thread.is_alive()


@pytest.fixture
def serve_app() -> Iterator[Serve]:
    """Return a starter of receivers on loopback; each is stopped when the test ends."""
    with ExitStack() as stack:

        def start(application: Receiver, limits: ConnectionLimits | None = None) -> RunningReceiver:
            return stack.enter_context(_running(application, limits or ConnectionLimits()))

        yield start


@pytest.fixture
def store(tmp_path: Path, clock: Clock, empty_store: Path) -> Iterator[Store]:
    """Return a real store on SQLite."""
    with Store.open(copy(empty_store, tmp_path / "store.db"), clock=clock) as opened:
        yield opened


class Exchange:
    """One request to an ASGI application, and what the application sent back."""

    def __init__(self, messages: list[dict[str, Any]]) -> None:
        self.sent: list[MutableMapping[str, Any]] = []
        self.before_answer: Callable[[], None] = lambda: None
        self._messages = deque(messages)

    async def receive(self) -> dict[str, Any]:
        """Hand over the next message; after the last one, wait as a silent peer does."""
        if not self._messages:
            await asyncio.Event().wait()
        return self._messages.popleft()

    async def send(self, message: MutableMapping[str, Any]) -> None:
        """Take what the application sends."""
        if message["type"] == "http.response.start":
            self.before_answer()
        self.sent.append(message)

    @property
    def status(self) -> int | None:
        """Return the status that was answered, None while there is none."""
        return self.sent[0]["status"] if self.sent else None

    @property
    def text(self) -> str:
        """Return the answer's body."""
        return b"".join(message.get("body", b"") for message in self.sent[1:]).decode()

    @property
    def headers(self) -> dict[str, str]:
        """Return the answer's headers."""
        return {name.decode(): value.decode() for name, value in self.sent[0]["headers"]}


Ask = Callable[..., Awaitable[Exchange]]


@pytest.fixture(scope="session")
def ask() -> Ask:
    """Return a caller that takes an ASGI application, a body and headers."""

    async def call(
        application: Receiver,
        payload: bytes | list[bytes] = b"",
        headers: Headers | None = None,
        *,
        method: str = "POST",
        path: str = "/",
        root_path: str = "",
        ends: str = "complete",
        before_answer: Callable[[], None] = lambda: None,
    ) -> Exchange:
        parts = [payload] if isinstance(payload, bytes) else payload
        messages: list[dict[str, Any]] = [
            {"type": "http.request", "body": part, "more_body": True} for part in parts
        ]
        if ends == "complete":
            messages[-1]["more_body"] = False
        elif ends == "disconnect":
            messages.append({"type": "http.disconnect"})
        exchange = Exchange(messages)
        exchange.before_answer = before_answer
        scope = {
            "type": "http",
            "method": method,
            "path": root_path + path,
            "root_path": root_path,
            "client": ("192.0.2.7", 40_000),
            "headers": headers or [],
        }
        await application(scope, exchange.receive, exchange.send)
        return exchange

    return call


@pytest.fixture
def receiving(store: Store, clock: Clock, serve_app: Serve) -> RunningReceiver:
    """Return a receiver that is accepting connections."""
    return serve_app(app(store, SECRET, mode="test", clock=clock))
