"""Run the receiver on uvicorn until it is told to stop.

The socket is bound before anything else starts, so that a taken port is one clear error. Stopping
closes the listener first, then answers what is in flight: acknowledged if its commit comes in time,
refused if not.
"""

import contextlib
import errno
import signal
import socket
import threading
from collections.abc import Callable, Iterator
from typing import Final

import msgspec
import uvicorn

from kusanya.assumptions import SIGNATURE_HEADER
from kusanya.clock import Clock
from kusanya.errors import ConfigurationError
from kusanya.receiver.admission import Limits
from kusanya.receiver.asgi import Application, Receiver, app
from kusanya.receiver.endpoints import AnySecrets
from kusanya.receiver.handler import Follower, Journal
from kusanya.receiver.places import ConnectionLimits
from kusanya.receiver.protocol import protocol
from kusanya.store.records import Arrival, Receipt
from kusanya.wire import Mode

_GRACE_S: Final = 10
"""Longer than any delivery may take, so that only a stuck one is cut."""


class PortTaken(ConfigurationError):  # noqa: N818 - reads as the condition it states
    """Another program listens on that address and port."""


class AddressRefused(ConfigurationError):  # noqa: N818 - reads as the condition it states
    """This machine does not let us listen on that address and port."""


class Serving(msgspec.Struct, frozen=True):
    """A receiver that is accepting connections."""

    host: str
    port: int
    """The real port, also when 0 was asked for."""
    stop: Callable[[], None]
    """Begin a graceful stop; callable from any thread."""

    @property
    def url(self) -> str:
        """Return the address to deliver to."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"http://{host}:{self.port}/"


_NO_LIMITS_GIVEN: Final = Limits()
_NO_CONNECTION_LIMITS_GIVEN: Final = ConnectionLimits()


def run(
    store: Journal,
    secrets: AnySecrets,
    *,
    host: str = "127.0.0.1",
    port: int = 0,
    mode: Mode | str | None = None,
    clock: Clock | None = None,
    signature_header: str = SIGNATURE_HEADER,
    limits: Limits = _NO_LIMITS_GIVEN,
    connections: ConnectionLimits = _NO_CONNECTION_LIMITS_GIVEN,
    on_ready: Callable[[Serving], None] | None = None,
    on_receipt: Callable[[Arrival, Receipt], None] | None = None,
    resolve_intents: bool = True,
    double_check: Follower | None = None,
    metrics: bool = True,
) -> None:
    """Receive deliveries until SIGINT, SIGTERM or `Serving.stop`, then return.

    Blocks. `on_ready` is called once, when connections are accepted. The store stays open. What
    works in the background, see `app`, begins at once and has ended on return.
    `connections` bounds how many there may be, of one address and in all, and their time.
    Raises ConfigurationError for unusable secrets, PortTaken and AddressRefused.
    """
    # Half of them may be sending slowly: that is no reason to refuse the others.
    in_flight = max(limits.in_flight, 2 * connections.connections)
    application = app(
        store,
        secrets,
        mode=mode,
        clock=clock,
        signature_header=signature_header,
        limits=msgspec.structs.replace(limits, in_flight=in_flight),
        on_receipt=on_receipt,
        resolve_intents=resolve_intents,
        double_check=double_check,
        metrics=metrics,
    )
    serve(application, host=host, port=port, connections=connections, on_ready=on_ready)


def serve(
    application: Application,
    *,
    host: str = "127.0.0.1",
    port: int = 0,
    connections: ConnectionLimits = _NO_CONNECTION_LIMITS_GIVEN,
    on_ready: Callable[[Serving], None] | None = None,
) -> None:
    """Run any ASGI application under the receiver's limits; see `run`."""
    listener = _listen(host, port)
    config = uvicorn.Config(
        application,
        loop="auto",
        http=protocol(connections),
        ws="none",
        lifespan="off",
        interface="asgi3",
        proxy_headers=False,
        server_header=False,
        log_config=None,
        log_level="error",
        access_log=False,
        timeout_graceful_shutdown=_GRACE_S,
    )
    server = _Server(config, host, on_ready)
    try:
        if isinstance(application, Receiver):
            application.start()
        server.run(sockets=[listener])
    finally:
        listener.close()
        if isinstance(application, Receiver):
            application.close()


def _listen(host: str, port: int) -> socket.socket:
    if not 0 <= port <= 65_535:  # noqa: PLR2004 - what a port is; the resolver would wrap it round
        raise AddressRefused(f"a port is 0 to 65535, not {port}")
    try:
        family, kind, proto, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        listener = socket.socket(family, kind, proto)
    except OSError as error:
        raise AddressRefused(f"cannot listen on {host}: {error}") from error
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind(address)
        # Listening here and not later is what finds a taken port before anything has started.
        listener.listen(2048)
    except OSError as error:
        listener.close()
        if isinstance(error, PermissionError):
            raise AddressRefused(
                f"this user may not listen on {host} port {port}; ports below 1024 need rights"
            ) from error
        if error.errno == errno.EADDRINUSE:
            raise PortTaken(
                f"port {port} on {host} is taken by another program; choose another with --port"
            ) from error
        raise AddressRefused(f"cannot listen on {host} port {port}: {error.strerror}") from error
    listener.setblocking(False)
    return listener


class _Server(uvicorn.Server):
    def __init__(
        self, config: uvicorn.Config, host: str, on_ready: Callable[[Serving], None] | None
    ) -> None:
        super().__init__(config)
        self._host = host
        self._on_ready = on_ready

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets=sockets)
        if self._on_ready is not None and sockets:
            self._on_ready(Serving(self._host, sockets[0].getsockname()[1], self._stop))

    def _stop(self) -> None:
        self.should_exit = True

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        # Uvicorn raises the signal again once it has stopped; for us a graceful stop is the end.
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        signals = (signal.SIGINT, signal.SIGTERM)
        before = {number: signal.signal(number, self.handle_exit) for number in signals}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)
