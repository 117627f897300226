"""Where a transport connects to and what every request carries: what both transports share.

The only place where the API key leaves its Secret.
"""

import ssl
from importlib.metadata import version
from os import PathLike
from typing import Any, Final
from urllib.parse import urlsplit

import msgspec

from kusanya.client.effects import Request
from kusanya.client.transport.address import Address
from kusanya.errors import ConfigurationError
from kusanya.privacy.secret import Secret

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
        if not (isinstance(self.verify, ssl.SSLContext | None) or _is_path(self.verify)):
            raise ConfigurationError(
                "verify is an ssl.SSLContext or the path of a CA file; certificates are always "
                "checked"
            )
        if not (self.cert is None or all(map(_is_path, self._cert_files()))):
            raise ConfigurationError("cert is the path of a certificate, or its and that of a key")
        if self.proxy is not None and not _is_proxy(self.proxy):
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
                context.load_cert_chain(*self._cert_files())
        except OSError as error:
            raise ConfigurationError(
                f"verify or cert: no certificates can be read from it ({error.strerror})"
            ) from error
        return context

    def _cert_files(self) -> tuple[Any, ...]:
        return self.cert if isinstance(self.cert, tuple) and self.cert else (self.cert,)


def _is_path(value: object) -> bool:
    """Return whether a value can name a file; an empty text is a setting that was left out."""
    return isinstance(value, PathLike) or (isinstance(value, str) and value != "")


def _is_proxy(proxy: object) -> bool:
    if not isinstance(proxy, str):
        return False
    parts = urlsplit(proxy)
    return parts.scheme == "http" and bool(parts.hostname)


def headers_of(request: Request, fixed: Headers) -> Headers:
    """Return the headers of `request`, in the order in which they are sent."""
    headers = list(fixed)
    if request.body is not None:
        headers.append((b"Content-Type", b"application/json"))
        headers.append((b"Content-Length", str(len(request.body)).encode()))
    if request.idempotency_key is not None:
        headers.append((b"Idempotency-Key", request.idempotency_key.encode()))
    return headers
