"""The console in a browser on this machine: loopback, one visitor's token, nothing but reading.

Whoever opens the printed address first gets a cookie in exchange for its token, which is then
spent; page and socket want that cookie. The socket also wants our own page as its origin, and every
request our own name as its host, so that no other site reaches us through the visitor's browser.
Terminal, fonts and downloads are textual-serve's; nothing is fetched from elsewhere.
"""

import asyncio
import hmac
import secrets
import signal
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any, Final

import msgspec
from aiohttp import WSMsgType, web
from textual_serve.server import Server, to_int

from kusanya_console.web.child import Settings
from kusanya_console.web.process import ConsoleService, bounded

HOST: Final = "127.0.0.1"
CONSOLES_MAX: Final = 4
"""So many consoles at once: each is a process, and a person has few screens."""
_MESSAGE_MAX: Final = 64 * 1024
_TOKEN_BYTES: Final = 32
_PAGE: Final = Path(__file__).with_name("page")
Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


class WebConsole(Server):
    """The server of one `--web`: its doors, its visitors, its consoles."""

    def __init__(
        self,
        settings: Settings,
        *,
        environ: Mapping[str, str],
        token: str | None = None,
        port: int = 0,
    ) -> None:
        super().__init__("kusanya console", host=HOST, port=port, templates_path=_PAGE)
        self._settings = settings
        self._environ = environ
        self._token: str | None = token or secrets.token_urlsafe(_TOKEN_BYTES)
        self._visitor: str | None = None
        self._consoles: set[ConsoleService] = set()
        self._sockets: dict[web.WebSocketResponse, asyncio.Task[Any] | None] = {}
        self._runner: web.AppRunner | None = None

    @property
    def origin(self) -> str:
        """Return the scheme, host and port that our own page has."""
        return self.public_url

    @property
    def address(self) -> str:
        """Return the address to open, with the token while it is not spent."""
        return f"{self.origin}/?token={self._token}" if self._token else self.origin

    @property
    def pids(self) -> tuple[int, ...]:
        """Return the processes of the running consoles."""
        return tuple(one.pid for one in self._consoles if one.pid is not None)

    async def start(self) -> None:
        """Listen on loopback."""
        # No access log: its lines would hold the token.
        self._runner = web.AppRunner(
            await self._make_app(), access_log=None, handle_signals=False, shutdown_timeout=1
        )
        await self._runner.setup()
        await web.TCPSite(self._runner, HOST, self.port).start()
        self.port = self._runner.addresses[0][1]
        self.public_url = f"http://{HOST}:{self.port}"

    async def stop(self) -> None:
        """Stop every console, then the server."""
        open_now = dict(self._sockets)
        await asyncio.gather(*(socket.close() for socket in open_now))
        # Each handler stops its own console; cleaning up would cancel it half-way.
        await asyncio.gather(*(task for task in open_now.values() if task), return_exceptions=True)
        if self._runner is not None:
            await self._runner.cleanup()

    async def on_startup(self, app: web.Application) -> None:
        """Print nothing: the command says where it listens."""

    async def _make_app(self) -> web.Application:
        app = await super()._make_app()
        app.middlewares.append(self._guard)
        app.on_response_prepare.append(self._protect)
        app.router.add_static("/page", _PAGE)
        return app

    # --- who gets in ---------------------------------------------------------------------------

    @property
    def _cookie(self) -> str:
        # Cookies know no ports: two consoles must not take each other's.
        return f"kusanya_console_{self.port}"

    @web.middleware
    async def _guard(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        if request.headers.getall("Host", []) != [f"{HOST}:{self.port}"]:
            return _refused("This console answers only to its own address.")
        fresh = request.path == "/" and self._spend(request.query.get("token"))
        if not fresh and not self._knows(request):
            return _refused("Open the address that kusanya printed; its token works once.")
        response = await handler(request)
        if fresh and self._visitor is not None:
            response.set_cookie(
                self._cookie, self._visitor, httponly=True, samesite="Strict", path="/"
            )
        return response

    async def _protect(self, _request: web.Request, response: web.StreamResponse) -> None:
        """Give every answer the headers that keep other sites and scripts out."""
        response.headers.update(_headers(self.port))
        name = response.headers.get("Content-Disposition", "").rpartition("filename=")[2]
        if name:
            response.headers["Content-Type"] = "application/octet-stream"
            response.headers["Content-Disposition"] = f'attachment; filename="{_plain(name)}"'

    def _spend(self, token: str | None) -> bool:
        if token is None or self._token is None or not _same(token, self._token):
            return False
        self._token = None
        self._visitor = secrets.token_urlsafe(_TOKEN_BYTES)
        return True

    def _knows(self, request: web.Request) -> bool:
        shown = request.cookies.get(self._cookie)
        return shown is not None and self._visitor is not None and _same(shown, self._visitor)

    # --- the socket ----------------------------------------------------------------------------

    async def handle_websocket(self, request: web.Request) -> web.StreamResponse:  # type: ignore[override] # a refusal is no socket
        """Run a console for the visitor until either ends."""
        if request.headers.getall("Origin", []) != [self.origin]:
            return _refused("A page of another origin asked for this console.")
        if len(self._sockets) >= CONSOLES_MAX:
            return _refused(f"{CONSOLES_MAX} consoles are open already; close one.", status=503)
        socket = web.WebSocketResponse(heartbeat=15, max_msg_size=_MESSAGE_MAX)
        self._sockets[socket] = asyncio.current_task()
        console = ConsoleService(
            self._settings, self._environ, socket=socket, downloads=self.download_manager
        )
        try:
            await socket.prepare(request)
            await console.start(
                to_int(request.query.get("width", ""), 80),
                to_int(request.query.get("height", ""), 24),
            )
            self._consoles.add(console)
            async for message in socket:
                if message.type is not WSMsgType.TEXT or not await _obey(
                    message.data, console, socket
                ):
                    break
        finally:
            await console.stop()
            self._consoles.discard(console)
            await socket.close()
            del self._sockets[socket]
        return socket


async def serve(
    settings: Settings, *, port: int, say: Callable[[str], None], environ: Mapping[str, str]
) -> None:
    """Serve until SIGINT or SIGTERM; `say` gets the address, once. Raises OSError."""
    console = WebConsole(settings, environ=environ, port=port)
    ended = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        loop.add_signal_handler(number, ended.set)
    await console.start()
    try:
        say(console.address)
        await ended.wait()
    finally:
        await console.stop()


async def _obey(data: str, console: ConsoleService, socket: web.WebSocketResponse) -> bool:
    """Do what the page's script sends; tell whether it made sense."""
    try:
        match msgspec.json.decode(data):
            case ["stdin", str(text)]:
                await console.send_bytes(text.encode("utf-8", "replace"))
            case ["resize", {"width": int(width), "height": int(height)}]:
                await console.set_terminal_size(bounded(width), bounded(height))
            case ["focus", *_]:
                await console.focus()
            case ["blur", *_]:
                await console.blur()
            case ["ping", str(said)]:
                await socket.send_json(["pong", said])
            case _:
                return False
    except (msgspec.MsgspecError, RecursionError):
        return False
    return True


def _headers(port: int) -> dict[str, str]:
    return {
        "Content-Security-Policy": (
            "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; "
            f"font-src 'self'; img-src 'self' data:; connect-src 'self' ws://{HOST}:{port}; "
            "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
        ),
        "X-Frame-Options": "DENY",
        "X-Content-Type-Options": "nosniff",
        "Referrer-Policy": "no-referrer",
        "Cross-Origin-Opener-Policy": "same-origin",
        "Cross-Origin-Resource-Policy": "same-origin",
        "Cache-Control": "no-store",
    }


def _refused(why: str, *, status: int = 403) -> web.Response:
    return web.Response(text=f"{why}\n", status=status)


def _same(shown: str, kept: str) -> bool:
    return hmac.compare_digest(shown.encode("utf-8", "replace"), kept.encode())


def _plain(name: str) -> str:
    return "".join(c if c.isascii() and (c.isalnum() or c in "-_.") else "_" for c in name)
