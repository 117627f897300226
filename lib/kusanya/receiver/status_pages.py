"""What a process answers about itself: does it run, can it work, what has it counted.

The receiver and the watcher answer the same pages: `/livez` for the process, `/readyz` (also called
`/healthz`) for the store, `/metrics` for Prometheus.
"""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any, Final

import msgspec

from kusanya.errors import StoreBusy, StoreDamaged, StoreError, StoreTooNew
from kusanya.receiver.metrics import Gauges

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Application = Callable[[Scope, Receive, Send], Awaitable[None]]
"""An ASGI 3 application."""

TEXT: Final = b"text/plain; charset=utf-8"
Exposition = Callable[[], tuple[bytes, bytes] | None]
"""Body and content type of /metrics; None without prometheus-client."""
_CAUSES: Final = (
    ("disk is full", b"the disk of the store is full"),
    ("No space left", b"the disk of the store is full"),
    ("locked", b"another program holds the store"),
)


class PageAnswer(msgspec.Struct, frozen=True):
    """The answer to a request for one page."""

    status: int
    body: bytes
    content_type: bytes = TEXT


class Pages:
    """The pages of one process.

    `prove_writable` returns when the store can be written and raises StoreError when it cannot; it
    blocks, and is waited for no longer than `wait_s` seconds. Without `exposition` there is no
    /metrics.
    """

    def __init__(
        self,
        prove_writable: Callable[[], None],
        *,
        wait_s: float,
        exposition: Exposition | None,
        gauges: Gauges | None,
    ) -> None:
        self._prove_writable = prove_writable
        self._wait_s = wait_s
        self._exposition = exposition
        self._gauges = gauges
        self._proof: asyncio.Future[None] | None = None
        self._reading: asyncio.Future[None] | None = None
        self.is_draining = False
        """Whether the process is about to end: not ready any more, though it still works."""

    async def answer(self, method: str, path: str) -> PageAnswer | None:
        """Return the page at `path`, or None where there is none."""
        if method not in {"GET", "HEAD"}:
            return None
        if path == "/livez":
            return PageAnswer(200, b"ok")
        if path in {"/readyz", "/healthz"}:
            return await self._readiness()
        if path == "/metrics" and self._exposition is not None:
            return await self._metrics(self._exposition)
        return None

    async def _readiness(self) -> PageAnswer:
        if self.is_draining:
            return PageAnswer(503, b"about to end: send to another one")
        # One question at a time: a store that hangs must not collect a thread per probe.
        loop = asyncio.get_running_loop()
        if self._proof is None or self._proof.done() or self._proof.get_loop() is not loop:
            self._proof = loop.run_in_executor(None, self._prove_writable)
        try:
            await asyncio.wait_for(asyncio.shield(self._proof), self._wait_s)
        except TimeoutError:
            return PageAnswer(503, b"the store does not answer")
        except StoreError as error:
            return PageAnswer(503, _reason(error))
        return PageAnswer(200, b"ok")

    async def _metrics(self, exposition: Exposition) -> PageAnswer:
        if self._gauges is not None:
            await self._refreshed(self._gauges)
        found = exposition()
        if found is None:
            return PageAnswer(404, b"install prometheus-client for metrics")
        return PageAnswer(200, *found)

    async def _refreshed(self, gauges: Gauges) -> None:
        # One reading at a time. A store that hangs leaves what was read last.
        loop = asyncio.get_running_loop()
        if self._reading is None or self._reading.done() or self._reading.get_loop() is not loop:
            self._reading = loop.run_in_executor(None, gauges.refresh)
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(asyncio.shield(self._reading), self._wait_s)


class Monitor:
    """An ASGI 3 application that answers the pages alone; for a process that receives nothing."""

    def __init__(self, pages: Pages) -> None:
        self._pages = pages

    async def __call__(self, scope: Scope, _receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            raise ValueError(f"the pages are read over HTTP, not {scope['type']}")
        page = await self._pages.answer(scope["method"], scope["path"])
        await send_page(send, page or PageAnswer(404, b"there are /livez, /readyz and /metrics"))


async def send_page(send: Send, page: PageAnswer, *headers: tuple[bytes, bytes]) -> None:
    """Send a whole answer: its length, `headers`, and its type where it says something."""
    # New lists each time: middleware may change what it is handed.
    every = [(b"content-length", b"%d" % len(page.body)), *headers]
    if page.body:
        every.append((b"content-type", page.content_type))
    await send({"type": "http.response.start", "status": page.status, "headers": every})
    await send({"type": "http.response.body", "body": page.body})


def _reason(error: StoreError) -> bytes:
    # In words of our own: the error's may name an address, and the port may be public.
    if isinstance(error, StoreTooNew):
        return b"the store is of a newer version than this program"
    if isinstance(error, StoreDamaged):
        return b"the store is damaged"
    if isinstance(error, StoreBusy):
        return b"the store has more to write than it can"
    said = str(error)
    known = (reason for sign, reason in _CAUSES if sign in said)
    return next(known, b"the store cannot be read or written")
