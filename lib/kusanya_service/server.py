"""The service as a process: a socket, uvicorn around the application, and an orderly end."""

import asyncio
import socket
from collections.abc import Callable
from typing import Final

import msgspec
import uvicorn

from kusanya.platform.http_limits import AddressRefused, Server
from kusanya.platform.http_limits import PortTaken as Taken
from kusanya.platform.http_limits import listen as bind
from kusanya_service.errors import PortTaken
from kusanya_service.http.auth import Credentials
from kusanya_service.http.protocol import service_protocol
from kusanya_service.loops import new_event_loop
from kusanya_service.options import Options
from kusanya_service.service import Service

__all__ = ["Options", "RunningService", "ServerInfo", "Service", "run", "serve"]

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


async def serve(options: Options, on_ready: OnReady | None = None) -> None:
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
        info = ServerInfo(base_url=_base_url(options.host, host, port), access=credentials)

        def ready() -> None:
            if on_ready is not None:
                on_ready(RunningService(info, service, server.stop))

        server = Server(_config(service), ready)
        service.when_crashed(server.stop)
        await server.serve(sockets=[listener])
    finally:
        await service.stop()


def _config(service: Service) -> uvicorn.Config:
    return uvicorn.Config(
        service.app,
        http=service_protocol(),
        ws="none",
        interface="asgi3",
        proxy_headers=False,
        lifespan="off",
        log_config=None,
        access_log=False,
        server_header=False,
        date_header=False,  # the service's own time stands there, see `with_date`
        timeout_keep_alive=_IDLE_S,
        timeout_graceful_shutdown=_GRACE_S,
    )


def listen(host: str, port: int) -> socket.socket:
    """Return a socket that accepts connections; port 0 takes a free one. Raises PortTaken."""
    try:
        return bind(host, port)
    except (Taken, AddressRefused) as error:
        raise PortTaken(str(error)) from None


def _base_url(wanted: str, host: str, port: int) -> str:
    shown = "127.0.0.1" if wanted in {"0.0.0.0", ""} else host  # noqa: S104 - recognised, not bound
    return f"http://[{shown}]:{port}" if ":" in shown else f"http://{shown}:{port}"
