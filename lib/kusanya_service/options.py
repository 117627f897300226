"""What a service is started with."""

import re
from collections.abc import Iterable
from datetime import datetime
from pathlib import Path
from typing import Final

import msgspec

from kusanya.clock import Clock
from kusanya.domain.assumptions import KEY_PREFIX, SIGNATURE_HEADER
from kusanya_service.delivery.address_policy import SocketAddress, parse_numeric
from kusanya_service.delivery.resolver import Resolve
from kusanya_service.errors import BadOption
from kusanya_service.simulation.faults import FaultRule
from kusanya_service.simulation.networks import Mix
from kusanya_service.simulation.rules import Bounds
from kusanya_service.simulation.stored_clock import ReadUptime
from kusanya_service.simulation.tariff import DEFAULT_TARIFF, Tariff

_PORTS: Final = 65_536
# The last label is no number: 127.1 would be one to some resolvers.
_NAME: Final = re.compile(
    r"(?=.{1,253}$)(?:[A-Za-z0-9_](?:[A-Za-z0-9_-]{0,61}[A-Za-z0-9_])?\.)*"
    r"[A-Za-z_](?:[A-Za-z0-9_-]{0,61}[A-Za-z0-9_])?"
)


class Options(msgspec.Struct, frozen=True, kw_only=True):
    """A service's options; the defaults are what `kusanya service` starts."""

    data: Path
    """The data folder; created where it is missing."""
    host: str = "127.0.0.1"
    port: int = 0
    """0 takes a free one."""
    clock: str | Clock = "real"
    """real, virtual, a factor such as 60x, or a clock object."""
    seed: int | None = None
    """None keeps the data folder's seed, or draws one for a fresh folder."""
    starts_at: datetime | None = None
    """Where virtual time begins in a fresh folder; now by default."""
    mix: Mix | None = None
    tariff: Tariff = msgspec.field(default_factory=lambda: dict(DEFAULT_TARIFF))
    bounds: Bounds = Bounds()
    faults: tuple[FaultRule, ...] = ()
    """What goes wrong from the start; see faults.load_scenario for a file."""
    rate_limit: int | None = None
    """Requests a second for each API key; None for no limit."""
    allow_local: tuple[SocketAddress, ...] = ()
    """Exact hosts (numeric addresses, or names as a URL has them) and ports that test endpoints may
    have although they are local."""
    key_prefix: str = KEY_PREFIX
    signature_header: str = SIGNATURE_HEADER
    ca_file: Path | None = None
    """Certificates to trust in place of the public ones, for endpoints of one's own."""
    resolve: Resolve | None = None
    """Takes the place of the machine's resolver."""
    uptime: ReadUptime | None = None
    """Takes the place of the machine's uptime, which tells how long the service was stopped."""


def parse_places(texts: Iterable[str]) -> tuple[SocketAddress, ...]:
    """Read HOST:PORT values, an IPv6 address in brackets; raises BadOption."""
    return tuple(_parse_place(text) for text in texts)


def _parse_place(text: str) -> SocketAddress:
    host, _, port = text.rpartition(":")
    is_bracketed = host.startswith("[") and host.endswith("]")
    address = parse_numeric(host[1:-1] if is_bracketed else host)
    is_v6 = address is not None and address.version == 6  # noqa: PLR2004 - of IP
    is_name = address is None and _NAME.fullmatch(host) is not None
    if not is_name and (address is None or is_v6 is not is_bracketed):
        raise BadOption(
            f"--allow-local {text!r}: give an exact HOST:PORT such as 127.0.0.1:8099 or "
            "receiver:8099, not a range"
        )
    if not port.isascii() or not port.isdigit() or not 0 < int(port[:6]) < _PORTS:
        raise BadOption(f"--allow-local {text!r}: HOST:PORT ends in a port of 1 to 65535")
    return (host.lower() if address is None else str(address), int(port))
