"""One POST to an address of the user's, with one deadline for all of it, by any thread.

Neither an answer that drips nor a name that is never resolved holds it longer. It follows no
redirect, and reads no more of an answer than it was asked to. Errors never hold the address, which
may be a secret.
"""

from base64 import b64encode
from typing import Any
from urllib.request import getproxies, proxy_bypass

import httpcore
import httpx
import msgspec

from kusanya.errors import ConfigurationError, NoAnswer
from kusanya.platform.closing import Closing
from kusanya.platform.deadline import CallDeadline, DeadlineBackend

Headers = list[tuple[bytes, bytes]]


class Posted(msgspec.Struct, frozen=True):
    """What the other side answered."""

    status: int
    headers: tuple[tuple[bytes, bytes], ...]
    beginning: bytes
    """Of its body, as much as was asked for."""


class Poster(Closing):
    """Posts to one address, by the proxy that the environment names; threads may share it."""

    def __init__(self, url: str, *, within_s: float) -> None:
        """Raise ConfigurationError for what is no address of http or https."""
        try:
            self._url = httpx.URL(url)
            self._headers = httpx.Request("GET", self._url).headers  # its Host
        except (httpx.InvalidURL, UnicodeError):
            raise ConfigurationError("the address cannot be read") from None
        if self._url.scheme not in {"http", "https"} or not self._url.host:
            raise ConfigurationError("the address is as https://host/path")
        self._bare = str(self._url.copy_with(username=None, password=None))
        if self._url.userinfo:
            named = f"{self._url.username}:{self._url.password}".encode()
            self._headers["Authorization"] = f"Basic {b64encode(named).decode()}"
        self._within_s = within_s
        self._deadline = CallDeadline()
        self._pool = _pool(self._url, self._deadline)

    def post(self, content: bytes, *, headers: Headers, read: int = 0) -> Posted:
        """Post once, and return the answer with the first `read` bytes of its body.

        Raises TimeoutError, ConnectionError where nothing was sent, NoAnswer for any other end.
        """
        self._deadline.start(self._within_s)
        length = (b"Content-Length", str(len(content)).encode())
        try:
            with self._pool.stream(
                "POST",
                self._bare,
                headers=[*self._headers.raw, *headers, length],
                content=content,
            ) as answer:
                beginning = b""
                for part in answer.iter_stream() if read else ():
                    beginning += part
                    if len(beginning) >= read:
                        break
                return Posted(answer.status, tuple(answer.headers), beginning[:read])
        except httpcore.TimeoutException:
            raise TimeoutError(f"no answer within {self._within_s:.0f} s") from None
        except httpcore.ConnectError as error:
            raise ConnectionError(f"no connection: {error}") from None
        except (httpcore.NetworkError, httpcore.ProtocolError, httpcore.ProxyError) as error:
            # Its text may hold the address.
            raise NoAnswer(f"no answer ({type(error).__name__})") from None

    def close(self) -> None:
        """Close every connection."""
        self._pool.close()


def _pool(url: httpx.URL, deadline: CallDeadline) -> httpcore.ConnectionPool:
    """Return connections that end in time, by the proxy that the environment names."""
    bounds: dict[str, Any] = {
        "ssl_context": httpx.create_ssl_context(),
        "network_backend": DeadlineBackend(deadline),
    }
    proxies = getproxies()
    proxy = proxies.get(url.scheme) or proxies.get("all")
    if proxy is None or proxy_bypass(url.host):
        return httpcore.ConnectionPool(**bounds)
    parts = httpx.URL(proxy if "://" in proxy else f"http://{proxy}")
    named = (parts.username, parts.password) if parts.userinfo else None
    bare = str(parts.copy_with(username=None, password=None))
    return httpcore.HTTPProxy(proxy_url=bare, proxy_auth=named, **bounds)
