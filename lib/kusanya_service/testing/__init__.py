"""For merchants' own tests: the whole service on a free port, its time in the test's hand.

    from kusanya_service.testing import PaymentService


    def test_an_order_that_was_not_paid(payment_service: PaymentService) -> None:
        payment_service.script("255754123456", "insufficient_funds")
        order = {"amount": 5000, "phone": "255754123456", "reference": "order-1"}
        created = payment_service.create(order).json
        payment_service.advance(20)
        [delivery] = payment_service.deliveries
        assert delivery.event["type"] == "collection.failed"
        assert delivery.event["data"]["id"] == created["id"]

The fixture gives a `PaymentService`, without an import where this package is installed: create
through HTTP as in production, `script` what a phone does, `advance` the virtual clock, look at
`deliveries`, or let the merchant's own program have them:

    app = receiver.app(
        store, [payment_service.signing_secret], mode=Mode.TEST, clock=payment_service.clock
    )
    payment_service.deliver_to(app)

Whatever is given `payment_service.clock` lives in the service's time: a receiver accepts what was
signed after an hour of virtual time. Nothing else of this project is needed.

Under Hypothesis each example wants a service of its own, which a fixture cannot give: the body of
such a test begins with `with fresh_service() as payment_service:`.
"""

import asyncio
import http.client
import json
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit
from uuid import uuid4

import msgspec
import pytest

from kusanya.clock import Clock, SystemClock
from kusanya_service.asgi import App
from kusanya_service.loops import new_event_loop
from kusanya_service.options import Options
from kusanya_service.server import RunningService, serve
from kusanya_service.simulation.clock import RunningClock, ServiceClock, from_ms
from kusanya_service.simulation.faults import FaultKind, FaultRule, InjectedFault
from kusanya_service.testing.capturing_endpoint import CapturedDelivery, CapturingEndpoint, Reply
from kusanya_service.testing.forwarding import AppServer, Forwarder, WsgiServer, serve_app

if TYPE_CHECKING:
    from wsgiref.types import WSGIApplication

__all__ = [
    "Answer",
    "CapturedDelivery",
    "FaultKind",
    "FaultRule",
    "FollowingClock",
    "InjectedFault",
    "PaymentService",
    "Reply",
    "fresh_service",
    "payment_service",
    "running_service",
]

_START_WITHIN_S: Final = 30.0
_ANSWER_WITHIN_S: Final = 60.0


class Answer(msgspec.Struct, frozen=True, kw_only=True):
    """An HTTP answer: `headers` by lower-case name, `body` exact."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        """Return the body as decoded JSON."""
        return json.loads(self.body)


class FollowingClock(SystemClock):
    """The virtual time of a running service; it moves when the service's does.

    Waiting on it waits in real time, because nobody knows when it moves; durations are real too.
    """

    def __init__(self, clock: ServiceClock) -> None:
        self._clock = clock

    def now(self) -> datetime:
        """Return where the service's time stands."""
        return from_ms(self._clock.now_ms())


