"""An endpoint's address, taken apart once; what it leads to is judged elsewhere.

Source: Delivery rules 6; live endpoints use https.
"""

import re
from typing import Final
from urllib.parse import SplitResult, quote, urlsplit

import msgspec

from kusanya.wire import Mode
from kusanya_service.errors import ApiError

URL_MAX_LENGTH: Final = 2_048
_HOST_MAX_LENGTH: Final = 253
_LABEL_MAX_LENGTH: Final = 63
_PORTS: Final = {"http": 80, "https": 443}
_UNPRINTABLE: Final = re.compile(r"[\x00-\x20\x7f\\]")
_HOST: Final = re.compile(r"[a-z0-9._\-]+|[0-9a-f:.]+")


class EndpointUrl(msgspec.Struct, frozen=True, kw_only=True):
    """Where a delivery goes: the parts that the HTTP request is made of."""

    scheme: str
    host: str
    """ASCII, an IPv6 address without its brackets."""
    port: int
    path: str
    """Path and query, percent-encoded."""

    @property
    def authority(self) -> str:
        """Return the value of the Host header."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == _PORTS[self.scheme] else f"{host}:{self.port}"


def parse_url(url: str, mode: str) -> EndpointUrl:
    """Take an endpoint's URL apart; raises ApiError 422 for one that no delivery goes to."""
    if len(url) > URL_MAX_LENGTH or _UNPRINTABLE.search(url):
        raise _refused(f"the url has at most {URL_MAX_LENGTH} characters, none of them blank")
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        raise _refused("the url cannot be read") from None
    if mode == Mode.LIVE and parts.scheme != "https":
        raise _refused("a live endpoint uses https")
    if parts.scheme not in _PORTS:
        raise _refused("the url begins with https:// or http://")
    if "@" in parts.netloc:
        raise _refused("the url carries no user name or password")
    if parts.fragment or url.endswith("#"):
        raise _refused("the url has no fragment")
    if port == 0:
        raise _refused("the url names no port 0")
    return EndpointUrl(
        scheme=parts.scheme,
        host=_host(parts),
        port=port or _PORTS[parts.scheme],
        path=_path(parts),
    )


def _host(parts: SplitResult) -> str:
    host = parts.hostname or ""
    if "%" in host:
        raise _refused("the host of the url has no zone or escape")
    if not host.isascii():
        try:
            host = host.encode("idna").decode("ascii")
        except UnicodeError:
            raise _refused("the host of the url is no host name") from None
    host = host.lower()
    labels = host.removesuffix(".").split(".")
    if (
        len(host) > _HOST_MAX_LENGTH
        or not _HOST.fullmatch(host)
        or not all(0 < len(label) <= _LABEL_MAX_LENGTH for label in labels)
    ):
        raise _refused("the host of the url is no host name")
    return host


def _path(parts: SplitResult) -> str:
    path = quote(parts.path or "/", safe="/%:@!$&'()*+,;=~-._")
    query = quote(parts.query, safe="/?%:@!$&'()*+,;=~-._")
    return f"{path}?{query}" if query else path


def _refused(message: str) -> ApiError:
    return ApiError(422, "invalid_request", message, param="url")
