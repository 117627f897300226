"""What a request costs: ours beside stock httpx, the transport we stand on, and bare streams.

CPU microseconds of the client's process per GET, against one small server in a process of its own;
and what it adds to a create to be durable first.
"""

import asyncio
import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from itertools import count
from pathlib import Path
from typing import Any, Final

import aiohttp
import httpx
import msgspec
import uvloop
from harness import Measure, Row, interleaved

from kusanya import orders
from kusanya.client import AsyncClient, Client
from kusanya.client.effects import Reply, Request, Response
from kusanya.intents import create_safely
from kusanya.store import Store
from kusanya.store.records import Note
from kusanya.wire import Mode, decode_collection

KEY: Final = "svc_test_sk_4242"
PATH: Final = "/v1/collections/col_1"
BODY: Final = json.dumps(
    {
        "id": "col_1",
        "object": "collection",
        "status": "succeeded",
        "amount": 5000,
        "fee": 60,
        "currency": "TZS",
        "channel": "MPESA_TZ",
        "phone": "255754000001",
        "reference": "order-1",
        "mode": "test",
        "created_at": "2026-03-02T12:00:00Z",
        "completed_at": "2026-03-02T12:00:15Z",
    }
).encode()
ANSWER: Final = (
    b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: "
    + str(len(BODY)).encode()
    + b"\r\n\r\n"
    + BODY
)
REQUESTS: Final = 1_500
Call = Callable[[], Awaitable[object]]


class AnsweringServer(asyncio.Protocol):
    """Answers every head that ends in an empty line."""

    transport: asyncio.Transport

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keep the transport."""
        self.transport = transport  # type: ignore[assignment]  # uvloop's has no common base

    def data_received(self, data: bytes) -> None:
        """Answer."""
        self.transport.write(ANSWER * data.count(b"\r\n\r\n"))


async def serve() -> None:
    """Answer until the parent closes our input."""
    loop = asyncio.get_running_loop()
    server = await loop.create_server(AnsweringServer, "127.0.0.1", 0)
    sys.stdout.write(f"{server.sockets[0].getsockname()[1]}\n")
    sys.stdout.flush()
    await loop.run_in_executor(None, sys.stdin.read)


class Streams:
    """A pool of bare connections that does the least there is to do."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._free: list[tuple[asyncio.StreamReader, asyncio.StreamWriter]] = []
        self._asked = (
            f"GET {PATH} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n"
            f"Authorization: Bearer {KEY}\r\nAccept: application/json\r\n\r\n"
        ).encode()

    async def get(self) -> object:
        """Ask and decode."""
        if self._free:
            reader, writer = self._free.pop()
        else:
            reader, writer = await asyncio.open_connection("127.0.0.1", self._port)
        writer.write(self._asked)
        await reader.readuntil(b"\r\n\r\n")
        body = await reader.readexactly(len(BODY))
        self._free.append((reader, writer))
        return decode_collection(body)

    def close(self) -> None:
        """Close every connection."""
        for _, writer in self._free:
            writer.close()


def cost(runner: asyncio.Runner, call: Call, *, at_once: int) -> Measure:
    """Return a measure of one contestant."""

    async def once() -> float:
        left = iter(range(REQUESTS))

        async def worker() -> None:
            for _ in left:
                await call()

        began = time.process_time()
        await asyncio.gather(*(worker() for _ in range(at_once)))
        return (time.process_time() - began) / REQUESTS * 1e6

    return lambda: runner.run(once())


