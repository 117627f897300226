"""The service as a process: a socket, uvicorn around the application, and an orderly end."""

import asyncio
import contextlib
import errno
import signal
import socket
from collections.abc import Callable, Generator
from typing import Final

import msgspec
import uvicorn

from kusanya_service.errors import PortTaken
from kusanya_service.http.auth import Credentials
from kusanya_service.http.protocol import BoundedProtocol
from kusanya_service.loops import new_event_loop
from kusanya_service.options import Options
from kusanya_service.service import Service

__all__ = ["Options", "RunningService", "ServerInfo", "Service", "run", "serve"]

_BACKLOG: Final = 1_024
_GRACE_S: Final = 5
_IDLE_S: Final = 60
"""Longer than clients keep an idle connection: closing first would lose a POST on its way."""


class ServerInfo(msgspec.Struct, frozen=True, kw_only=True):
    """Where a started service listens, and its credentials; its repr hides them."""

    base_url: str
    access: Credentials

    @property
    def dashboard_url(self) -> str:
        """Return where the dashboard is."""
        return f"{self.base_url}/dashboard"

    def reveal(self) -> dict[str, str]:
        """Return the object that `--json` prints, credentials included."""
        return {
            "base_url": self.base_url,
            "dashboard_url": self.dashboard_url,
            "dashboard_token": self.access.dashboard_token.reveal(),
            "test_key": self.access.test_key.reveal(),
            "live_key": self.access.live_key.reveal(),
        }


OnReady = Callable[["RunningService"], None]


class RunningService(msgspec.Struct, frozen=True):
    """A service that listens."""

    info: ServerInfo
    service: Service
    stop: Callable[[], None]
    """Asks it to end; safe from any thread."""


def run(options: Options, on_ready: OnReady | None = None) -> None:
    """Run a service until SIGINT or SIGTERM, then end in order.

    `on_ready` is called once it listens. Raises PortTaken, DataFolderUnusable, DataTooNew and the
    other errors of errors.py, before anything listens.
    """
    with asyncio.Runner(loop_factory=new_event_loop) as runner:
        runner.run(serve(options, on_ready))


async def serve(options: Options, on_ready: OnReady | None = None, *, signals: bool = True) -> None:
    """Run a service on the running loop until it is asked to end; see `run`."""
    listener = listen(options.host, options.port)
    try:
        host, port = listener.getsockname()[:2]
        service = Service(options)
        credentials = await service.start(own=(host, port))
    except BaseException:
        listener.close()
        raise
    try:
        server = _Server(_config(service))
        loop = asyncio.get_running_loop()
        info = ServerInfo(base_url=_base_url(options.host, host, port), access=credentials)

        def stop() -> None:
            loop.call_soon_threadsafe(server.end)

        running = RunningService(info, service, stop)
        service.when_crashed(server.end)
        server.on_ready = lambda: on_ready(running) if on_ready is not None else None
        with _signals(loop, server) if signals else contextlib.nullcontext():
            await server.serve(sockets=[listener])
    finally:
        await service.stop()


def _config(service: Service) -> uvicorn.Config:
    return uvicorn.Config(
        service.app,
        http=BoundedProtocol,
        ws="none",
        interface="asgi3",
        proxy_headers=False,
        lifespan="off",
        log_config=None,
        access_log=False,
        server_header=False,
        timeout_keep_alive=_IDLE_S,
        timeout_graceful_shutdown=_GRACE_S,
    )


class _Server(uvicorn.Server):
    """uvicorn's server, told to end by us: by itself it would raise the signal again."""

    on_ready: Callable[[], None] = staticmethod(lambda: None)

    @contextlib.contextmanager
    def capture_signals(self) -> Generator[None, None, None]:
        """Leave the signals alone."""
        yield

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Listen, then say so."""
        await super().startup(sockets)
        self.on_ready()

    def end(self) -> None:
        """Stop in order; asked twice, at once."""
        self.force_exit = self.should_exit
        self.should_exit = True


@contextlib.contextmanager
def _signals(loop: asyncio.AbstractEventLoop, server: _Server) -> Generator[None, None, None]:
    chosen = (signal.SIGINT, signal.SIGTERM)
    try:
        for number in chosen:
            loop.add_signal_handler(number, server.end)
    except NotImplementedError:
        # The loops of Windows know no signal handlers of their own.
        for number in chosen:
            signal.signal(number, lambda *_: loop.call_soon_threadsafe(server.end))
        yield
        return
    try:
        yield
    finally:
        for number in chosen:
            loop.remove_signal_handler(number)


def listen(host: str, port: int) -> socket.socket:
    """Return a socket that accepts connections; port 0 takes a free one. Raises PortTaken."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((host, port))
        listener.listen(_BACKLOG)
    except (OSError, OverflowError) as error:
        listener.close()
        raise PortTaken(_why_not(error, host, port)) from None
    listener.setblocking(False)
    return listener


def _why_not(error: Exception, host: str, port: int) -> str:
    place = f"{host}:{port}"
    if isinstance(error, OSError) and error.errno == errno.EADDRINUSE:
        return f"another program listens on {place}: choose another port"
    if isinstance(error, OSError) and error.errno == errno.EACCES:
        return f"this user may not listen on {place}: choose a port above 1023"
    return f"cannot listen on {place}"


def _base_url(wanted: str, host: str, port: int) -> str:
    shown = "127.0.0.1" if wanted in {"0.0.0.0", ""} else host  # noqa: S104 - recognised, not bound
    return f"http://[{shown}]:{port}" if ":" in shown else f"http://{shown}:{port}"
