"""The connect hook of every delivery: resolve once, check every address, connect to that number.

Nothing is resolved again between checking and connecting. A name of which any address is refused is
refused whole. Source: Delivery rules 6.
"""

import ipaddress
from collections.abc import Iterable
from typing import Final

import httpcore

from kusanya.wire import Mode
from kusanya_service.delivery.resolver import Resolve
from kusanya_service.delivery.streams import connect

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
SocketAddress = tuple[str, int]
"""A numeric address, or a name where one is allowed, and a port."""


def parse_numeric(text: str) -> Address | None:
    """Return the address that a strict numeric spelling means, or None; zone ids are refused."""
    if "%" in text:
        return None
    try:
        return ipaddress.ip_address(text)
    except ValueError:
        return None


def unmap(address: Address) -> Address:
    """Return the IPv4 address inside an IPv4-mapped one, and any other unchanged."""
    if isinstance(address, ipaddress.IPv6Address) and address in _V4_MAPPED:
        return ipaddress.IPv4Address(int(address) & 0xFFFF_FFFF)
    return address


def is_public(address: Address) -> bool:
    """Return whether an address may be connected to from the service."""
    address = unmap(address)
    if isinstance(address, ipaddress.IPv4Address):
        return not any(address in network for network in _V4_REFUSED)
    if address.scope_id is not None or address not in _V6_ALLOWED:
        return False
    return not any(address in network for network in _V6_REFUSED)


class AddressBlocked(Exception):  # noqa: N818 - reads as the condition it states
    """The host leads to an address that is not connected to; the message names none."""


class HostUnresolved(Exception):  # noqa: N818 - reads as the condition it states
    """The host's name has no address now."""


class AddressPolicy:
    """Which places may be reached: the public ones, and in test mode the exact exceptions."""

    def __init__(self, *, allow_local: Iterable[SocketAddress] = ()) -> None:
        self._exceptions: Final = {_canonical(place) for place in allow_local}
        self._own: set[SocketAddress] = set()

    def refuse(self, own: SocketAddress) -> None:
        """Refuse a place whatever the exceptions say: the service never calls itself."""
        self._own.add(_canonical(own))

    def allows(self, address: Address, port: int, mode: str) -> bool:
        """Return whether a delivery of a mode may connect to an address and port."""
        place = (str(unmap(address)), port)
        return place not in self._own and (is_public(address) or self._is_exempt(place, mode))

    def _is_exempt(self, place: SocketAddress, mode: str) -> bool:
        return mode == Mode.TEST and place in self._exceptions

    async def resolve_public(self, host: str, port: int, mode: str, resolve: Resolve) -> list[str]:
        """Return the addresses of a host; raises Blocked for any bad one, Unresolved for none."""
        literal = parse_numeric(host)
        try:
            spellings = [str(literal)] if literal is not None else await resolve(host, port)
        except OSError as error:
            raise HostUnresolved("the host's name has no address") from error
        if not spellings:
            raise HostUnresolved("the host's name has no address")
        # A name that was allowed leads where the machine's resolver says, but never to ourselves.
        is_named = self._is_exempt((host.lower(), port), mode)
        for spelling in spellings:
            address = parse_numeric(spelling)
            is_allowed = address is not None and (
                self.allows(address, port, mode)
                or (is_named and (str(unmap(address)), port) not in self._own)
            )
            if not is_allowed:
                raise AddressBlocked("the host leads to a private or internal address")
        return spellings


class GuardedNetwork(httpcore.AsyncNetworkBackend):
    """A network that connects only to what the policy allows."""

    def __init__(self, policy: AddressPolicy, mode: str, resolve: Resolve) -> None:
        self._policy = policy
        self._mode = mode
        self._resolve = resolve

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,  # noqa: ASYNC109 - the interface of httpcore
        local_address: str | None = None,  # noqa: ARG002 - the same
        socket_options: Iterable[httpcore.SOCKET_OPTION] | None = None,  # noqa: ARG002 - the same
    ) -> httpcore.AsyncNetworkStream:
        """Connect to the first judged address that answers."""
        addresses = await self._policy.resolve_public(host, port, self._mode, self._resolve)
        refusal: Exception | None = None
        for address in addresses:
            try:
                stream = await connect(address, port, timeout)
            except (httpcore.ConnectError, httpcore.ConnectTimeout) as error:
                refusal = error
                continue
            peer = stream.get_extra_info("server_addr")
            if peer is None:
                await stream.aclose()
                raise httpcore.ReadError("the connection was reset before its peer was known")
            if parse_numeric(str(peer[0])) != parse_numeric(address):
                await stream.aclose()
                raise AddressBlocked("the connection ended at another address than the one judged")
            return stream
        raise refusal or httpcore.ConnectError("no address answered")

    async def connect_unix_socket(
        self,
        path: str,  # noqa: ARG002 - the interface of httpcore, as the two below
        timeout: float | None = None,  # noqa: ARG002, ASYNC109
        socket_options: Iterable[httpcore.SOCKET_OPTION] | None = None,  # noqa: ARG002
    ) -> httpcore.AsyncNetworkStream:
        """Refuse: no delivery goes to a local socket."""
        raise AddressBlocked("a delivery never goes to a local socket")


def _canonical(place: SocketAddress) -> SocketAddress:
    address = parse_numeric(place[0])
    return (place[0].lower() if address is None else str(unmap(address)), place[1])
