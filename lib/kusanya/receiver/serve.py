"""Run the receiver on uvicorn until it is asked to stop.

The socket is bound before anything else starts, so that a taken port is one clear error. Asked to
stop, it is not ready any more and goes on for the time of the drain; then it closes the listener
and answers what is in flight: acknowledged if its commit comes in time, refused if not.
"""

import logging
from collections.abc import Callable
from functools import partial
from typing import Final, TypeAlias

import msgspec
import uvicorn

from kusanya.errors import ConfigurationError
from kusanya.platform.http_limits import BoundedProtocol, ConnectionLimits, Server, bounded, listen
from kusanya.receiver.admission import Limits
from kusanya.receiver.asgi import Receiver
from kusanya.receiver.endpoints import Endpoints
from kusanya.receiver.status_pages import Application
from kusanya.receiver.waiting import WaitingReceiver

_log: Final = logging.getLogger("kusanya.receiver")
_GRACE_S: Final = 10
"""Longer than any delivery may take, so that only a stuck one is cut."""


class RunningReceiver(msgspec.Struct, frozen=True):
    """A receiver that is accepting connections."""

    host: str
    port: int
    """The real port, also when 0 was asked for."""
    stop: Callable[[], None]
    """Begin a graceful stop; again, do not wait for the drain; callable from any thread."""
    hang_up: Callable[[], None] = lambda: None
    """Do what a SIGHUP does; callable from any thread."""

    @property
    def url(self) -> str:
        """Return the address to deliver to."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"http://{host}:{self.port}/"


class _Stateless:
    """An application that has nothing to start, to end or to verify by."""

    def start(self) -> None:
        pass

    def close(self) -> None:
        pass

    def drain(self) -> None:
        pass

    def use(self, _endpoints: Endpoints) -> None:
        pass


_Served: TypeAlias = Receiver | WaitingReceiver | _Stateless
_NO_CONNECTION_LIMITS_GIVEN: Final = ConnectionLimits()


def serve(
    application: Application,
    *,
    host: str = "127.0.0.1",
    port: int = 0,
    connections: ConnectionLimits = _NO_CONNECTION_LIMITS_GIVEN,
    drain_s: float = 0.0,
    reread: Callable[[], Endpoints] | None = None,
    on_ready: Callable[[RunningReceiver], None] | None = None,
) -> None:
    """Serve an ASGI application until SIGINT, SIGTERM or `RunningReceiver.stop`, then return.

    Blocks. `on_ready` is called once, when connections are accepted. The store stays open. What
    works in the background of a receiver, see `app`, begins at once and has ended on return.
    `connections` bounds how many there may be, of one address and in all, and their time. Asked to
    stop, it is not ready for `drain_s` seconds before it takes no more connections. At each SIGHUP
    `reread` is asked for the endpoints; where it raises ConfigurationError the old ones stay.
    Raises PortTaken, AddressRefused, and what opening the store ended with, where the application
    is a `WaitingReceiver`.
    """
    listener = listen(host, port)
    config = uvicorn.Config(
        application,
        loop="auto",
        http=bounded(BoundedProtocol, connections),
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

    def ready() -> None:
        if on_ready is not None:
            on_ready(RunningReceiver(host, listener.getsockname()[1], server.stop, server.hang_up))

    def drain() -> None:
        _log.info("about to end", extra={"drain_s": drain_s})
        ours.drain()

    def stop_now() -> None:
        for _ in range(2):  # the second time without the drain
            server.stop()

    ours: _Served = (
        application if isinstance(application, Receiver | WaitingReceiver) else _Stateless()
    )
    hang_up = None if reread is None else partial(_reread, ours, reread)
    server = Server(config, ready, on_stop=drain, drain_s=drain_s, on_hangup=hang_up)
    if isinstance(application, WaitingReceiver):
        application.on_end = stop_now
    try:
        ours.start()
        server.run(sockets=[listener])
    finally:
        listener.close()
        ours.close()
    if isinstance(application, WaitingReceiver) and application.failure is not None:
        raise application.failure


def limits_of(connections: ConnectionLimits) -> Limits:
    """Return the limits of a receiver with so many connections.

    Half of them may be sending slowly: that is no reason to refuse the others.
    """
    return Limits(in_flight=max(Limits().in_flight, 2 * connections.connections))


def _reread(application: _Served, current_endpoints: Callable[[], Endpoints]) -> None:
    # Deliveries under way were verified by what held when they came.
    try:
        application.use(current_endpoints())
    except ConfigurationError as error:
        _log.error("the secrets stay as they were", extra={"why": str(error)})
    else:
        _log.info("the secrets were read again")
