"""Who holds a connection, and who gives way when all places are taken.

A peer that has sent a whole request is answered and keeps its place. Of the others the one that
has waited longest gives way, so that many slow or idle connections cannot keep honest senders out:
their request arrives in one piece, right after they connect.
"""

from collections import Counter
from itertools import chain
from typing import Final, Generic, TypeVar

import msgspec

from kusanya.domain.limits import EVENT_BODY_MAX_BYTES
from kusanya.errors import ConfigurationError
from kusanya.platform.http_limits.forwarded import check_networks, is_in

_LOOPBACK: Final = ("127.", "::1", "::ffff:127.")
Connection = TypeVar("Connection")


class ConnectionLimits(msgspec.Struct, frozen=True, kw_only=True):
    """What one connection and all of them together may take.

    Raises ConfigurationError for a limit below one and for a network that is none.
    """

    header_bytes: int = 16 * 1024
    """Request line, headers and trailers of one request."""
    header_fields: int = 64
    header_s: float = 5.0
    """From the first byte (or the connection) until the headers are complete."""
    request_s: float = 8.0
    """Until the whole request has arrived."""
    request_bytes: int = 2 * EVENT_BODY_MAX_BYTES
    """Everything of one request on the wire, so that chunks cannot be all framing."""
    connections: int = 256
    per_peer: int = 32
    """Connections from one address. Loopback and trusted proxies are exempt: of those, requests at
    once of one address that a proxy names."""
    pipelined: int = 32
    """Requests that wait on one connection while the one before is answered."""
    trusted_proxies: tuple[str, ...] = ()
    """Networks, such as 10.0.0.0/8, whose addresses are our own reverse proxies: what they say in
    X-Forwarded-For is believed."""

    def __post_init__(self) -> None:
        if self.connections < 1 or self.per_peer < 1 or min(self.header_s, self.request_s) <= 0:
            raise ConfigurationError("a limit of connections or of their time is above zero")
        check_networks(self.trusted_proxies)

    def is_exempt(self, peer: str) -> bool:
        """Return whether the bound per address does not hold for `peer`."""
        if peer.startswith(_LOOPBACK):
            return True
        return is_in(peer, self.trusted_proxies)


class Places(Generic[Connection]):
    """The places of one server, on its event loop."""

    def __init__(self, limits: ConnectionLimits) -> None:
        self._limits = limits
        self._peer_of: dict[Connection, str] = {}
        self._peers: Counter[str] = Counter()
        self._origins: Counter[str] = Counter()
        # Who waits, in the order since when: those that never sent a whole request, and the others.
        self._new: dict[Connection, None] = {}
        self._idle: dict[Connection, None] = {}

    def enter(self, connection: Connection, peer: str) -> Connection | None:
        """Give a newcomer a place and return who gives way for it: nobody, another, or itself.

        Itself only where everybody else is being answered.
        """
        limits = self._limits
        self._peer_of[connection] = peer
        self._peers[peer] += 1
        crowded = self._peers[peer] > limits.per_peer and not limits.is_exempt(peer)
        if not crowded and len(self._peer_of) <= limits.connections:
            self._new[connection] = None
            return None
        gone = self._longest_waiting(peer if crowded else None)
        if gone is None:
            self.leave(connection)
            return connection
        self.leave(gone)
        self._new[connection] = None
        return gone

    def answer(self, connection: Connection) -> None:
        """Note that a connection has sent a whole request."""
        self._new.pop(connection, None)
        self._idle.pop(connection, None)

    def wait(self, connection: Connection) -> None:
        """Note that a connection has its answers and has sent no other whole request."""
        if connection in self._peer_of and connection not in self._new:
            self._idle[connection] = None

    def leave(self, connection: Connection) -> None:
        """Give a place back; nothing for a connection that has none."""
        peer = self._peer_of.pop(connection, None)
        if peer is None:
            return
        self.answer(connection)
        self._peers[peer] -= 1
        if not self._peers[peer]:
            del self._peers[peer]

    def begin(self, origin: str) -> bool:
        """Count a request that a proxy hands on; tell whether its origin may have one more."""
        if self._origins[origin] >= self._limits.per_peer and not self._limits.is_exempt(origin):
            return False
        self._origins[origin] += 1
        return True

    def end(self, origin: str) -> None:
        """Count a request that was begun as ended."""
        self._origins[origin] -= 1
        if not self._origins[origin]:
            del self._origins[origin]

    def _longest_waiting(self, only: str | None) -> Connection | None:
        # First those that have never sent a whole request: a kept connection has proven itself.
        waiting = chain(self._new, self._idle)
        return next((c for c in waiting if only in {None, self._peer_of[c]}), None)
