"""A network for blocking sockets whose every operation ends by one deadline.

httpx and httpcore bound each read by itself, so that an answer dripping one byte at a time keeps a
call alive for ever. Here each operation gets only the time that is left; names are looked up in a
thread of their own, because a blocking look-up cannot be interrupted.
"""

import select
import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterable
from typing import Any, Final

import httpcore

_OPTION = tuple[int, int, int] | tuple[int, int, bytes | bytearray] | tuple[int, int, None, int]
_Addresses = list[tuple[socket.AddressFamily, Any]]
_CHUNK: Final = 64 * 1024


Resolve = Callable[..., list[Any]]
"""What `socket.getaddrinfo` does."""


class CallDeadline(threading.local):
    """The call that the present thread is in: when it ends and whether a byte has left."""

    until: float = 0.0
    bytes_sent: bool = False

    def start(self, within_s: float) -> None:
        """Begin a call that ends `within_s` seconds from now."""
        self.until = time.monotonic() + within_s
        self.bytes_sent = False

    def remaining_s(self, timed_out: type[Exception]) -> float:
        """Return the seconds that are left; raise `timed_out` where there are none."""
        left_s = self.until - time.monotonic()
        if left_s <= 0:
            raise timed_out("the deadline has passed")
        return left_s


class DeadlineBackend(httpcore.NetworkBackend):
    """Connects within the deadline of the thread's `deadline`."""

    def __init__(self, deadline: CallDeadline, *, resolve: Resolve = socket.getaddrinfo) -> None:
        self._deadline = deadline
        self._resolve = resolve

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,  # noqa: ARG002 - the deadline stands for it
        local_address: str | None = None,  # noqa: ARG002 - never given
        socket_options: Iterable[_OPTION] | None = None,  # noqa: ARG002 - never given
    ) -> httpcore.NetworkStream:
        """Connect to the first address of `host` that answers, sharing the time among them."""
        addresses = self._look_up(host, port)
        failure: Exception = httpcore.ConnectError("the name has no address")
        for tried, (family, address) in enumerate(addresses):
            share_s = self._deadline.remaining_s(httpcore.ConnectTimeout) / (len(addresses) - tried)
            try:
                connected = socket.socket(family, socket.SOCK_STREAM)
                try:
                    connected.settimeout(share_s)
                    connected.connect(address)
                    connected.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                except BaseException:
                    connected.close()
                    raise
            except TimeoutError:
                failure = httpcore.ConnectTimeout("no connection in time")
            except OSError as error:
                failure = httpcore.ConnectError(_sentence(error))
            else:
                return DeadlineStream(connected, self._deadline)
        raise failure

    def _look_up(self, host: str, port: int) -> _Addresses:
        """Return the addresses of `host`; a look-up that hangs is left behind in its thread."""
        try:
            return self._resolved(host, port, flags=socket.AI_NUMERICHOST)
        except socket.gaierror:
            pass
        addresses: list[_Addresses | OSError] = []
        thread = threading.Thread(target=self._collect, args=(host, port, addresses), daemon=True)
        thread.start()
        thread.join(self._deadline.remaining_s(httpcore.ConnectTimeout))
        if not addresses:
            raise httpcore.ConnectTimeout("the name was not resolved in time")
        if isinstance(addresses[0], OSError):
            raise httpcore.ConnectError("the name has no address") from addresses[0]
        return addresses[0]

    def _collect(self, host: str, port: int, addresses: list[_Addresses | OSError]) -> None:
        try:
            addresses.append(self._resolved(host, port))
        except OSError as error:
            addresses.append(error)

    def _resolved(self, host: str, port: int, *, flags: int = 0) -> _Addresses:
        answers = self._resolve(host, port, type=socket.SOCK_STREAM, flags=flags)
        return [(family, address) for family, _, _, _, address in answers]


class DeadlineStream(httpcore.NetworkStream):
    """A connection whose operations end by the deadline of the thread's `deadline`."""

    def __init__(self, connected: socket.socket, deadline: CallDeadline) -> None:
        self._socket = connected
        self._deadline = deadline

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:  # noqa: ARG002
        """Read what has come, at most `max_bytes`."""
        self._socket.settimeout(self._deadline.remaining_s(httpcore.ReadTimeout))
        try:
            return self._socket.recv(max_bytes)
        except TimeoutError as error:
            raise httpcore.ReadTimeout("no answer in time") from error
        except OSError as error:
            raise httpcore.ReadError(_sentence(error)) from error

    def write(self, buffer: bytes, timeout: float | None = None) -> None:  # noqa: ARG002
        """Write all of `buffer`."""
        rest = memoryview(buffer)
        while rest:
            self._socket.settimeout(self._deadline.remaining_s(httpcore.WriteTimeout))
            self._deadline.bytes_sent = True
            try:
                rest = rest[self._socket.send(rest[:_CHUNK]) :]
            except TimeoutError as error:
                raise httpcore.WriteTimeout("the request was not taken in time") from error
            except OSError as error:
                raise httpcore.WriteError(_sentence(error)) from error

    def close(self) -> None:
        """Close the connection."""
        self._socket.close()

    def start_tls(
        self,
        ssl_context: ssl.SSLContext,
        server_hostname: str | None = None,
        timeout: float | None = None,  # noqa: ARG002 - the deadline stands for it
    ) -> httpcore.NetworkStream:
        """Shake hands; CPython bounds the whole handshake by the socket's timeout."""
        self._socket.settimeout(self._deadline.remaining_s(httpcore.ConnectTimeout))
        try:
            secured = ssl_context.wrap_socket(self._socket, server_hostname=server_hostname)
        except TimeoutError as error:
            self.close()
            raise httpcore.ConnectTimeout("no TLS handshake in time") from error
        except OSError as error:
            self.close()
            raise httpcore.ConnectError(_sentence(error)) from error
        return DeadlineStream(secured, self._deadline)

    def get_extra_info(self, info: str) -> Any:
        """Return what the pool asks about a connection."""
        if info == "is_readable":
            # An idle connection with something to read was closed by the other side.
            return _has_input(self._socket)
        return self._socket if info == "socket" else None


def _has_input(connected: socket.socket) -> bool:
    if connected.fileno() < 0:
        return True
    if not hasattr(select, "poll"):  # Windows, whose select() has no limit on numbers
        return bool(select.select([connected], [], [], 0)[0])
    poll = select.poll()
    poll.register(connected, select.POLLIN)
    return bool(poll.poll(0))


def _sentence(error: OSError) -> str:
    # The text of an OSError can hold an address and a path; its name is enough.
    return error.strerror or type(error).__name__