def measure() -> list[Row]:
    """Return the rows of this room."""
    with subprocess.Popen(
        [sys.executable, __file__], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as server:
        assert server.stdout is not None
        assert server.stdin is not None
        port = int(server.stdout.readline())
        with asyncio.Runner() as runner:
            rows = _rows(runner, port)
        server.stdin.close()
    return [*rows, *_durable()]


def _durable() -> list[Row]:
    """Compare a create that is durable first with a plain one and a single commit, and `pay`."""
    made = count(1)

    def network(request: Request, _within_s: float) -> Reply:
        asked = msgspec.json.decode(request.body or b"")
        body = {**json.loads(BODY), **asked, "status": "created", "id": f"col_{next(made)}"}
        return Response(status=202, headers=(), body=msgspec.json.encode(body))

    with tempfile.TemporaryDirectory() as folder, Store.open(Path(folder) / "s.sqlite") as store:
        client = Client(KEY, base_url="http://127.0.0.1:9", transport=network)
        numbers = count(1)

        def order() -> dict[str, Any]:
            number = next(numbers)
            # Of a phone that pays all day `pay` would read the payments, and hold the next back.
            phone = f"0754{number:06}"
            return {"amount": 1, "phone": phone, "reference": f"order-{number}"}

        def pay() -> None:
            asked = order()
            orders.pay(store, client, asked.pop("reference"), **asked)

        def commit() -> None:
            client.create_collection(**order())
            store.notes.add("col_1", Note("text"), author="bench", mode=Mode.TEST)

        found = interleaved(
            {
                "safe": milliseconds(lambda: create_safely(store, client, **order())),
                "commit": milliseconds(commit),
                "pay": milliseconds(pay),
            }
        )
    return [
        Row(
            what="create_safely, SQLite, network apart",
            unit="ms",
            ours=found["safe"],
            against="plain create and one commit",
            theirs=found["commit"],
            goal=1.0,
            better="lower",
        ),
        Row(
            what="orders.pay of a new order, SQLite, network apart",
            unit="ms",
            ours=found["pay"],
            against="create_safely",
            theirs=found["safe"],
            goal=0.91,
            better="lower",
        ),
    ]


def milliseconds(act: Callable[[], object]) -> Measure:
    """Return a measure of the wall time of `act`, the median of many."""

    def once() -> float:
        times = []
        for _ in range(100):
            began = time.perf_counter()
            act()
            times.append((time.perf_counter() - began) * 1e3)
        return statistics.median(times)

    return once


async def _session(stack: AsyncExitStack, headers: dict[str, str]) -> aiohttp.ClientSession:
    return await stack.enter_async_context(aiohttp.ClientSession(headers=headers))


async def _get(session: aiohttp.ClientSession, url: str) -> bytes:
    async with session.get(url) as answer:
        return await answer.read()


def _rows(runner: asyncio.Runner, port: int) -> list[Row]:
    url = f"http://127.0.0.1:{port}"
    headers = {"Authorization": f"Bearer {KEY}"}
    stack = AsyncExitStack()
    ours = AsyncClient(KEY, base_url=url)
    stock = httpx.AsyncClient(headers=headers)
    for client in (ours, stock):
        runner.run(stack.enter_async_context(client))
    stands_on = runner.run(_session(stack, headers))
    streams = Streams(port)
    calls: dict[str, Call] = {
        "ours": lambda: ours.get_collection("col_1"),
        "httpx.AsyncClient": lambda: stock.get(url + PATH),
        "aiohttp": lambda: _get(stands_on, url + PATH),
        "bare streams (limit)": streams.get,
    }
    rows = []
    for at_once, against_httpx in ((1, 2.0), (32, 5.0)):
        found = interleaved(
            {name: cost(runner, call, at_once=at_once) for name, call in calls.items()}
        )
        goals = {
            "httpx.AsyncClient": against_httpx,
            "aiohttp": 1 / 1.25,
            "bare streams (limit)": 0.0,  # shown, no goal
        }
        rows += [
            Row(
                what=f"AsyncClient, {at_once} at once",
                unit="CPU us",
                ours=found["ours"],
                against=name,
                theirs=found[name],
                goal=goal,
                better="lower",
            )
            for name, goal in goals.items()
        ]
    streams.close()
    runner.run(stack.aclose())
    return rows


if __name__ == "__main__":
    uvloop.run(serve())
