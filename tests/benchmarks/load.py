"""A bounded load on loopback: so many connections, so many requests, then the figures.

Lean on purpose (one protocol object per connection, requests given as bytes), so that the server
under load is what is measured.
"""

import asyncio
import time
from collections.abc import Iterator
from functools import partial
from typing import Any

import msgspec
import uvloop


class LoadResult(msgspec.Struct, frozen=True, kw_only=True):
    """What a load found."""

    per_second: float
    p50_ms: float
    p99_ms: float
    refused: int
    """Answers that were not 2xx."""


class _Caller(asyncio.Protocol):
    def __init__(self, requests: Iterator[bytes], done: "asyncio.Future[None]") -> None:
        self._requests = requests
        self._done = done
        self._left = b""
        self.latencies: list[float] = []
        self.refused = 0

    def connection_made(self, transport: Any) -> None:
        self._transport = transport  # uvloop's is no subclass of asyncio's
        self._next()

    def _next(self) -> None:
        request = next(self._requests, None)
        if request is None:
            self._transport.close()
            return
        self._sent = time.perf_counter()
        self._transport.write(request)

    def data_received(self, data: bytes) -> None:
        self._left += data
        head, separator, body = self._left.partition(b"\r\n\r\n")
        if not separator:
            return
        length = head.lower().partition(b"content-length:")[2].partition(b"\r\n")[0]
        if len(body) < int(length or b"0"):
            return
        self._left = b""
        self.latencies.append(time.perf_counter() - self._sent)
        self.refused += not head.startswith(b"HTTP/1.1 2")
        self._next()

    def connection_lost(self, exc: Exception | None) -> None:
        if not self._done.done():
            self._done.set_result(None)


def _itself(caller: _Caller) -> _Caller:
    return caller


def drive(port: int, requests: list[bytes], *, connections: int) -> LoadResult:
    """Send `requests` over `connections` and return what was found."""

    async def run() -> LoadResult:
        loop = asyncio.get_running_loop()
        shared = iter(requests)
        callers: list[_Caller] = []
        ends = []
        began = time.perf_counter()
        for _ in range(connections):
            done: asyncio.Future[None] = loop.create_future()
            caller = _Caller(shared, done)
            await loop.create_connection(partial(_itself, caller), "127.0.0.1", port)
            callers.append(caller)
            ends.append(done)
        await asyncio.wait_for(asyncio.gather(*ends), 120)
        took = time.perf_counter() - began
        latencies = sorted(one for caller in callers for one in caller.latencies)
        assert len(latencies) == len(requests), "some requests were not answered"
        return LoadResult(
            per_second=len(latencies) / took,
            p50_ms=latencies[len(latencies) // 2] * 1000,
            p99_ms=latencies[int(len(latencies) * 0.99)] * 1000,
            refused=sum(caller.refused for caller in callers),
        )

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        return runner.run(run())


def post(path: str, body: bytes, **headers: str) -> bytes:
    """Return the bytes of one POST."""
    return _request("POST", path, body, headers)


def get(path: str, **headers: str) -> bytes:
    """Return the bytes of one GET."""
    return _request("GET", path, b"", headers)


def _request(method: str, path: str, body: bytes, headers: dict[str, str]) -> bytes:
    given = {"Host": "127.0.0.1", "Content-Type": "application/json"}
    given |= {name.replace("_", "-"): value for name, value in headers.items()}
    if body:
        given["Content-Length"] = str(len(body))
    lines = "".join(f"{name}: {value}\r\n" for name, value in given.items())
    return f"{method} {path} HTTP/1.1\r\n{lines}\r\n".encode() + body
