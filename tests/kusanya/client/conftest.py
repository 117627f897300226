"""What the client's tests share: both drivers, a server that follows a script, time that runs.

The server speaks raw sockets on loopback and keeps the exact bytes of every request. Tests are
written once and run for `Client` and for `AsyncClient`.
"""

import asyncio
import contextlib
import json
import shutil
import socket
import struct
import subprocess
import threading
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Final, Protocol

import pytest

from kusanya.client import AsyncClient, Client
from kusanya.client.effects import Reply, Request

TEST_KEY: Final = "svc_test_sk_4242"
LIVE_KEY: Final = "svc_live_sk_4242"
NOON: Final = datetime(2026, 3, 2, 12, tzinfo=UTC)


class RunningClock:
    """Time that passes only in pauses, at once, and remembers them."""

    def __init__(self) -> None:
        self.pauses: list[float] = []
        self.elapsed_s = 0.0

    def now(self) -> datetime:
        """Return the wall time."""
        return NOON + timedelta(seconds=self.elapsed_s)

    def monotonic(self) -> float:
        """Return the seconds paused so far."""
        return self.elapsed_s

    def sleep(self, seconds: float) -> None:
        """Let the pause pass at once."""
        self.pauses.append(seconds)
        self.elapsed_s += seconds

    async def asleep(self, seconds: float) -> None:
        """Let the pause pass at once."""
        self.sleep(seconds)
        await asyncio.sleep(0)


class Act(Protocol):
    """What the server does once it has read a request; True keeps the connection open."""

    def __call__(self, peer: socket.socket) -> bool:
        """Act."""
        ...


class ScriptedServer:
    """Answers each request with the next act of its script, or with the last one again."""

    def __init__(self) -> None:
        self.script: list[Act] = []
        self.requests: list[bytes] = []
        self.connections = 0
        self.closing = threading.Event()
        self._lock = threading.Lock()
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=64)
        self.port: int = self._listener.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}"
        self._peers: list[socket.socket] = []
        self._threads = [threading.Thread(target=self._accept)]
        self._threads[0].start()

    def answers(self, *acts: Act) -> None:
        """Set the script."""
        self.script = list(acts)

    def _accept(self) -> None:
        while True:
            try:
                peer, _ = self._listener.accept()
            except OSError:
                return
            self.connections += 1
            self._peers.append(peer)
            thread = threading.Thread(target=self._serve, args=(peer,))
            self._threads.append(thread)
            thread.start()

    def _serve(self, peer: socket.socket) -> None:
        with peer, contextlib.suppress(OSError):
            while True:
                request = _read_request(peer)
                if request is None:
                    return
                with self._lock:
                    self.requests.append(request)
                    act = self.script.pop(0) if len(self.script) > 1 else self.script[0]
                if not act(peer):
                    return

    def close(self) -> None:
        """Stop listening, break every connection and wait for every thread."""
        self.closing.set()
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        for peer in self._peers:
            with contextlib.suppress(OSError):
                peer.shutdown(socket.SHUT_RDWR)
        for thread in self._threads:
            thread.join(10)
        assert not any(thread.is_alive() for thread in self._threads)


def _read_request(peer: socket.socket) -> bytes | None:
    read = b""
    while b"\r\n\r\n" not in read:
        more = peer.recv(65536)
        if not more:
            return None
        read += more
    head, _, body = read.partition(b"\r\n\r\n")
    due = 0
    for line in head.split(b"\r\n")[1:]:
        name, _, value = line.partition(b":")
        if name.strip().lower() == b"content-length":
            due = int(value)
    while len(body) < due:
        more = peer.recv(65536)
        if not more:
            return None
        body += more
    return head + b"\r\n\r\n" + body


def answer_bytes(status: int, body: bytes, headers: Mapping[str, str] | None = None) -> bytes:
    lines = [f"HTTP/1.1 {status} Word", "Content-Type: application/json"]
    lines += [f"{name}: {value}" for name, value in (headers or {}).items()]
    lines.append(f"Content-Length: {len(body)}")
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + body


def answer(status: int, body: bytes = b"", headers: Mapping[str, str] | None = None) -> Act:
    """Answer in full and keep the connection."""

    def act(peer: socket.socket) -> bool:
        peer.sendall(answer_bytes(status, body, headers))
        return True

    return act


