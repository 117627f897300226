"""Sending requests: what both transports share, and the blocking one.

The only place where the API key leaves its Secret.
"""

import ssl
from collections.abc import Callable
from functools import partial
from importlib.metadata import version
from typing import Any, Final
from urllib.parse import unquote, urlsplit

import httpcore
import msgspec

from kusanya.client.address import Address
from kusanya.client.deadline import CallDeadline, DeadlineBackend
from kusanya.client.effects import Failure, Reply, Request, Response
from kusanya.errors import ConfigurationError
from kusanya.limits import ANSWER_MAX_BYTES
from kusanya.platform.forks import ForkAware
from kusanya.secret import Secret

CONNECTIONS: Final = 100
IDLE_S: Final = 5.0
"""How long a connection that nobody uses is kept."""
CUT_SHORT: Final = "the answer was cut short or is not HTTP"

Headers = list[tuple[bytes, bytes]]


class Connection(msgspec.Struct, frozen=True, kw_only=True):
    """Where a transport connects to, and how. Its repr shows neither key nor proxy."""

    address: Address
    api_key: Secret
    verify: ssl.SSLContext | str | None = None
    cert: str | tuple[str, ...] | None = None
    proxy: str | None = None

    def __post_init__(self) -> None:
        if isinstance(self.verify, bool):
            raise ConfigurationError(
                "verify is an ssl.SSLContext or the path of a CA file; certificates are always "
                "checked"
            )
        if self.proxy is not None:
            parts = urlsplit(self.proxy)
            if parts.scheme != "http" or not parts.hostname:
                raise ConfigurationError("proxy is http:// and a host, with user and password")

    def __repr__(self) -> str:
        return f"Connection({self.address.url})"

    def fixed_headers(self) -> Headers:
        """Return what every request carries.

        Compression is declined: a small answer could otherwise grow a thousandfold in memory.
        """
        return [
            (b"Host", self.address.authority.encode()),
            (b"Authorization", b"Bearer " + self.api_key.reveal().encode()),
            (b"Accept", b"application/json"),
            (b"Accept-Encoding", b"identity"),
            (b"User-Agent", f"kusanya/{version('kusanya')}".encode()),
        ]

    def tls(self) -> ssl.SSLContext | None:
        """Return the TLS settings, None for http: certifi's roots, whatever the environment names.

        Raises ConfigurationError where a file of certificates cannot be read.
        """
        if self.address.scheme != "https":
            return None
        try:
            if isinstance(self.verify, ssl.SSLContext):
                context = self.verify
            elif self.verify is not None:
                context = ssl.create_default_context(cafile=self.verify)
            else:
                from httpx import create_ssl_context  # it loads much that http does not need

                context = create_ssl_context(trust_env=False)
            if self.cert is not None:
                files = (self.cert,) if isinstance(self.cert, str) else self.cert
                context.load_cert_chain(*files)
        except OSError as error:
            raise ConfigurationError(
                f"verify or cert: no certificates can be read from it ({error.strerror})"
            ) from error
        return context


def headers_of(request: Request, fixed: Headers) -> Headers:
    """Return the headers of `request`, in the order in which they are sent."""
    headers = list(fixed)
    if request.body is not None:
        headers.append((b"Content-Type", b"application/json"))
        headers.append((b"Content-Length", str(len(request.body)).encode()))
    if request.idempotency_key is not None:
        headers.append((b"Idempotency-Key", request.idempotency_key.encode()))
    return headers


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
