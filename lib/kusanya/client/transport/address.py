"""Where requests go and with which key: checked once, when a client is built."""

import ipaddress
from urllib.parse import urlsplit

import msgspec

from kusanya.errors import ConfigurationError
from kusanya.privacy.secret import Secret
from kusanya.wire import Mode, mode_of_key

_PORTS = {"http": 80, "https": 443}


class Address(msgspec.Struct, frozen=True, kw_only=True):
    """A base address in its parts; `prefix` is its path without the last slash."""

    scheme: str
    host: str
    port: int
    prefix: str

    @property
    def authority(self) -> str:
        """Return host and port as the Host header writes them."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == _PORTS[self.scheme] else f"{host}:{self.port}"

    @property
    def url(self) -> str:
        """Return the whole address without a last slash."""
        return f"{self.scheme}://{self.authority}{self.prefix}"


def address_of(base_url: str) -> Address:
    """Take `base_url` apart.

    Raises ConfigurationError where it is not a plain http or https address, and where it is http
    without being this machine: the key would cross the network readable.
    """
    if not isinstance(base_url, str):
        raise ConfigurationError(f"base_url is a str, not {type(base_url).__name__}")
    try:
        parts = urlsplit(base_url)
        host, port = parts.hostname, parts.port
    except ValueError as error:
        raise ConfigurationError("base_url is not an address") from error
    if parts.scheme not in _PORTS or not host or not base_url.isascii():
        raise ConfigurationError("base_url is https:// and an ASCII host name")
    if parts.username or parts.password or parts.query or parts.fragment:
        raise ConfigurationError("base_url has no user, password, query or fragment")
    if any(character <= " " for character in base_url):
        raise ConfigurationError("base_url holds no white space")
    if parts.scheme == "http" and not _is_loopback(host):
        raise ConfigurationError("base_url is https://, except on this machine")
    return Address(
        scheme=parts.scheme,
        host=host,
        port=_PORTS[parts.scheme] if port is None else port,
        prefix=parts.path.rstrip("/"),
    )


def mode_of(api_key: Secret, *, expected: Mode | str | None, prefix: str | None) -> Mode | None:
    """Return the mode of the key, or `expected` where the key's form does not say.

    Raises ConfigurationError where they differ, where the key does not begin with `prefix`, and
    where it could not be a header's value. The message never holds the key.
    """
    text = api_key.reveal()
    if not text.isascii() or not text.isprintable() or " " in text:
        raise ConfigurationError("an API key is printable ASCII without spaces")
    try:
        wanted = None if expected is None else Mode(expected)
    except ValueError as error:
        raise ConfigurationError(str(error)) from None
    found = mode_of_key(text, prefix=prefix)
    if found is None and prefix is not None:
        raise ConfigurationError(f"the API key has not the form {prefix}_<test|live>_sk_...")
    if found is not None and wanted is not None and found is not wanted:
        raise ConfigurationError(
            f"this is a {found.value} key and the profile is for {wanted.value} mode"
        )
    return found or wanted


def _is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
