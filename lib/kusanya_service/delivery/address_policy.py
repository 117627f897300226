"""The connect hook of every delivery: resolve once, judge every address, connect to that number.

Between judging and connecting nothing is looked up again. A name of which any address is refused is
refused whole. Source: Delivery rules 6.
"""

from collections.abc import Iterable
from typing import Final

import httpcore

from kusanya.wire import Mode
from kusanya_service.delivery.addresses import Address, is_public, parse_numeric, unmapped
from kusanya_service.delivery.resolver import Resolve
from kusanya_service.delivery.streams import connect

Place = tuple[str, int]
"""A numeric address and a port."""


class Blocked(Exception):  # noqa: N818 - reads as the condition it states
    """The host leads to an address that is not connected to; the message names none."""


class Unresolved(Exception):  # noqa: N818 - reads as the condition it states
    """The host's name has no address now."""


class Border:
    """Which places may be reached: the public ones, and in test mode the exact exceptions."""

    def __init__(self, *, allow_local: Iterable[Place] = ()) -> None:
        self._exceptions: Final = {_canonical(place) for place in allow_local}
        self._own: set[Place] = set()

    def refuse(self, own: Place) -> None:
        """Refuse a place whatever the exceptions say: the service never calls itself."""
        self._own.add(_canonical(own))

    def lets_through(self, address: Address, port: int, mode: str) -> bool:
        """Tell whether a delivery of a mode may connect to an address and port."""
        place = (str(unmapped(address)), port)
        if place in self._own:
            return False
        return is_public(address) or (mode == Mode.TEST and place in self._exceptions)

    async def judge(self, host: str, port: int, mode: str, resolve: Resolve) -> list[str]:
        """Return the addresses of a host; raises Blocked for any bad one, Unresolved for none."""
        literal = parse_numeric(host)
        try:
            spellings = [str(literal)] if literal is not None else await resolve(host, port)
        except OSError as error:
            raise Unresolved("the host's name has no address") from error
        if not spellings:
            raise Unresolved("the host's name has no address")
        for spelling in spellings:
            address = parse_numeric(spelling)
            if address is None or not self.lets_through(address, port, mode):
                raise Blocked("the host leads to a private or internal address")
        return spellings


class Guard(httpcore.AsyncNetworkBackend):
    """A network that reaches only what the border lets through."""

    def __init__(self, border: Border, mode: str, resolve: Resolve) -> None:
        self._border = border
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
        addresses = await self._border.judge(host, port, self._mode, self._resolve)
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
                raise Blocked("the connection ended at another address than the one judged")
            return stream
        raise refusal or httpcore.ConnectError("no address answered")

    async def connect_unix_socket(
        self,
        path: str,  # noqa: ARG002 - the interface of httpcore, as the two below
        timeout: float | None = None,  # noqa: ARG002, ASYNC109
        socket_options: Iterable[httpcore.SOCKET_OPTION] | None = None,  # noqa: ARG002
    ) -> httpcore.AsyncNetworkStream:
        """Refuse: no delivery goes to a local socket."""
        raise Blocked("a delivery never goes to a local socket")


def _canonical(place: Place) -> Place:
    address = parse_numeric(place[0])
    return (place[0] if address is None else str(unmapped(address)), place[1])
