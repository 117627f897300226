"""The console in a browser: on this machine for one visitor, or behind a proxy for a team.

Who gets in, and as whom, says the door (`kusanya_console.web.door`). The socket also wants our own
page as its origin, so that no other site reaches us through a visitor's browser. Each visitor's
socket has a console of its own, in a process of its own. Terminal, fonts and downloads are
textual-serve's; nothing is fetched from elsewhere.
"""

import asyncio
import logging
import signal
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any, Final

import aiohttp_jinja2
import msgspec
from aiohttp import WSMsgType, web
from textual_serve.server import Server, to_int

from kusanya.errors import KusanyaError
from kusanya_console.web.child import WebSettings
from kusanya_console.web.door import Door, NotAdmitted, ProxyDoor, TokenDoor, Visitor
from kusanya_console.web.process import ConsoleService, bounded

_log: Final = logging.getLogger("kusanya.web")
HOST: Final = "127.0.0.1"
CONSOLES_MAX: Final = TokenDoor.consoles
"""So many consoles at once: each is a process, and a person has few screens."""
ROLES_EVERY_S: Final = 10.0
"""So soon a role that was taken away or given ends the consoles that were opened without it."""
_MESSAGE_MAX: Final = 64 * 1024
_PAGE: Final = Path(__file__).with_name("page")
_VISITOR: Final = web.RequestKey("visitor", Visitor)
Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


async def _pause() -> None:
    await asyncio.sleep(ROLES_EVERY_S)


