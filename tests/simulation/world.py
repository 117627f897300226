"""One merchant, one service and five endpoints in one process, in virtual time.

Real: the service with its dispatcher and storage, the client with its intents, the receiver, the
store. Simulated: time (each side's wall clock may be stepped), chance, the wire in both directions,
what lies behind the other endpoints, and every crash. All that crosses a wire is recorded.
"""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random
from typing import Any, Final

import msgspec
from tests.simulation.records import Attempt, Post, Record

from kusanya.client import AsyncClient
from kusanya.client.effects import Failure, Reply, Request, Response
from kusanya.receiver import app as receiver_app
from kusanya.receiver.endpoints import EndpointSecrets
from kusanya.store import Store
from kusanya.wire import Mode
from kusanya_service.asgi import ABORT
from kusanya_service.delivery.http_sender import Exchange, SignedRequest, signature_of
from kusanya_service.options import Options
from kusanya_service.service import Service

START: Final = datetime(2026, 3, 2, 12, tzinfo=UTC)
_START_MS: Final = int(START.timestamp() * 1000)
_PUBLIC: Final = "93.184.216.34"
MIX: Final = {"succeeded": 7, "insufficient_funds": 2, "user_cancelled": 1, "expired": 1}


class SenderDied(BaseException):
    """The service dies with an attempt in flight: nothing in it may catch that and go on."""


class Rates(msgspec.Struct, kw_only=True):
    """How often the wire misbehaves in one run; each is drawn anew, and many are 0."""

    request_lost: float = 0.0
    answer_lost: float = 0.0
    request_doubled: float = 0.0
    not_connected: float = 0.0
    delivery_lost: float = 0.0
    delivery_unanswered: float = 0.0
    delivery_doubled: float = 0.0
    delivery_late: float = 0.0
    delivery_damaged: float = 0.0

    @classmethod
    def drawn(cls, chance: Random) -> "Rates":
        """Return the rates of a run."""
        return cls(
            **{name: chance.choice((0.0, 0.0, 0.02, 0.1, 0.3)) for name in cls.__struct_fields__}
        )


class MerchantClock:
    """The merchant's clock: it runs with the world, and somebody may have set it wrong."""

    def __init__(self, world: "World") -> None:
        self._world = world
        self.skew_ms = 0

    def now(self) -> datetime:
        """Return what the merchant's wall shows."""
        passed = self._world.now_ms - _START_MS + self.skew_ms
        return START + timedelta(milliseconds=passed)

    def monotonic(self) -> float:
        """Return the seconds that truly passed."""
        return (self._world.now_ms - _START_MS) / 1000

    def sleep(self, seconds: float) -> None:
        """Never called: nobody blocks here."""
        raise AssertionError(f"somebody blocks for {seconds} s")

    async def asleep(self, seconds: float) -> None:
        """Let the world go on."""
        await self._world.pass_by(seconds)


Handler = Callable[[bytes, list[tuple[bytes, bytes]]], Awaitable[int | None]]
"""Takes body and headers; returns the status, or None for no answer in time."""


