"""Sending that blocks, over httpcore's connections, each call within its deadline."""

from collections.abc import Callable
from functools import partial
from typing import Any
from urllib.parse import unquote, urlsplit

import httpcore

from kusanya.client.effects import Failure, Reply, Request, Response
from kusanya.client.transport.connection import (
    CONNECTIONS,
    CUT_SHORT,
    IDLE_S,
    Connection,
    headers_of,
)
from kusanya.domain.limits import ANSWER_MAX_BYTES
from kusanya.platform.deadline import CallDeadline, DeadlineBackend
from kusanya.platform.forks import ForkAware


class BlockingTransport(ForkAware):
    """A pool of connections to one address; a forked child makes its own."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._fixed = connection.fixed_headers()
        self._tls = connection.tls()
        self._begin_anew()
        super().__init__()

    def _begin_anew(self) -> None:
        self._deadline = CallDeadline()
        made: Callable[..., httpcore.ConnectionPool] = httpcore.ConnectionPool
        if self._connection.proxy is not None:
            made = partial(httpcore.HTTPProxy, **_proxy(self._connection.proxy))
        self._pool = made(
            ssl_context=self._tls,
            max_connections=CONNECTIONS,
            max_keepalive_connections=20,
            keepalive_expiry=IDLE_S,
            network_backend=DeadlineBackend(self._deadline),
        )

    def after_fork_in_child(self) -> None:
        """Leave the connections to the parent: one of them could bring another's answer."""
        self._begin_anew()

    def send(self, request: Request, within_s: float) -> Reply:
        """Send once; every part of it ends within `within_s` seconds."""
        self._deadline.start(within_s)
        address = self._connection.address
        try:
            answer = self._pool.handle_request(
                httpcore.Request(
                    request.method,
                    httpcore.URL(
                        scheme=address.scheme.encode(),
                        host=address.host.encode(),
                        port=address.port,
                        target=(address.prefix + request.path).encode(),
                    ),
                    headers=headers_of(request, self._fixed),
                    content=request.body or b"",
                    extensions={"timeout": {"pool": within_s}},
                )
            )
            try:
                body, complete = _read(answer)
            finally:
                answer.close()
        except httpcore.ProxyError:
            return Failure(left=False, why="the proxy refused the connection")
        except (
            httpcore.NetworkError,
            httpcore.TimeoutException,
            httpcore.RemoteProtocolError,
        ) as error:
            return Failure(left=self._deadline.bytes_sent, why=_why(error))
        return Response(
            status=answer.status, headers=tuple(answer.headers), body=body, complete=complete
        )

    def close(self) -> None:
        """Close every connection."""
        self._pool.close()


def _proxy(address: str) -> dict[str, Any]:
    parts = urlsplit(address)
    url = httpcore.URL(
        scheme=b"http", host=parts.hostname or "", port=parts.port or 80, target=b"/"
    )
    named = None
    if parts.username is not None:
        named = (unquote(parts.username), unquote(parts.password or ""))
    return {"proxy_url": url, "proxy_auth": named}


def _why(error: Exception) -> str:
    # The parser quotes what it read; the other sentences are our own backend's.
    if isinstance(error, httpcore.RemoteProtocolError):
        return CUT_SHORT
    return str(error) or "no connection was free in time"


def _read(answer: httpcore.Response) -> tuple[bytes, bool]:
    body = bytearray()
    for chunk in answer.iter_stream():
        body += chunk
        if len(body) > ANSWER_MAX_BYTES:
            return b"", False
    return bytes(body), True
