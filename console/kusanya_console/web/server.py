"""The console in a browser on this machine: loopback, one visitor's token, nothing but reading.

Whoever opens the printed address first gets a cookie in exchange for its token, which is then
spent; page and socket want that cookie. The socket also wants our own page as its origin, and every
request our own name as its host, so that no other site reaches us through the visitor's browser.
Terminal and its fonts come from textual-serve; nothing is fetched from elsewhere.
"""

import asyncio
import contextlib
import hmac
import json
import secrets
import signal
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any, Final

import msgspec
from aiohttp import WSMsgType, web

from kusanya_console.web.child import Settings
from kusanya_console.web.process import ConsoleProcess

HOST: Final = "127.0.0.1"
CONSOLES_MAX: Final = 4
"""So many consoles at once: each is a process, and a person has few screens."""
_MESSAGE_MAX: Final = 64 * 1024
_DIGITS_MAX: Final = 6
_CHUNK: Final = 64 * 1024
_CHUNK_WAIT_S: Final = 10.0
_TOKEN_BYTES: Final = 32
Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]

_PAGE: Final = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<title>kusanya console</title>
<link rel="stylesheet" href="/static/css/xterm.css">
<link rel="stylesheet" href="/page.css">
<script src="/page.js"></script>
<script src="/static/js/textual.js"></script>
</head>
<body>
<div id="terminal" class="textual-terminal" data-session-websocket-url="SOCKET"
 data-font-size="14"></div>
<div class="ended"><p>The console has ended. <a href="/">Open it again</a></p></div>
</body>
</html>
"""
# The spent token leaves the address bar, and with it the history.
_SCRIPT: Final = 'history.replaceState(null, "", "/");\n'
_STYLE: Final = """@font-face { font-family: "Roboto Mono";
 src: url("/static/fonts/RobotoMono-VariableFont_wght.ttf"); }