def raw_answer(payload: bytes) -> Act:
    """Send these bytes, then close."""

    def act(peer: socket.socket) -> bool:
        peer.sendall(payload)
        return False

    return act


def reset() -> Act:
    """Break the connection without a word."""

    def act(peer: socket.socket) -> bool:
        peer.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        return False

    return act


def collection_json(**changed: Any) -> bytes:
    fields: dict[str, Any] = {
        "id": "col_1",
        "object": "collection",
        "status": "created",
        "amount": 5000,
        "fee": 60,
        "currency": "TZS",
        "channel": "MPESA_TZ",
        "phone": "255754000001",
        "reference": "order-1",
        "mode": "test",
        "created_at": "2026-03-02T12:00:00Z",
    }
    fields.update(changed)
    return json.dumps(fields).encode()


class Driver:
    """One of the two clients behind the same blocking face."""

    def __init__(self, kind: str, runner: asyncio.Runner | None) -> None:
        self.kind = kind
        self._runner = runner
        self._clients: list[Client | AsyncClient] = []

    def client(
        self,
        base_url: str = "http://127.0.0.1:9",
        *,
        api_key: str = TEST_KEY,
        transport: Callable[[Request, float], Reply] | None = None,
        **options: Any,
    ) -> Any:
        """Return a client whose methods block, whichever driver is behind them."""
        options.setdefault("clock", RunningClock())
        options.setdefault("random", lambda: 1.0)
        made: Client | AsyncClient
        if self._runner is None:
            made = Client(api_key, base_url=base_url, transport=transport, **options)
        else:
            later = None if transport is None else _later(transport)
            made = AsyncClient(api_key, base_url=base_url, transport=later, **options)
        self._clients.append(made)
        return made if self._runner is None else _Blocking(made, self._runner)

    def close(self) -> None:
        """Close every client that was made."""
        for made in self._clients:
            if isinstance(made, Client):
                made.close()
            elif self._runner is not None:
                self._runner.run(made.aclose())


class _Blocking:
    """An asynchronous client, each call run to its end."""

    def __init__(self, client: Client | AsyncClient, runner: asyncio.Runner) -> None:
        self._client = client
        self._runner = runner

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._client, name)
        if not asyncio.iscoroutinefunction(found):
            return found
        return lambda *args, **kwargs: self._runner.run(found(*args, **kwargs))


def _later(transport: Callable[[Request, float], Reply]) -> Callable[[Request, float], Any]:
    async def send(request: Request, within_s: float) -> Reply:
        return transport(request, within_s)

    return send


@pytest.fixture(params=["blocking", "asynchronous"])
def driver(request: pytest.FixtureRequest) -> Iterator[Driver]:
    """Return one of the two clients; every test that asks for it runs for both."""
    if request.param == "blocking":
        made = Driver(request.param, None)
        yield made
        made.close()
        return
    with asyncio.Runner() as runner:
        made = Driver(request.param, runner)
        yield made
        made.close()


@pytest.fixture
def server() -> Iterator[ScriptedServer]:
    made = ScriptedServer()
    yield made
    made.close()


@pytest.fixture
def wire() -> SimpleNamespace:
    """Return the script's vocabulary, for test files that import nothing from here."""
    return SimpleNamespace(
        answer=answer,
        raw=raw_answer,
        reset=reset,
        bytes=answer_bytes,
        collection=collection_json,
        clock=RunningClock,
        server=ScriptedServer,
        test_key=TEST_KEY,
        live_key=LIVE_KEY,
    )


@pytest.fixture
def self_signed(tmp_path: Path) -> Path:
    """Make a certificate for 127.0.0.1 that nobody vouches for."""
    openssl = shutil.which("openssl")
    if openssl is None:
        pytest.skip("there is no openssl command to make a certificate with")
    made = tmp_path / "pem"
    command = f"{openssl} req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes"
    command += " -days 2 -subj /CN=127.0.0.1 -addext subjectAltName=IP:127.0.0.1"
    command += f" -keyout {made} -out {tmp_path / 'cert'}"
    subprocess.run(command.split(), check=True, capture_output=True)
    made.write_bytes(made.read_bytes() + (tmp_path / "cert").read_bytes())
    return made
