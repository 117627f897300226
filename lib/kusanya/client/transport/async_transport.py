"""Sending on an event loop, over aiohttp's connections.

httpx's own asynchronous pool spends most of a request on assigning connections, and the more the
longer its queue. aiohttp's errors take a connection that broke for one that was never made, so
what has left is asked of the connector itself.
"""

import asyncio
import os
import ssl
from contextvars import ContextVar
from typing import Any, Final

import aiohttp
from yarl import URL

from kusanya.client.effects import Failure, Reply, Request, Response
from kusanya.client.transport.connection import (
    CONNECTIONS,
    CUT_SHORT,
    IDLE_S,
    Connection,
    headers_of,
)
from kusanya.domain.limits import ANSWER_MAX_BYTES
from kusanya.errors import ConfigurationError
from kusanya.platform.forks import ForkAware


class _Progress:
    """How far one sending has come."""

    __slots__ = ("connected",)

    def __init__(self) -> None:
        self.connected = False


_progress: ContextVar[_Progress] = ContextVar("_progress")


_abandoned: Final[list[aiohttp.ClientSession]] = []
"""What belongs to a parent's event loop, and is neither used nor closed here."""


class _Connector(aiohttp.TCPConnector):
    """Notes when a request has been given a connection; from then on bytes may have left.

    In a forked child it takes itself for closed: closing it there would take the connections from
    the parent's event loop, which both share in the kernel.
    """

    def __init__(self, *, tls: ssl.SSLContext | None) -> None:
        super().__init__(
            ssl=True if tls is None else tls, limit=CONNECTIONS, keepalive_timeout=IDLE_S
        )
        self._process = os.getpid()

    @property
    def closed(self) -> bool:
        """Return whether its connections are none of ours."""
        return self._process != os.getpid() or super().closed

    def __del__(self, *args: Any) -> None:
        if self._process == os.getpid():
            super().__del__(*args)

    async def connect(
        self,
        req: Any,
        traces: Any,
        timeout: aiohttp.ClientTimeout,  # noqa: ASYNC109
    ) -> Any:
        connection = await super().connect(req, traces, timeout)
        _progress.get().connected = True
        return connection


class AsyncTransport(ForkAware):
    """Connections to one address, opened at the first request in the loop that made it.

    A forked child opens its own, in its own loop.
    """

    def __init__(self, connection: Connection) -> None:
        self._url = connection.address.url
        self._headers = connection.fixed_headers()
        self._tls = connection.tls()
        self._proxy = None if connection.proxy is None else URL(connection.proxy)
        self._session: aiohttp.ClientSession | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        super().__init__()

    def after_fork_in_child(self) -> None:
        """Leave the connections and their event loop to the parent."""
        if self._session is not None:
            _abandoned.append(self._session)
        self._session = self._loop = None

    def check_loop(self) -> None:
        """Raise ConfigurationError in another event loop than that of the first request."""
        loop = asyncio.get_running_loop()
        if self._loop is None:
            self._loop = loop
        elif self._loop is not loop:
            raise ConfigurationError(
                "this AsyncClient was used in another event loop, which its connections belong to: "
                "make one client in each loop"
            )

    def _open(self) -> aiohttp.ClientSession:
        if self._session is None:
            self._session = aiohttp.ClientSession(
                connector=_Connector(tls=self._tls),
                cookie_jar=aiohttp.DummyCookieJar(),
                trust_env=False,
                auto_decompress=False,
                skip_auto_headers=("User-Agent", "Content-Type", "Accept", "Accept-Encoding"),
                timeout=aiohttp.ClientTimeout(total=None),
            )
        return self._session

    async def send(self, request: Request, within_s: float) -> Reply:
        """Send once; every part of it ends within `within_s` seconds."""
        progress = _Progress()
        _progress.set(progress)
        headers = headers_of(request, self._headers)
        try:
            async with (
                asyncio.timeout(within_s),
                self._open().request(
                    request.method,
                    URL(self._url + request.path, encoded=True),
                    headers=[(name.decode(), value.decode()) for name, value in headers],
                    data=request.body,
                    allow_redirects=False,
                    proxy=self._proxy,
                ) as answer,
            ):
                body, complete = await _read(answer)
        except TimeoutError:
            return Failure(left=progress.connected, why="no answer in time")
        except (aiohttp.ClientError, OSError):
            # The library's own sentences can quote what it read.
            why = CUT_SHORT if progress.connected else "no connection"
            return Failure(left=progress.connected, why=why)
        return Response(
            status=answer.status, headers=tuple(answer.raw_headers), body=body, complete=complete
        )

    async def aclose(self) -> None:
        """Close every connection."""
        if self._session is not None:
            await self._session.close()


async def _read(answer: aiohttp.ClientResponse) -> tuple[bytes, bool]:
    body = bytearray()
    async for chunk in answer.content.iter_any():
        body += chunk
        if len(body) > ANSWER_MAX_BYTES:
            return b"", False
    return bytes(body), True