class PaymentService:
    """A running service, seen from a test."""

    def __init__(self, running: RunningService, endpoint: CapturingEndpoint | None = None) -> None:
        info = running.info.reveal()
        self._running = running
        self._endpoint = endpoint
        self._apps: list[AppServer | WsgiServer] = []
        clock = running.service.parts.clock
        self.clock: Final[Clock] = (
            clock.source if isinstance(clock, RunningClock) else FollowingClock(clock)
        )
        """The service's time, for a store, a receiver and a client to share."""
        self.base_url: Final = info["base_url"]
        self.dashboard_url: Final = info["dashboard_url"]
        self.dashboard_token: Final = info["dashboard_token"]
        self.test_key: Final = info["test_key"]
        self.live_key: Final = info["live_key"]
        self.signing_secret = ""
        """The capturing endpoint's, for verifying what arrives; the newest after a rotation."""
        self._endpoint_id = ""
        if endpoint is not None:
            made = self.dashboard("POST", "endpoints", {"url": endpoint.url, "mode": "test"})
            self.signing_secret, self._endpoint_id = made["secret"], made["id"]

    @property
    def endpoint(self) -> CapturingEndpoint:
        """Return the endpoint that captures the test mode's deliveries."""
        if self._endpoint is None:
            raise LookupError("this service was started without a capturing endpoint")
        return self._endpoint

    @property
    def deliveries(self) -> list[CapturedDelivery]:
        """Return every delivery that arrived so far, in order."""
        return list(self.endpoint.deliveries)

    def request(
        self,
        method: str,
        path: str,
        body: object = None,
        *,
        key: str | None = None,
        headers: dict[str, str] | None = None,
    ) -> Answer:
        """Send one HTTP request; `body` is bytes or becomes JSON, `key` the bearer."""
        parts = urlsplit(self.base_url)
        connection = http.client.HTTPConnection(
            parts.hostname or "", parts.port or 80, timeout=_ANSWER_WITHIN_S
        )
        sent = {"Content-Type": "application/json"} if body is not None else {}
        if key is not None:
            sent["Authorization"] = f"Bearer {key}"
        encoded = body if body is None or isinstance(body, bytes) else json.dumps(body).encode()
        try:
            connection.request(method, path, encoded, sent | (headers or {}))
            response = connection.getresponse()
            return Answer(
                status=response.status,
                headers={name.lower(): value for name, value in response.getheaders()},
                body=response.read(),
            )
        finally:
            connection.close()

    def create(
        self, body: object, *, idempotency_key: str | None = None, key: str | None = None
    ) -> Answer:
        """Send POST /v1/collections; a fresh idempotency key and the test key by default."""
        return self.request(
            "POST",
            "/v1/collections",
            body,
            key=key or self.test_key,
            headers={"Idempotency-Key": idempotency_key or uuid4().hex},
        )

    def get(self, path: str, *, key: str | None = None) -> Answer:
        """Send GET under /v1, with the test key by default."""
        return self.request("GET", f"/v1/{path}", key=key or self.test_key)

    def dashboard(self, method: str, path: str, body: object = None) -> Any:
        """Use the dashboard and return its JSON; an error becomes an AssertionError."""
        answer = self.request(method, f"/dashboard/{path}", body, key=self.dashboard_token)
        if answer.status >= 400:  # noqa: PLR2004 - where errors begin
            raise AssertionError(f"{method} {path} answered {answer.status}: {answer.json}")
        said: Any = answer.json if answer.body else None
        if path == f"endpoints/{self._endpoint_id}/rotate-secret":
            self.signing_secret = said["secret"]
        return said

    def script(self, phone: str, outcome: str) -> None:
        """Set what a test-mode phone does: succeeded, expired, never or a failure code.

        The number may be written in any usual way. Raises BadOption for what is no phone number or
        no outcome.
        """
        self._running.service.parts.networks.script(phone, outcome)

    def inject(self, *rules: FaultRule) -> None:
        """Let these faults happen from now on, in the place of all earlier ones; none ends them.

        Raises AssertionError for a rule out of bounds, and for more than a hundred.
        """
        self.dashboard("PUT", "faults", {"rules": [msgspec.to_builtins(rule) for rule in rules]})

    @property
    def injected(self) -> tuple[InjectedFault, ...]:
        """Return the faults that happened so far, in order; the last 10,000 of them."""
        said = self.dashboard("GET", "faults/log")["data"]
        return msgspec.convert(said, tuple[InjectedFault, ...])

    def rotate_secret(self) -> str:
        """Give the capturing endpoint a new signing secret and return it.

        For a day and five minutes of the service's time deliveries are signed with the old one too.
        """
        self.dashboard("POST", f"endpoints/{self._endpoint_id}/rotate-secret")
        return self.signing_secret

    def deliver_to(self, target: "App | WSGIApplication | str") -> str:
        """Let a program have every delivery from now on; returns the secret that it verifies with.

        `target` is an ASGI or a WSGI application (FastAPI, Starlette; Django, Flask), which runs on
        threads of its own until the service ends, or the http URL of a program on this machine.
        What it answers is what the service learns; `deliveries` goes on growing. Raises BadOption
        for a URL of another machine.
        """
        endpoint = self.endpoint
        if isinstance(target, str):
            endpoint.reply = Forwarder(target)
        else:
            self._apps.append(serve_app(target))
            endpoint.reply = Forwarder(self._apps[-1].url)
        return self.signing_secret

    def close(self) -> None:
        """Stop the applications that `deliver_to` has started."""
        while self._apps:
            self._apps.pop().close()

    def advance(self, seconds: float) -> None:
        """Move the virtual clock; returns when everything due has happened."""
        self.dashboard("POST", "clock/advance", {"seconds": seconds})


@contextmanager
def running_service(
    options: Options,
    *,
    endpoint: CapturingEndpoint | None = None,
    loop_factory: Callable[[], asyncio.AbstractEventLoop] = new_event_loop,
) -> Iterator[PaymentService]:
    """Run a service on a thread of its own for the length of a with block.

    Raises what the start raised.
    """
    started = threading.Event()
    running: list[RunningService] = []
    errors: list[BaseException] = []

    def ready(service: RunningService) -> None:
        running.append(service)
        started.set()

    def work() -> None:
        try:
            with asyncio.Runner(loop_factory=loop_factory) as runner:
                runner.run(serve(options, ready))
        except BaseException as error:  # noqa: BLE001 - raised again on the caller's thread
            errors.append(error)
        finally:
            started.set()

    thread = threading.Thread(target=work, name="payment-service")
    thread.start()
    try:
        if not started.wait(_START_WITHIN_S):
            raise TimeoutError("the service did not start in time")
        if errors:
            raise errors[0]
        service = PaymentService(running[0], endpoint)
        try:
            yield service
        finally:
            service.close()
    finally:
        if running:
            running[0].stop()
        thread.join()
    if errors:
        raise errors[0]


@contextmanager
def fresh_service() -> Iterator[PaymentService]:
    """Run a service with a virtual clock, an endpoint that captures and a folder of its own.

    What the fixture `payment_service` gives, for tests without pytest.
    """
    endpoint = CapturingEndpoint()
    try:
        with tempfile.TemporaryDirectory() as folder:
            options = Options(
                data=Path(folder), clock="virtual", seed=1, allow_local=(endpoint.place,)
            )
            with running_service(options, endpoint=endpoint) as service:
                yield service
    finally:
        endpoint.close()


@pytest.fixture
def payment_service() -> Iterator[PaymentService]:
    """Yield a fresh service; the same fixture as the plugin's, for tests that import it by name."""
    with fresh_service() as service:
        yield service
