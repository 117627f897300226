"""Deliveries as the service sends them, and a receiver on loopback to send them to."""

import json
import queue
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime
from typing import Any

import pytest

from kusanya.clock import Clock, ManualClock
from kusanya.receiver.asgi import Receiver
from kusanya.receiver.protocol import ConnectionLimits
from kusanya.receiver.serve import Serving, serve
from kusanya.webhooks import sign

NOON = datetime(2026, 3, 2, 12, tzinfo=UTC)
SECRET = "whsec_" + "a" * 32

Body = Callable[..., bytes]
Headers = list[tuple[bytes, bytes]]
Signed = Callable[..., Headers]
Serve = Callable[..., Serving]


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
def signed() -> Signed:
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
def _running(application: Receiver, limits: ConnectionLimits) -> Iterator[Serving]:
    ready: queue.Queue[Serving | BaseException] = queue.Queue()

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

        def start(application: Receiver, limits: ConnectionLimits | None = None) -> Serving:
            return stack.enter_context(_running(application, limits or ConnectionLimits()))

        yield start