class World:
    """Everything, and its time."""

    def __init__(self, folder: Path, seed: int) -> None:
        self._folder = folder
        self._seed = seed
        self.now_ms = _START_MS
        self.service_skew_ms = 0
        self.clock = MerchantClock(self)
        self.rates = Rates()
        self.wire = Random(f"{seed} wire")  # noqa: S311 - a repeatable choice
        self.record = Record()
        self.handlers: dict[str, Handler] = {}
        """What lies behind each endpoint, by its host."""
        self.receiver_is_up = True
        self.late: list[tuple[int, str, bytes, list[tuple[bytes, bytes]]]] = []
        self.kill_sender_after: int | None = None
        """So many attempts from now the service dies."""
        self.resending = False
        self._secrets: dict[str, list[tuple[str, Mode]]] = {}
        self._one_at_a_time = asyncio.Lock()
        self.service: Service | None = None
        self._died = False

    # The service

    async def start_service(self) -> None:
        """Start it, on what earlier runs left."""

        async def resolve(_host: str, _port: int) -> list[str]:
            return [_PUBLIC]

        service = Service(
            Options(
                data=self._folder / "service",
                clock="virtual",
                seed=self._seed,
                starts_at=START,
                mix=MIX,
                resolve=resolve,
            )
        )
        self.access = await service.start()
        clock: Any = service.parts.clock
        clock.now_ms = lambda: clock.monotonic_ms() + self.service_skew_ms
        clock.move_to(self.now_ms)
        dispatcher: Any = service.parts.runner._dispatcher
        dispatcher._sender = self
        self.service = service
        self._died = False

    async def stop_service(self) -> None:
        """Stop it; time goes on without it."""
        if self.service is not None:
            await self.service.stop()
            self.service = None

    async def pass_by(self, seconds: float) -> None:
        """Let time pass, with everything that is due in it."""
        await self.pass_until(self.now_ms + round(seconds * 1000))

    async def pass_until(self, at_ms: int) -> None:
        """Let time pass up to an instant; what the wire held back arrives in it."""
        for due, host, body, headers in sorted(self.late, key=lambda item: item[0]):
            if due <= at_ms:
                self.late.remove((due, host, body, headers))
                await self._run_to(due)
                await self.handed(host, body, headers)
        await self._run_to(at_ms)

    async def _run_to(self, at_ms: int) -> None:
        seconds = max(0, at_ms - self.now_ms) / 1000
        if self.service is None:
            self.now_ms = max(self.now_ms, at_ms)
            return
        with contextlib.suppress(SenderDied):
            await self.service.parts.runner.advance(seconds)
        if await self._restarted():
            await self._run_to(at_ms)
        self.now_ms = max(self.now_ms, at_ms)

    async def _restarted(self) -> bool:
        """Start the service again if it died; tell whether it had."""
        if not self._died or self.service is None:
            return False
        self.now_ms = max(self.now_ms, self.service.parts.clock.monotonic_ms())
        self.record.died(self.now_ms)
        await self.stop_service()
        await self.start_service()
        return True

    async def ask(
        self, method: str, path: str, body: bytes | None, headers: dict[str, str]
    ) -> tuple[int, list[tuple[bytes, bytes]], bytes] | None:
        """Send one HTTP request to the service's application; None for a cut connection."""
        assert self.service is not None
        answered: list[Any] = []
        cut: list[bool] = []

        async def receive() -> dict[str, Any]:
            return {"type": "http.request", "body": body or b""}

        async def send(message: Any) -> None:
            answered.append(message)

        path, _, query = path.partition("?")
        scope = {
            "type": "http",
            "method": method,
            "path": path,
            "raw_path": path.encode(),
            "query_string": query.encode(),
            "headers": [(name.lower().encode(), value.encode()) for name, value in headers.items()],
            "extensions": {ABORT: {"cut": lambda: cut.append(True)}},
        }
        with contextlib.suppress(SenderDied):
            await self.service.app(scope, receive, send)
        self.now_ms = max(self.now_ms, self.service.parts.clock.monotonic_ms())
        if await self._restarted() or cut or not answered:
            return None
        return (
            answered[0]["status"],
            list(answered[0]["headers"]),
            b"".join(message.get("body", b"") for message in answered[1:]),
        )

    async def dashboard(self, method: str, path: str, body: object = None) -> Any:
        """Use the dashboard and return its JSON."""
        encoded = None if body is None else msgspec.json.encode(body)
        headers = {
            "authorization": f"Bearer {self.access.dashboard_token.reveal()}",
            "content-type": "application/json",
        }
        found = await self.ask(method, f"/dashboard/{path}", encoded, headers)
        if found is None:
            return None
        assert found[0] < 500
        return msgspec.json.decode(found[2]) if found[2] else None

    async def v1(
        self, mode: Mode, method: str, path: str, body: bytes | None = None, key: str | None = None
    ) -> tuple[int, list[tuple[bytes, bytes]], bytes] | None:
        """Send a request to /v1, and record what a POST was answered."""
        secret = self.access.live_key if mode is Mode.LIVE else self.access.test_key
        headers = {"authorization": f"Bearer {secret.reveal()}", "content-type": "application/json"}
        if key is not None:
            headers["idempotency-key"] = key
        at_ms = self.now_ms
        found = await self.ask(method, path, body, headers)
        if method == "POST" and key is not None:
            self.record.posts.append(Post.of(at_ms, mode, key, body or b"", found))
        return found

    # The merchant's client

    def client(self, mode: Mode) -> AsyncClient:
        """Return a client whose wire is ours."""
        chance = Random(f"{self._seed} client {self.now_ms}")  # noqa: S311 - repeatable

        async def carry(request: Request, _within_s: float) -> Reply:
            return await self._carry_request(mode, request)

        key = self.access.live_key if mode is Mode.LIVE else self.access.test_key
        return AsyncClient(
            key,
            base_url="https://service.example",
            mode=mode,
            clock=self.clock,
            random=chance.random,
            max_attempts=3,
            transport=carry,
        )

    async def _carry_request(self, mode: Mode, request: Request) -> Reply:
        rates, key = self.rates, request.idempotency_key
        if key is not None:
            self.record.leaves(self, mode, key, request.body or b"")
        if self.service is None or self.wire.random() < rates.not_connected:
            return Failure(left=False, why="no connection")
        if self.wire.random() < rates.request_lost:
            await self.pass_by(30)
            return Failure(left=True, why="no answer in time")
        found = await self.v1(mode, request.method, request.path, request.body, key)
        if self.wire.random() < rates.request_doubled:
            found = await self.v1(mode, request.method, request.path, request.body, key)
        if self.wire.random() < rates.answer_lost:
            await self.pass_by(30)
            return Failure(left=True, why="no answer in time")
        if found is None:
            return Failure(left=True, why="the connection was cut")
        status, headers, body = found
        return Response(status=status, headers=tuple(headers), body=body)

    # The merchant's receiver

    def open_store(self) -> None:
        """Open the merchant's store, and a receiver on it."""
        self.store = Store.open(self._folder / "store.db", clock=self.clock, batch_wait_s=0.0)
        self._make_receiver()

    def _make_receiver(self) -> None:
        named = [
            EndpointSecrets(host, secrets[0][1], [secret for secret, _ in secrets])
            for host, secrets in self._secrets.items()
        ]
        if named:
            self._receiver = receiver_app(
                self.store, named, clock=self.clock, resolve_intents=False
            )

    def knows_secret(self, host: str, secret: str, mode: Mode) -> None:
        """Tell the receiver a secret; older ones stay."""
        self._secrets.setdefault(host, []).append((secret, mode))
        self._make_receiver()

    async def receive(self, body: bytes, headers: list[tuple[bytes, bytes]]) -> int | None:
        """Hand a delivery to the merchant's receiver, the real one."""
        if not self.receiver_is_up:
            return None
        statuses: list[int] = []

        async def incoming() -> dict[str, Any]:
            return {"type": "http.request", "body": body}

        async def send(message: Any) -> None:
            if message["type"] == "http.response.start":
                statuses.append(message["status"])

        scope = {"type": "http", "method": "POST", "path": "/webhooks", "headers": headers}
        await self._receiver(scope, incoming, send)
        [status] = statuses
        if 200 <= status < 300:
            self.record.acknowledged.append(body)
        return status

    # The wire from the service to the endpoints, in place of the HTTP sender

    async def send(self, endpoint: Any, request: SignedRequest, _change: object) -> Exchange:
        """Make one attempt: what the sender does, without a socket."""
        async with self._one_at_a_time:
            return await self._send_delivery(endpoint, request)

    async def _send_delivery(self, endpoint: Any, request: SignedRequest) -> Exchange:
        if self._died or self.service is None:
            raise SenderDied
        host = endpoint.url.split("/")[2]
        header = signature_of(request).encode()
        attempt = Attempt(
            at_ms=self.service.parts.clock.monotonic_ms(),
            wall_ms=self.service.parts.clock.now_ms(),
            host=host,
            body=request.body,
            header=header,
            manual=self.resending,
        )
        self.now_ms = max(self.now_ms, attempt.at_ms)
        self.record.attempts.append(attempt)
        status = await self._on_the_wire(host, request.body, header)
        if self.kill_sender_after is not None:
            self.kill_sender_after -= 1
            if self.kill_sender_after <= 0:
                self.kill_sender_after, self._died = None, True
                raise SenderDied
        attempt.status = status
        if status is None:
            return Exchange(outcome="timeout", error="no answer in time", duration_ms=10_000)
        if attempt.delivered:
            return Exchange(outcome="succeeded", status_code=status)
        return Exchange(outcome="bad_status", status_code=status, error=f"answered {status}")

    async def _on_the_wire(self, host: str, body: bytes, header: bytes) -> int | None:
        rates = self.rates
        headers = [(b"content-type", b"application/json"), (b"service-signature", header)]
        if self.wire.random() < rates.delivery_lost:
            return None
        if self.wire.random() < rates.delivery_late:
            # It leaves the wire hours later, when nobody waits for its answer any more.
            due = self.now_ms + self.wire.randrange(1, 6 * 3_600_000)
            self.late.append((due, host, body, headers))
            return None
        if self.wire.random() < rates.delivery_damaged:
            at = self.wire.randrange(len(body))
            body = body[:at] + bytes([body[at] ^ 1]) + body[at + 1 :]
        status = await self.handed(host, body, headers)
        if self.wire.random() < rates.delivery_doubled:
            status = await self.handed(host, body, headers)
        return None if self.wire.random() < rates.delivery_unanswered else status

    async def handed(
        self, host: str, body: bytes, headers: list[tuple[bytes, bytes]]
    ) -> int | None:
        """Give a delivery to whatever lies behind a host."""
        return await self.handlers[host](body, headers)

    def reopen_store(self) -> None:
        """Let the merchant's process begin anew on what is on the disk."""
        self.store.close()
        self.open_store()

    async def close(self) -> None:
        """End everything."""
        await self.stop_service()
        self.store.close()
