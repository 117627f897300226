"""Whom a request came from when our own proxies stand in between: X-Forwarded-For.

Anybody may send the header, and each proxy appends the address that it saw. So it is read from its
end, only where the connection is one of our proxies', and only back to the first address that is
not: what stands before that is the sender's own claim.
"""

from collections.abc import Sequence
from functools import lru_cache
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network

from kusanya.errors import ConfigurationError


def origin_of(peer: str, lines: Sequence[bytes], trusted: tuple[str, ...]) -> str:
    """Return the address of who sent a request over a connection from `peer`.

    `lines` are the values of the header in their order, `trusted` the networks of our proxies. An
    entry that is no address ends the reading: the last address known is returned.
    """
    found = peer
    if not is_in(found, trusted):
        return found
    for entry in reversed(b",".join(lines).split(b",") if lines else ()):
        address = _address(entry.strip())
        if address is None:
            return found
        found = address
        if not is_in(found, trusted):
            return found
    return found


def is_in(address: str, networks: tuple[str, ...]) -> bool:
    """Return whether an address belongs to one of the networks."""
    return bool(networks) and _is_in(address, networks)


@lru_cache(maxsize=16)
def check_networks(texts: tuple[str, ...]) -> tuple[IPv4Network | IPv6Network, ...]:
    """Return networks such as 10.0.0.0/8; raises ConfigurationError for a text that is none."""
    try:
        return tuple(ip_network(text) for text in texts)
    except ValueError as error:
        raise ConfigurationError(f"a trusted proxy is a network as 10.0.0.0/8: {error}") from None


@lru_cache(maxsize=1024)
def _is_in(text: str, networks: tuple[str, ...]) -> bool:
    found = _parsed(text)
    return found is not None and any(found in network for network in check_networks(networks))


def _address(entry: bytes) -> str | None:
    """Return the address of one entry in its usual spelling; some proxies add a port."""
    text = entry.decode("ascii", errors="replace")
    if text.startswith("["):
        text = text[1:].partition("]")[0]
    elif text.count(":") == 1:
        text = text.partition(":")[0]
    found = _parsed(text)
    return None if found is None else str(found)


def _parsed(text: str) -> IPv4Address | IPv6Address | None:
    if "%" in text:
        return None  # a zone of another machine means nothing here
    try:
        found = ip_address(text)
    except ValueError:
        return None
    return getattr(found, "ipv4_mapped", None) or found