html, body { margin: 0; height: 100%; background: #101418; overflow: hidden; }
#terminal { width: 100vw; height: 100vh; }
.ended { display: none; position: fixed; inset: 0; align-items: center; justify-content: center;
 background: #101418; color: #d8dee4; font-family: "Roboto Mono", monospace; }
.ended a { color: #7fb4e6; }
body.-closed .ended { display: flex; }
"""


class WebConsole:
    """The server of one `--web`: its doors, its visitors, its consoles."""

    def __init__(
        self,
        settings: Settings,
        *,
        environ: Mapping[str, str],
        token: str | None = None,
        port: int = 0,
    ) -> None:
        self._settings = settings
        self._environ = environ
        self._token: str | None = token or secrets.token_urlsafe(_TOKEN_BYTES)
        self._wanted_port = port
        self._visitor: str | None = None
        self._consoles: dict[str, ConsoleProcess] = {}
        self._files: dict[str, tuple[ConsoleProcess, str, asyncio.Queue[bytes]]] = {}
        self._sockets: dict[web.WebSocketResponse, asyncio.Task[Any] | None] = {}
        self._runner: web.AppRunner | None = None
        self.port = port

    @property
    def origin(self) -> str:
        """Return the scheme, host and port that our own page has."""
        return f"http://{HOST}:{self.port}"

    @property
    def address(self) -> str:
        """Return the address to open, with the token while it is not spent."""
        return f"{self.origin}/?token={self._token}" if self._token else self.origin

    @property
    def pids(self) -> tuple[int, ...]:
        """Return the processes of the running consoles."""
        return tuple(console.pid for console in self._consoles.values())

    async def start(self) -> None:
        """Listen on loopback."""
        app = web.Application(middlewares=[self._guard], client_max_size=_MESSAGE_MAX)
        app.add_routes(
            [
                web.get("/", self._page),
                web.get("/page.js", _text(_SCRIPT, "text/javascript")),
                web.get("/page.css", _text(_STYLE, "text/css")),
                web.get("/ws", self._socket),
                web.get("/download/{key}", self._download),
                web.static("/static", _static_folder()),
            ]
        )
        # No access log: its lines would hold the token.
        self._runner = web.AppRunner(app, access_log=None, handle_signals=False, shutdown_timeout=1)
        await self._runner.setup()
        site = web.TCPSite(self._runner, HOST, self._wanted_port)
        await site.start()
        self.port = self._runner.addresses[0][1]

    async def stop(self) -> None:
        """Stop every console, then the server."""
        open_now = dict(self._sockets)
        await asyncio.gather(*(socket.close() for socket in open_now))
        # Each handler stops its own console; cleaning up would cancel it half-way.
        await asyncio.gather(*(task for task in open_now.values() if task), return_exceptions=True)
        if self._runner is not None:
            await self._runner.cleanup()

    # --- the doors -----------------------------------------------------------------------------

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
        if not response.prepared:
            response.headers.update(_headers(self.port))
            if fresh and self._visitor is not None:
                response.set_cookie(
                    self._cookie, self._visitor, httponly=True, samesite="Strict", path="/"
                )
        return response

    def _spend(self, token: str | None) -> bool:
        if token is None or self._token is None or not _same(token, self._token):
            return False
        self._token = None
        self._visitor = secrets.token_urlsafe(_TOKEN_BYTES)
        return True

    def _knows(self, request: web.Request) -> bool:
        shown = request.cookies.get(self._cookie)
        return shown is not None and self._visitor is not None and _same(shown, self._visitor)

    # --- page and socket -----------------------------------------------------------------------

    async def _page(self, _request: web.Request) -> web.Response:
        page = _PAGE.replace("SOCKET", f"ws://{HOST}:{self.port}/ws")
        return web.Response(text=page, content_type="text/html")

    async def _socket(self, request: web.Request) -> web.StreamResponse:
        if request.headers.getall("Origin", []) != [self.origin]:
            return _refused("A page of another origin asked for this console.")
        if len(self._sockets) >= CONSOLES_MAX:
            return _refused(f"{CONSOLES_MAX} consoles are open already; close one.", status=503)
        name = secrets.token_hex(8)
        socket = web.WebSocketResponse(heartbeat=15, max_msg_size=_MESSAGE_MAX)
        self._sockets[socket] = asyncio.current_task()
        try:
            await socket.prepare(request)
            await self._hold(name, socket, request)
        finally:
            del self._sockets[socket]
        return socket

    async def _hold(self, name: str, socket: web.WebSocketResponse, request: web.Request) -> None:
        console = await ConsoleProcess.start(
            self._settings,
            self._environ,
            width=_number(request.query.get("width"), 80),
            height=_number(request.query.get("height"), 24),
        )
        self._consoles[name] = console
        showing = asyncio.create_task(self._show(console, socket))
        try:
            async for message in socket:
                if message.type is not WSMsgType.TEXT or not await _obey(
                    message.data, console, socket
                ):
                    break
        finally:
            showing.cancel()
            await asyncio.wait([showing])
            await console.stop()
            del self._consoles[name]
            self._files = {k: of for k, of in self._files.items() if of[0] is not console}
            await socket.close()

    async def _show(self, console: ConsoleProcess, socket: web.WebSocketResponse) -> None:
        with contextlib.suppress(ConnectionError):  # the visitor has gone; the socket tells
            async for kind, payload in console.packets():
                if kind == b"D":
                    await socket.send_bytes(payload)
                elif kind == b"M":
                    await self._beside(json.loads(payload), console, socket)
                elif kind == b"P":
                    self._piece(payload)
        await socket.close()

    # --- files ---------------------------------------------------------------------------------

    async def _beside(
        self, meta: dict[str, Any], console: ConsoleProcess, socket: web.WebSocketResponse
    ) -> None:
        if meta.get("type") == "deliver_file_start":
            key = str(meta["key"])
            self._files[key] = (console, Path(str(meta["path"])).name, asyncio.Queue(maxsize=4))
            await socket.send_str(json.dumps(["deliver_file_start", key]))

    def _piece(self, packed: bytes) -> None:
        from textual_serve._binary_encode import load

        match load(packed):
            case ("deliver_chunk", str(key), bytes(chunk)) if key in self._files:
                with contextlib.suppress(asyncio.QueueFull):  # more than was asked for
                    self._files[key][2].put_nowait(chunk)

    async def _download(self, request: web.Request) -> web.StreamResponse:
        key = request.match_info["key"]
        if key not in self._files:
            return _refused("This file was fetched already, or its console has ended.", status=404)
        console, name, pieces = self._files[key]
        response = web.StreamResponse(headers=_headers(self.port))
        response.content_type = "application/octet-stream"
        response.headers["Content-Disposition"] = f'attachment; filename="{_plain(name)}"'
        await response.prepare(request)
        try:
            while True:
                await console.tell({"type": "deliver_chunk_request", "key": key, "size": _CHUNK})
                async with asyncio.timeout(_CHUNK_WAIT_S):
                    piece = await pieces.get()
                if not piece:
                    break
                await response.write(piece)
        finally:
            self._files.pop(key, None)
        await response.write_eof()
        return response


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


async def _obey(data: str, console: ConsoleProcess, socket: web.WebSocketResponse) -> bool:
    """Do what the page's script sends; tell whether it made sense."""
    try:
        match msgspec.json.decode(data):
            case ["stdin", str(text)]:
                await console.type(text)
            case ["resize", {"width": int(width), "height": int(height)}]:
                await console.resize(width, height)
            case ["focus" | "blur" as word, *_]:
                await console.tell({"type": word})
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


def _text(body: str, content_type: str) -> Handler:
    async def answer(_request: web.Request) -> web.StreamResponse:
        return web.Response(text=body, content_type=content_type)

    return answer


def _static_folder() -> Path:
    import textual_serve

    return Path(str(textual_serve.__file__)).parent / "static"


def _same(shown: str, kept: str) -> bool:
    return hmac.compare_digest(shown.encode("utf-8", "replace"), kept.encode())


def _number(text: str | None, otherwise: int) -> int:
    wanted = text or ""
    # A number of thousands of digits cannot even be read.
    fits = wanted.isascii() and wanted.isdigit() and len(wanted) <= _DIGITS_MAX
    return int(wanted) if fits else otherwise


def _plain(name: str) -> str:
    return "".join(c if c.isascii() and (c.isalnum() or c in "-_.") else "_" for c in name)
