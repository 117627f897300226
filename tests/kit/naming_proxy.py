"""A reverse proxy on loopback that knows its users: it names one in a header, and passes on."""

import asyncio
import contextlib
import queue
import threading
from collections.abc import Iterator


class NamingProxy:
    """Puts headers into every request's head; the last of a connection is the first."""

    def __init__(self, port: int, headers: dict[str, str]) -> None:
        self._port = port
        self._added = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
        self._names = tuple(f"{name.lower()}:" for name in headers)
        self.port = 0

    async def start(self) -> asyncio.Server:
        """Listen."""
        server = await asyncio.start_server(self._pass_on, "127.0.0.1", 0)
        self.port = server.sockets[0].getsockname()[1]
        return server

    async def _pass_on(self, visitor: asyncio.StreamReader, back: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError, asyncio.IncompleteReadError):
            head = (await visitor.readuntil(b"\r\n\r\n")).decode("latin-1")
            lines = [
                line
                for line in head.removesuffix("\r\n\r\n").split("\r\n")
                # What a visitor says of himself is not passed on.
                if not line.lower().startswith(self._names)
            ]
            if "upgrade: websocket" not in head.lower():
                lines = [one for one in lines if not one.lower().startswith("connection:")]
                lines.append("Connection: close")
            reader, writer = await asyncio.open_connection("127.0.0.1", self._port)
            try:
                writer.write(("\r\n".join(lines) + f"\r\n{self._added}\r\n").encode("latin-1"))
                await asyncio.gather(_pump(visitor, writer), _pump(reader, back))
            finally:
                writer.close()
        back.close()


async def _pump(source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
    with contextlib.suppress(OSError):
        while data := await source.read(65_536):
            sink.write(data)
            await sink.drain()
    sink.close()


@contextlib.contextmanager
def naming_proxy(port: int, **headers: str) -> Iterator[int]:
    """Run a proxy in front of `port` on a thread of its own; yield its port.

    `X_User="asha"` is the header X-User.
    """
    proxy = NamingProxy(port, {name.replace("_", "-"): value for name, value in headers.items()})
    started: queue.SimpleQueue[tuple[asyncio.AbstractEventLoop, asyncio.Event]]
    started = queue.SimpleQueue()

    async def run() -> None:
        ended = asyncio.Event()
        async with await proxy.start():
            started.put((asyncio.get_running_loop(), ended))
            await ended.wait()

    thread = threading.Thread(target=lambda: asyncio.run(run()), name="naming proxy", daemon=True)
    thread.start()
    loop, ended = started.get(timeout=30)
    try:
        yield proxy.port
    finally:
        loop.call_soon_threadsafe(ended.set)
        thread.join(30)
