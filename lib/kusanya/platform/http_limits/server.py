"""A listening socket and uvicorn's server, which starts and ends in order."""

import asyncio
import contextlib
import errno
import signal
import socket
import sys
import threading
from collections.abc import Callable, Iterator

import uvicorn

from kusanya.errors import ConfigurationError


class PortTaken(ConfigurationError):  # noqa: N818 - reads as the condition it states
    """Another program listens on that address and port."""


class AddressRefused(ConfigurationError):  # noqa: N818 - reads as the condition it states
    """This machine does not let us listen on that address and port."""


def listen(host: str, port: int) -> socket.socket:
    """Return a socket that accepts connections; port 0 takes a free one.

    Listening before anything else has started makes a taken port one clear error. Raises PortTaken
    and AddressRefused.
    """
    if not 0 <= port <= 65_535:  # noqa: PLR2004 - what a port is; the resolver would wrap it round
        raise AddressRefused(f"a port is 0 to 65535, not {port}")
    try:
        family, kind, proto, _, address = socket.getaddrinfo(
            host or None, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        listener = socket.socket(family, kind, proto)
    except UnicodeError:
        raise AddressRefused(f"cannot listen on {host[:80]!r}: no host has such a name") from None
    except OSError as error:
        raise AddressRefused(f"cannot listen on {host}: {error}") from error
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind(address)
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


class Server(uvicorn.Server):
    """uvicorn's server, ended by us; `on_ready` is called once it accepts connections.

    `on_stop` is called, on the event loop, when it is first asked to stop; it goes on accepting
    connections for `drain_s` seconds afterwards. So is `on_hangup` for each SIGHUP; without it a
    SIGHUP does what it did before.
    """

    def __init__(
        self,
        config: uvicorn.Config,
        on_ready: Callable[[], None],
        *,
        on_stop: Callable[[], None] = lambda: None,
        drain_s: float = 0.0,
        on_hangup: Callable[[], None] | None = None,
    ) -> None:
        super().__init__(config)
        self._on_ready = on_ready
        self._on_stop = on_stop
        self._drain_s = drain_s
        self._on_hangup = on_hangup
        self._loop: asyncio.AbstractEventLoop | None = None
        self._asked = 0

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Listen, then say so."""
        self._loop = asyncio.get_running_loop()
        await super().startup(sockets=sockets)
        self._on_ready()
        if self._asked:
            self._loop.call_soon(self._drain)

    def stop(self) -> None:
        """Stop in order; asked twice, without the drain, and then at once.

        Callable from any thread and from a signal's handler.
        """
        self._asked += 1
        if self._asked > 1 or not self._drain_s:
            self.force_exit = self.should_exit
            self.should_exit = True
        if self._asked == 1 and self._loop is not None:
            with contextlib.suppress(RuntimeError):  # it has ended already, and its loop with it
                self._loop.call_soon_threadsafe(self._drain)

    def hang_up(self) -> None:
        """Call `on_hangup` on the event loop; callable from any thread."""
        if self._on_hangup is not None and self._loop is not None:
            self._loop.call_soon_threadsafe(self._on_hangup)

    def _drain(self) -> None:
        self._on_stop()
        if self._drain_s and self._loop is not None:
            self._loop.call_later(self._drain_s, self._end)

    def _end(self) -> None:
        self.should_exit = True

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Stop at SIGINT and SIGTERM, and act at SIGHUP, on the main thread alone."""
        # Uvicorn raises the signal again once it has stopped; for us a graceful stop is the end.
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        signals = (signal.SIGINT, signal.SIGTERM)
        before = {number: signal.signal(number, lambda *_: self.stop()) for number in signals}
        if self._on_hangup is not None and sys.platform != "win32":
            before[signal.SIGHUP] = signal.signal(signal.SIGHUP, lambda *_: self.hang_up())
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)