class WebConsole(Server):
    """The server of one `--web`: its doors, its visitors, its consoles."""

    def __init__(
        self,
        settings: WebSettings,
        *,
        environ: Mapping[str, str],
        token: str | None = None,
        host: str = HOST,
        port: int = 0,
        door: ProxyDoor | None = None,
        pause: Callable[[], Awaitable[object]] = _pause,
    ) -> None:
        """Serve whom `door` lets in; `pause` comes before a person's role is asked for again."""
        super().__init__("kusanya console", host=host, port=port, templates_path=_PAGE)
        self._settings = settings
        self._environ = environ
        self._own_door = TokenDoor(HOST, token)
        self._door: Door = door or self._own_door
        self._pause = pause
        self._consoles: dict[ConsoleService, str] = {}
        self._sockets: dict[web.WebSocketResponse, asyncio.Task[Any] | None] = {}
        self._runner: web.AppRunner | None = None

    @property
    def origin(self) -> str:
        """Return the scheme, host and port on which it listens."""
        return self.public_url

    @property
    def address(self) -> str:
        """Return the address to open, with the token while it is not spent."""
        token = self._own_door.token if self._door is self._own_door else None
        return f"{self.origin}/?token={token}" if token else self.origin

    @property
    def pids(self) -> tuple[int, ...]:
        """Return the processes of the running consoles."""
        return tuple(one.pid for one in self._consoles if one.pid is not None)

    async def start(self) -> None:
        """Listen; raises OSError."""
        # No access log: its lines would hold the token.
        self._runner = web.AppRunner(
            await self._make_app(), access_log=None, handle_signals=False, shutdown_timeout=1
        )
        await self._runner.setup()
        await web.TCPSite(self._runner, self.host, self.port).start()
        self.port = self._own_door.port = self._runner.addresses[0][1]
        shown = f"[{self.host}]" if ":" in self.host else self.host
        self.public_url = f"http://{shown}:{self.port}"

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

    @web.middleware
    async def _guard(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        try:
            visitor = await self._door.admit(request)
        except NotAdmitted as refusal:
            _log.warning("refused", extra={"peer": request.remote, "why": str(refusal)})
            return _refused(str(refusal))
        except KusanyaError:
            return _refused("Nobody can say now what you may do here. Try again.", status=503)
        request[_VISITOR] = visitor
        response = await handler(request)
        if visitor.cookie is not None:
            name, value = visitor.cookie
            response.set_cookie(name, value, httponly=True, samesite="Strict", path="/")
        return response

    async def _protect(self, request: web.Request, response: web.StreamResponse) -> None:
        """Give every answer the headers that keep other sites and scripts out."""
        visitor = request.get(_VISITOR)
        response.headers.update(_headers(self.origin if visitor is None else visitor.origin))
        name = response.headers.get("Content-Disposition", "").rpartition("filename=")[2]
        if name:
            response.headers["Content-Type"] = "application/octet-stream"
            response.headers["Content-Disposition"] = f'attachment; filename="{_plain(name)}"'

    async def handle_index(self, request: web.Request) -> web.Response:
        """Serve the page; its socket is where the visitor's browser found us."""
        shown = {
            "application": {"name": self.title},
            "app_websocket_url": f"{_socket_of(request[_VISITOR].origin)}/ws",
        }
        return aiohttp_jinja2.render_template("app_index.html", request, shown)

    # --- the socket ----------------------------------------------------------------------------

    async def handle_websocket(self, request: web.Request) -> web.StreamResponse:  # type: ignore[override] # a refusal is no socket
        """Run a console for the visitor until either ends."""
        visitor, door = request[_VISITOR], self._door
        if request.headers.getall("Origin", []) != [visitor.origin]:
            return _refused("A page of another origin asked for this console.")
        mine = list(self._consoles.values()).count(visitor.name)
        for count, most in ((mine, door.consoles_each), (len(self._sockets), door.consoles)):
            if count >= most:
                return _refused(f"{most} consoles are open already; close one.", status=503)
        socket = web.WebSocketResponse(heartbeat=15, max_msg_size=_MESSAGE_MAX)
        settings = msgspec.structs.replace(self._settings, user=visitor.name, role=visitor.role)
        console = ConsoleService(
            settings, self._environ, socket=socket, downloads=self.download_manager
        )
        who = {"user": visitor.name, "role": visitor.role or "none", "peer": request.remote}
        async with AsyncExitStack() as leaving:
            # Whatever is refused or fails from here on, both places are free again.
            self._sockets[socket] = asyncio.current_task()
            leaving.callback(self._sockets.pop, socket)
            self._consoles[console] = visitor.name
            leaving.callback(self._consoles.pop, console)
            await socket.prepare(request)
            leaving.push_async_callback(socket.close)
            if visitor.name:
                _log.info("console opened", extra=who)
                leaving.callback(_log.info, "console closed", extra=who)
            leaving.push_async_callback(console.stop)
            role = asyncio.create_task(self._end_with_role(visitor, console))
            leaving.callback(role.cancel)
            await console.start(
                to_int(request.query.get("width", ""), 80),
                to_int(request.query.get("height", ""), 24),
            )
            async for message in socket:
                if message.type is not WSMsgType.TEXT or not await _obey(
                    message.data, console, socket
                ):
                    break
        return socket

    async def _end_with_role(self, visitor: Visitor, console: ConsoleService) -> None:
        """Close a visitor's socket, and so the console, once their role is another one.

        A question that fails in an unforeseen way closes it too.
        """
        try:
            await self._pause()
            while await self._door.still_admits(visitor):
                await self._pause()
            _log.info("role changed", extra={"user": visitor.name, "was": visitor.role or "none"})
        finally:
            await console.remote_close()


async def serve(
    settings: WebSettings,
    *,
    host: str = HOST,
    port: int,
    door: ProxyDoor | None = None,
    say: Callable[[str], None],
    environ: Mapping[str, str],
) -> None:
    """Serve until SIGINT or SIGTERM; `say` gets the address, once. Raises OSError."""
    console = WebConsole(settings, environ=environ, host=host, port=port, door=door)
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


def _headers(origin: str) -> dict[str, str]:
    return {
        "Content-Security-Policy": (
            "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; "
            f"font-src 'self'; img-src 'self' data:; connect-src 'self' {_socket_of(origin)}; "
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


def _socket_of(origin: str) -> str:
    return f"ws{origin.removeprefix('http')}"


def _plain(name: str) -> str:
    return "".join(c if c.isascii() and (c.isalnum() or c in "-_.") else "_" for c in name)
