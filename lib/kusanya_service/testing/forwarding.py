"""For merchants' tests: hand what the capturing endpoint received on to the merchant's own program.

An application runs on threads of its own (ASGI: with an event loop of its own), behind real HTTP on
a free loopback port, so that it is reached in the same way as a program in any other language.
"""

import asyncio
import contextlib
import http.client
import inspect
import ipaddress
import threading
from socketserver import ThreadingMixIn
from typing import Final, cast
from urllib.parse import urlsplit
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer, make_server
from wsgiref.types import WSGIApplication

import uvicorn

from kusanya.domain.limits import ACKNOWLEDGEMENT_TIME
from kusanya_service.asgi import App
from kusanya_service.errors import BadOption
from kusanya_service.loops import new_event_loop
from kusanya_service.server import listen
from kusanya_service.testing.capturing_endpoint import CapturedDelivery, Reply

_START_WITHIN_S: Final = 30.0
_OWN_HEADERS: Final = frozenset({"host", "connection", "content-length"})
"""Set anew for each connection; everything else is handed on as it arrived."""
_HOST: Final = "127.0.0.1"


class Forwarder:
    """Sends each delivery to a loopback URL and answers what was answered there.

    Raises BadOption for anything but an http URL of this machine.
    """

    def __init__(self, url: str) -> None:
        parts = urlsplit(url)
        if parts.scheme != "http" or not _is_loopback(parts.hostname or ""):
            raise BadOption("deliveries go to an http:// address of this machine, or to an app")
        self._host: Final = parts.hostname or ""
        self._port: Final = parts.port or 80
        self._path: Final = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")

    def __call__(self, delivery: CapturedDelivery) -> Reply:
        """Hand one delivery on; 502 when nothing answers in time."""
        headers = {
            name: text for name, text in delivery.headers.items() if name not in _OWN_HEADERS
        }
        connection = http.client.HTTPConnection(
            self._host, self._port, timeout=ACKNOWLEDGEMENT_TIME.total_seconds()
        )
        try:
            connection.request("POST", self._path, delivery.body, headers)
            answer = connection.getresponse()
            return Reply(status=answer.status, body=answer.read())
        except (OSError, http.client.HTTPException) as error:
            return Reply(status=502, body=type(error).__name__.encode())
        finally:
            connection.close()


class AppServer:
    """An ASGI application on a free loopback port, from construction to `close`.

    Raises RuntimeError when the application does not start.
    """

    def __init__(self, application: App) -> None:
        listener = listen(_HOST, 0)
        self.url: Final = f"http://{_HOST}:{listener.getsockname()[1]}/"
        self._ready = threading.Event()
        self._server = _Server(
            uvicorn.Config(application, interface="asgi3", log_config=None, access_log=False),
            self._ready,
        )

        def work() -> None:
            try:
                # uvicorn ends its process when an application's start fails; ours goes on.
                with (
                    contextlib.suppress(SystemExit),
                    asyncio.Runner(loop_factory=new_event_loop) as runner,
                ):
                    runner.run(self._server.serve(sockets=[listener]))
            finally:
                self._ready.set()
                listener.close()

        self._thread = threading.Thread(target=work, name="merchant-app")
        self._thread.start()
        if not self._ready.wait(_START_WITHIN_S) or not self._server.started:
            self.close()
            raise RuntimeError("the application did not start: see its own log")

    def close(self) -> None:
        """Stop the application and wait for its end."""
        self._server.should_exit = True
        self._thread.join()


class WsgiServer:
    """A WSGI application on a free loopback port, from construction to `close`."""

    def __init__(self, application: WSGIApplication) -> None:
        self._server = make_server(
            _HOST, 0, application, server_class=_ThreadingWsgiServer, handler_class=_QuietHandler
        )
        self.url: Final = f"http://{_HOST}:{self._server.server_port}/"
        self._thread = threading.Thread(
            target=self._server.serve_forever, args=(0.02,), name="merchant-app"
        )
        self._thread.start()

    def close(self) -> None:
        """Stop the application and wait for its end."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


class _ThreadingWsgiServer(ThreadingMixIn, WSGIServer):
    daemon_threads = True


class _QuietHandler(WSGIRequestHandler):
    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class's name
        """Write no access log into a test's output."""


def serve_app(application: App | WSGIApplication) -> AppServer | WsgiServer:
    """Serve an application as what it is: one whose call is a coroutine is ASGI, any other WSGI."""
    called = getattr(application, "__call__", application)  # noqa: B004 - the method, not whether
    is_asgi = any(map(inspect.iscoroutinefunction, (application, called)))
    return (
        AppServer(cast("App", application))
        if is_asgi
        else WsgiServer(cast("WSGIApplication", application))
    )


class _Server(uvicorn.Server):
    def __init__(self, config: uvicorn.Config, ready: threading.Event) -> None:
        super().__init__(config)
        self._ready = ready

    async def startup(self, sockets: object = None) -> None:
        await super().startup(sockets)  # type: ignore[arg-type]  # uvicorn's own type, as given
        self._ready.set()


def _is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
