"""Sending on an event loop: httpx's request and answer over aiohttp's connections.

httpx's own asynchronous pool spends most of a request on assigning connections, and the more the
longer its queue; this transport does not. Its mapping of errors takes a connection that broke for
one that was never made, so what has left is asked of the connector itself.
"""

import asyncio
import os
import ssl
from contextvars import ContextVar
from typing import Any, Final

import aiohttp
import httpx
from httpx_aiohttp import AiohttpTransport

from kusanya.client.address import Address
from kusanya.client.effects import Failure, Reply, Request, Response
from kusanya.client.headers import fixed_headers, headers_of, trusted_roots
from kusanya.forks import ForkAware
from kusanya.limits import ANSWER_MAX_BYTES
from kusanya.secret import Secret


class _Progress:
    """How far one sending has come."""

    __slots__ = ("connected",)

    def __init__(self) -> None:
        self.connected = False


_progress: ContextVar[_Progress] = ContextVar("_progress")


_abandoned: Final[list[AiohttpTransport]] = []
"""What belongs to a parent's event loop, and is neither used nor closed here."""


class _Connector(aiohttp.TCPConnector):
    """Tells when a request has been given a connection; from then on bytes may have left.

    In a forked child it takes itself for closed: closing it there would take the connections from
    the parent's event loop, which both share in the kernel.
    """

    def __init__(self, *, tls: ssl.SSLContext) -> None:
        super().__init__(ssl=tls, limit=100, keepalive_timeout=5.0)
        self._process = os.getpid()

    @property
    def closed(self) -> bool:
        """Tell whether its connections are none of ours."""
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

    def __init__(self, address: Address, api_key: Secret) -> None:
        self._url = httpx.URL(address.url)
        self._prefix = address.prefix
        self._fixed = fixed_headers(address, api_key)
        # Without TLS an empty context keeps the transport from reading certificates.
        self._tls = (
            trusted_roots()
            if address.scheme == "https"
            else ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        )
        self._transport = AiohttpTransport(verify=self._tls, client=self._session)
        super().__init__()

    def after_fork_in_child(self) -> None:
        """Leave the connections and their event loop to the parent."""
        _abandoned.append(self._transport)
        self._transport = AiohttpTransport(verify=self._tls, client=self._session)

    def _session(self) -> aiohttp.ClientSession:
        return aiohttp.ClientSession(
            connector=_Connector(tls=self._tls),
            cookie_jar=aiohttp.DummyCookieJar(),
            trust_env=False,
        )

    async def send(self, request: Request, within_s: float) -> Reply:
        """Send once; every part of it ends within `within_s` seconds."""
        progress = _Progress()
        _progress.set(progress)
        asked = httpx.Request(
            request.method,
            self._url.copy_with(raw_path=(self._prefix + request.path).encode()),
            headers=headers_of(request, self._fixed),
            content=request.body,
        )
        try:
            async with asyncio.timeout(within_s):
                answer = await self._transport.handle_async_request(asked)
                try:
                    body, complete = await _read(answer)
                finally:
                    await answer.aclose()
        except (httpx.TimeoutException, TimeoutError):
            return Failure(left=progress.connected, why="no answer in time")
        except (httpx.TransportError, aiohttp.ClientError, OSError):
            # The library's own sentences can quote what it read.
            why = (
                "the answer was cut short or is not HTTP" if progress.connected else "no connection"
            )
            return Failure(left=progress.connected, why=why)
        return Response(
            status=answer.status_code,
            headers=tuple(answer.headers.raw),
            body=body,
            complete=complete,
        )

    async def aclose(self) -> None:
        """Close every connection."""
        await self._transport.aclose()


async def _read(answer: httpx.Response) -> tuple[bytes, bool]:
    body = bytearray()
    stream = answer.stream  # not aiter_bytes(), which would inflate
    if not isinstance(stream, httpx.AsyncByteStream):
        raise TypeError("an asynchronous transport answers with an asynchronous stream")
    async for chunk in stream:
        body += chunk
        if len(body) > ANSWER_MAX_BYTES:
            return b"", False
    return bytes(body), True
