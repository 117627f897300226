"""Who gets into a console in a browser: one visitor with a token, or people whom a proxy names.

A door admits a request and says whose it is, or raises `NotAdmitted` with words for the visitor.
"""

import asyncio
import hmac
import logging
import re
import secrets
from collections.abc import Callable
from typing import Final, Protocol

import msgspec
from aiohttp import web

from kusanya.domain.roles import Role
from kusanya.errors import ConfigurationError, StoreError
from kusanya.platform.http_limits.forwarded import check_networks, is_in

_log: Final = logging.getLogger("kusanya.web")
_TOKEN_BYTES: Final = 32
_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._@+\\-]{0,63}")
"""As logins and addresses are written; nothing that could mean more in a log or on a screen."""
_HOST: Final = re.compile(
    r"[A-Za-z0-9][A-Za-z0-9.\-]{0,252}(:[0-9]{1,5})?|\[[0-9a-fA-F:]{2,45}\](:[0-9]{1,5})?"
)


class NotAdmitted(Exception):  # noqa: N818 - control flow of the web console, never leaves it
    """Answer 403 with these words."""


class Visitor(msgspec.Struct, frozen=True, kw_only=True):
    """Who asks, and under which address their browser knows the page."""

    name: str = ""
    """Empty where people are not distinguished."""
    role: Role | None = None
    origin: str
    """Scheme, host and port."""
    cookie: tuple[str, str] | None = None
    """What the browser has to show from now on."""


class Door(Protocol):
    """Admits requests."""

    consoles: int
    """How many may be open at once."""
    consoles_each: int
    """And of them, how many of one person."""

    async def admit(self, request: web.Request) -> Visitor:
        """Return whose request it is; raises NotAdmitted, and KusanyaError where nobody can say."""
        ...

    async def still_admits(self, visitor: Visitor) -> bool:
        """Return whether a visitor may go on with a console as it was opened."""
        ...


class TokenDoor:
    """Loopback's door: the first visitor of the printed address gets a cookie for its token.

    Every request must name our own host, so that no other site reaches us through a browser.
    """

    consoles = 4
    consoles_each = 4

    def __init__(self, host: str, token: str | None) -> None:
        self._host = host
        self.port = 0
        """Ours, once it is known."""
        self.token: str | None = token or secrets.token_urlsafe(_TOKEN_BYTES)
        """None once it was spent."""
        self._visitor: str | None = None

    @property
    def origin(self) -> str:
        """Return the scheme, host and port that our own page has."""
        return f"http://{self._host}:{self.port}"

    @property
    def _cookie(self) -> str:
        # Cookies know no ports: two consoles must not take each other's.
        return f"kusanya_console_{self.port}"

    async def admit(self, request: web.Request) -> Visitor:
        """Return the one visitor; raises NotAdmitted for everybody else."""
        if request.headers.getall("Host", []) != [f"{self._host}:{self.port}"]:
            raise NotAdmitted("This console answers only to its own address.")
        # A preview or a link checker asks by HEAD: only a page that is shown spends the token.
        opens = request.method == "GET" and request.path == "/"
        fresh = opens and self._spend(request.query.get("token"))
        if not fresh and not self._knows(request):
            raise NotAdmitted("Open the address that kusanya printed; its token works once.")
        kept = (self._cookie, self._visitor) if fresh and self._visitor is not None else None
        return Visitor(origin=self.origin, cookie=kept)

    async def still_admits(self, visitor: Visitor) -> bool:
        """Tell that the one visitor stays: people are not distinguished."""
        return not visitor.name

    def _spend(self, token: str | None) -> bool:
        if token is None or self.token is None or not _same(token, self.token):
            return False
        self.token = None
        self._visitor = secrets.token_urlsafe(_TOKEN_BYTES)
        return True

    def _knows(self, request: web.Request) -> bool:
        shown = request.cookies.get(self._cookie)
        return shown is not None and self._visitor is not None and _same(shown, self._visitor)


class ProxyDoor:
    """The door behind an authenticating proxy: it names the person in a header.

    The header is believed of connections from the proxy's networks alone. Anybody else is refused,
    as is a request that names nobody, several people or no fit name: a proxy that does so lets its
    visitors say who they are. Raises ConfigurationError for a network that is none.
    """

    consoles = 32
    consoles_each = 4

    def __init__(
        self, header: str, proxies: tuple[str, ...], role_of: Callable[[str], Role | None]
    ) -> None:
        check_networks(proxies)
        self._header = header
        self._proxies = proxies
        self._role_of = role_of

    async def admit(self, request: web.Request) -> Visitor:
        """Return whom the proxy names; raises NotAdmitted, and KusanyaError as `role_of` does."""
        if not is_in(request.remote or "", self._proxies):
            raise NotAdmitted("This console is reached through its proxy alone.")
        named = request.headers.getall(self._header, [])
        if not named:
            raise NotAdmitted(f"The proxy named nobody: its header {self._header} is missing.")
        if len(named) > 1:
            raise NotAdmitted(f"The header {self._header} came {len(named)} times: it names one.")
        if _NAME.fullmatch(named[0]) is None:
            raise NotAdmitted(
                f"The header {self._header} holds no name: letters, digits and . _ @ + \\ -, "
                "at most 64."
            )
        # Only a console needs it, and a store may be asked for it.
        opens = request.path == "/ws"
        role = await asyncio.to_thread(self._role_of, named[0]) if opens else None
        return Visitor(name=named[0], role=role, origin=_origin(request))

    async def still_admits(self, visitor: Visitor) -> bool:
        """Return whether a person has the role that they came with, no less and no more.

        Where the store cannot say, they have: what they do would be written there. Where the
        configuration cannot be read, they have none.
        """
        try:
            role = await asyncio.to_thread(self._role_of, visitor.name)
        except StoreError as error:
            _log.warning("roles unknown", extra={"user": visitor.name, "why": str(error)})
            return True
        except ConfigurationError as error:
            _log.warning("roles unreadable", extra={"user": visitor.name, "why": str(error)})
            role = None
        return role is visitor.role


def _origin(request: web.Request) -> str:
    """Return the address that the browser knows, as the proxy passes it on."""
    hosts = request.headers.getall("Host", [])
    schemes = request.headers.getall("X-Forwarded-Proto", ["http"])
    if len(hosts) != 1 or _HOST.fullmatch(hosts[0]) is None or schemes not in (["http"], ["https"]):
        raise NotAdmitted("The proxy has to pass on Host and X-Forwarded-Proto, each once.")
    return f"{schemes[0]}://{hosts[0]}"


def _same(shown: str, kept: str) -> bool:
    return hmac.compare_digest(shown.encode("utf-8", "replace"), kept.encode())
