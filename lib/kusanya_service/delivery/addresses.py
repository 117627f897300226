"""Which addresses may be connected to: our own table, judged on numbers, never on spellings.

The standard library's `is_global` and `is_private` differ between Python versions and let several
ways to internal networks pass, so they are not asked. Source: Delivery rules 6.
"""

import ipaddress
from typing import Final

_V4_REFUSED: Final = tuple(
    ipaddress.IPv4Network(network)
    for network in (
        "0.0.0.0/8",  # this network
        "10.0.0.0/8",  # private
        "100.64.0.0/10",  # shared by carriers
        "127.0.0.0/8",  # loopback
        "168.63.129.16/32",  # a cloud's own services
        "169.254.0.0/16",  # link local, and the metadata of clouds
        "172.16.0.0/12",  # private
        "192.0.0.0/24",  # protocol assignments
        "192.0.2.0/24",  # documentation
        "192.31.196.0/24",  # AS112
        "192.52.193.0/24",  # AMT
        "192.88.99.0/24",  # 6to4 relays
        "192.168.0.0/16",  # private
        "192.175.48.0/24",  # AS112
        "198.18.0.0/15",  # benchmarks
        "198.51.100.0/24",  # documentation
        "203.0.113.0/24",  # documentation
        "224.0.0.0/4",  # multicast
        "240.0.0.0/4",  # reserved, and broadcast
    )
)
_V6_ALLOWED: Final = ipaddress.IPv6Network("2000::/3")
_V6_REFUSED: Final = tuple(
    ipaddress.IPv6Network(network)
    for network in (
        "2001::/23",  # protocol assignments, Teredo among them
        "2001:db8::/32",  # documentation
        "2002::/16",  # 6to4 carries an IPv4 address
        "2620:4f:8000::/48",  # AS112
        "3fff::/20",  # documentation
    )
)
_V4_MAPPED: Final = ipaddress.IPv6Network("::ffff:0:0/96")

Address = ipaddress.IPv4Address | ipaddress.IPv6Address


def parse_numeric(text: str) -> Address | None:
    """Return the address that a strict numeric spelling means, or None; zone ids are refused."""
    if "%" in text:
        return None
    try:
        return ipaddress.ip_address(text)
    except ValueError:
        return None


def unmapped(address: Address) -> Address:
    """Return the IPv4 address inside an IPv4-mapped one, and any other unchanged."""
    if isinstance(address, ipaddress.IPv6Address) and address in _V4_MAPPED:
        return ipaddress.IPv4Address(int(address) & 0xFFFF_FFFF)
    return address


def is_public(address: Address) -> bool:
    """Tell whether an address may be connected to from the service."""
    address = unmapped(address)
    if isinstance(address, ipaddress.IPv4Address):
        return not any(address in network for network in _V4_REFUSED)
    if address.scope_id is not None or address not in _V6_ALLOWED:
        return False
    return not any(address in network for network in _V6_REFUSED)
