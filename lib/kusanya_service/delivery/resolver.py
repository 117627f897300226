"""Host names to addresses, in a bounded pool of our own.

`getaddrinfo` runs in a thread that nobody can cancel, and asyncio's own pool has a handful: a few
dead name servers would stop every other use of it. One look-up per name is under way at a time.
"""

import asyncio
import socket
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Final

Resolve = Callable[[str, int], Awaitable[list[str]]]
"""Takes a host and a port and returns numeric addresses; raises OSError."""

_THREADS: Final = 32


class Resolver:
    """The machine's own resolver behind a bounded pool."""

    def __init__(self) -> None:
        self._pool = ThreadPoolExecutor(_THREADS, thread_name_prefix="resolver")
        self._under_way: dict[tuple[str, int], asyncio.Future[list[str]]] = {}

    async def __call__(self, host: str, port: int) -> list[str]:
        """Return the numeric addresses of a host; raises OSError when there are none."""
        name = (host, port)
        found = self._under_way.get(name)
        if found is None:
            loop = asyncio.get_running_loop()
            found = loop.run_in_executor(self._pool, _look_up, host, port)
            self._under_way[name] = found
            found.add_done_callback(lambda done: self._forget(name, done))
        return await asyncio.shield(found)

    def _forget(self, name: tuple[str, int], done: "asyncio.Future[list[str]]") -> None:
        self._under_way.pop(name, None)
        if not done.cancelled():
            done.exception()  # seen, also when its last waiter has run out of time

    def close(self) -> None:
        """Release the threads; a look-up under way ends by itself."""
        self._pool.shutdown(wait=False, cancel_futures=True)


def _look_up(host: str, port: int) -> list[str]:
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(address[4][0]) for address in found))
