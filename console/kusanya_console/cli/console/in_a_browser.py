"""`kusanya console --web`: the console in a browser, on this machine or behind a team's proxy."""

import re
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Final

import msgspec

from kusanya.errors import ConfigurationError
from kusanya_console.output import USAGE, Refused, say

if TYPE_CHECKING:
    from kusanya.domain.roles import Role
    from kusanya.profiles import Profile
    from kusanya.store import Store
    from kusanya_console.web.door import ProxyDoor

_PORT_MAX: Final = 65_535
_LISTEN: Final = re.compile(r"(?P<host>[^:\[\]]+|\[[0-9a-fA-F:]+\]):(?P<port>[0-9]{1,5})")
_HEADER: Final = re.compile(r"[A-Za-z][A-Za-z0-9-]{0,63}")
_TAKEN: Final = frozenset(
    {"host", "origin", "cookie", "connection", "upgrade", "x-forwarded-proto"}
)
"""Headers that say something else already."""


class WebPlace(msgspec.Struct, frozen=True, kw_only=True):
    """Where `--web` listens, and whose word it takes for who is there."""

    host: str
    port: int
    header: str = ""
    """In which a proxy names the user; empty for one browser on this machine."""
    proxies: tuple[str, ...] = ()


def web_place(
    port: int, listen: str | None, header: str | None, proxies: Sequence[str] | None
) -> WebPlace:
    """Return where to listen; raises Refused for options that do not go together."""
    if not 0 <= port <= _PORT_MAX:
        raise Refused(f"--port is 0 to {_PORT_MAX}; 0 takes a free one", code=USAGE)
    if listen is None and not header and not proxies:
        return WebPlace(host="127.0.0.1", port=port)
    if listen is None or not header or not proxies:
        raise Refused(
            "a console for several people needs --listen HOST:PORT, --trust-header X-User and "
            "--trusted-proxy CIDR: without a proxy that knows its users anybody could be anybody",
            code=USAGE,
        )
    found = _LISTEN.fullmatch(listen)
    if found is None or port or int(found["port"]) > _PORT_MAX:
        raise Refused("--listen is HOST:PORT, as 127.0.0.1:8600, and takes no --port", code=USAGE)
    if _HEADER.fullmatch(header) is None or header.lower() in _TAKEN:
        raise Refused("--trust-header is the name of a header of its own, as X-User", code=USAGE)
    host = found["host"].strip("[]")
    return WebPlace(host=host, port=int(found["port"]), header=header, proxies=tuple(proxies))


def in_a_browser(
    profile: "Profile", *, clock: str, place: WebPlace, ascii_only: bool, allow_writes: bool
) -> None:
    """Serve the console to browsers until Ctrl-C; raises Refused."""
    import asyncio
    import os

    from kusanya.clock import SystemClock
    from kusanya.store import Store
    from kusanya_console.sandbox.service_clock import parse_clock

    if allow_writes:
        more = ": here roles say who may do more" if place.header else ""
        raise Refused(f"--web only looks: leave out --allow-writes{more}", code=USAGE)
    try:
        from kusanya_console.web.server import serve
    except ImportError:
        raise Refused("--web needs more packages: pip install 'kusanya[web]'") from None
    from kusanya_console.web.child import WebSettings

    parse_clock(clock, max_age_s=0.25)  # tells now what a browser could not
    settings = WebSettings(
        store=profile.store.reveal(),
        mode=profile.mode,
        profile=profile.name,
        clock=clock,
        ascii_only=ascii_only,
    )

    with Store.open(profile.store, clock=SystemClock(), read_only=True, create=False) as opened:
        door = door_of(place, profile, opened)
        try:
            asyncio.run(
                serve(
                    settings,
                    host=place.host,
                    port=place.port,
                    door=door,
                    say=partial(_announce, place),
                    environ=os.environ,
                )
            )
        except OSError as error:
            raise Refused(f"cannot listen on port {place.port}: {error.strerror}") from error


def _announce(place: WebPlace, address: str) -> None:
    if place.header:
        say(f"The console, for people whom a proxy names in {place.header} (Ctrl-C ends it):")
    else:
        say("The console, read-only, for one browser on this machine (Ctrl-C ends it):")
    say(f"  {address}")


def _configured_role(profile: str, user: str) -> "Role | None":
    """Return the role that config.toml gives a person now; raises ConfigurationError."""
    from kusanya.profiles import load

    return load(profile).roles.get(user)


def door_of(place: WebPlace, profile: "Profile", store: "Store") -> "ProxyDoor | None":
    """Return the door behind a proxy, or None for one browser here; raises Refused."""
    from kusanya_console.web.door import ProxyDoor

    if not place.header:
        return None
    role_of: Callable[[str], Role | None] = partial(_configured_role, profile.name)
    if store.roles.are_kept:
        if profile.roles:
            raise Refused(
                f"this store keeps roles itself, see kusanya store roles: remove the table "
                f"[profiles.{profile.name}.roles]",
                code=USAGE,
            )
        role_of = store.roles.of
    try:
        return ProxyDoor(place.header, place.proxies, role_of)
    except ConfigurationError as error:
        raise Refused(f"--trusted-proxy: {error}", code=USAGE) from error
