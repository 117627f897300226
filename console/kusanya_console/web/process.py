"""One console in a process of its own, spoken to in the packets of Textual's web driver.

A packet is a letter, a length of four bytes and so many bytes: `D` for what a terminal would read
or write, `M` for a JSON object beside it, `P` for a piece of a file. The process gets the settings
it needs and nothing else of our environment, and it ends with us in whatever way we end.
"""

import asyncio
import contextlib
import json
import os
import sys
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections.abc import AsyncIterator, Mapping
from typing import Any, Final

import msgspec

from kusanya_console.web.child import SETTINGS, Settings

_GIVEN: Final = ("HOME", "LANG", "LC_ALL", "LC_CTYPE", "TZ", "TMPDIR", "KUSANYA_CONFIG", "NO_COLOR")
"""What a console reads of its surroundings: folders, language, the key map's file."""
_GIVEN_FOR_POSTGRESQL: Final = (
    "PGPASSFILE", "PGPASSWORD", "PGSERVICE", "PGSERVICEFILE", "PGSSLMODE", "PGSSLROOTCERT",
    "PGSSLCERT", "PGSSLKEY",
)  # fmt: skip
_READY: Final = b"__GANGLION__\n"
_START_S: Final = 30.0
_LEAVE_S: Final = 5.0
_PACKET_MAX: Final = 16 * 1024 * 1024
_SMALLEST, _LARGEST = 1, 1_000


def environment(
    settings: Settings, environ: Mapping[str, str], *, width: int, height: int
) -> dict[str, str]:
    """Return the whole environment of a console's process: named variables, no others."""
    names = [*_GIVEN]
    if settings.store.startswith("postgresql"):
        names += _GIVEN_FOR_POSTGRESQL
    given = {name: environ[name] for name in names if name in environ}
    return given | {
        SETTINGS: msgspec.json.encode(settings).decode(),
        "TEXTUAL_DRIVER": "textual.drivers.web_driver:WebDriver",
        "TEXTUAL_COLOR_SYSTEM": "truecolor",
        "TERM": "xterm-256color",
        "COLUMNS": str(_bounded(width)),
        "ROWS": str(_bounded(height)),
    }


class ConsoleProcess:
    """A running console; `packets` ends when it does."""

    def __init__(self, process: Process, lifeline: int) -> None:
        self._process = process
        self._lifeline = lifeline
        self._stopping: asyncio.Task[None] | None = None

    @classmethod
    async def start(
        cls, settings: Settings, environ: Mapping[str, str], *, width: int, height: int
    ) -> "ConsoleProcess":
        """Start a console of a size; no shell reads anything, and no setting stands in argv."""
        theirs, ours = os.pipe()
        try:
            process = await asyncio.create_subprocess_exec(
                sys.executable, "-m", "kusanya_console.web.child", str(theirs),
                stdin=PIPE,
                stdout=PIPE,
                stderr=DEVNULL,
                env=environment(settings, environ, width=width, height=height),
                pass_fds=(theirs,),
                # Ctrl-C in our terminal is ours to answer: consoles are stopped in order.
                start_new_session=True,
            )  # fmt: skip
        except BaseException:
            os.close(ours)
            raise
        finally:
            os.close(theirs)
        return cls(process, ours)

    @property
    def pid(self) -> int:
        """Return the process id."""
        return self._process.pid

    async def packets(self) -> AsyncIterator[tuple[bytes, bytes]]:
        """Yield letter and contents of each packet until the console ends."""
        out = self._process.stdout
        assert out is not None  # noqa: S101 - it was started with a pipe
        with contextlib.suppress(asyncio.IncompleteReadError, TimeoutError):
            async with asyncio.timeout(_START_S):
                await out.readuntil(_READY)
            while True:
                head = await out.readexactly(5)
                size = int.from_bytes(head[1:], "big")
                if size > _PACKET_MAX:
                    return
                yield head[:1], await out.readexactly(size)

    async def type(self, text: str) -> None:
        """Send what a person typed."""
        await self._send(b"D", text.encode("utf-8", "replace"))

    async def resize(self, width: int, height: int) -> None:
        """Send the terminal's new size."""
        await self.tell({"type": "resize", "width": _bounded(width), "height": _bounded(height)})

    async def tell(self, meta: dict[str, Any]) -> None:
        """Send something beside the terminal."""
        await self._send(b"M", json.dumps(meta).encode())

    async def stop(self) -> None:
        """Ask the console to leave, and make sure that it is gone; nobody reads packets then."""
        if self._stopping is None:
            self._stopping = asyncio.create_task(self._stop())
        await asyncio.shield(self._stopping)

    async def _send(self, kind: bytes, payload: bytes) -> None:
        into = self._process.stdin
        assert into is not None  # noqa: S101 - it was started with a pipe
        with contextlib.suppress(ConnectionError):  # it has ended; `packets` tells
            into.write(kind + len(payload).to_bytes(4, "big") + payload)
            await into.drain()

    async def _stop(self) -> None:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_LEAVE_S):
                await self.tell({"type": "quit"})
        os.close(self._lifeline)  # its end stops a console that does not listen
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_LEAVE_S):
                await self._drained()
        if self._process.returncode is None:
            self._process.kill()
        await self._process.wait()

    async def _drained(self) -> None:
        # Whoever waits to write its last words would never end.
        out = self._process.stdout
        assert out is not None  # noqa: S101 - it was started with a pipe
        while await out.read(65_536):
            pass
        await self._process.wait()


def _bounded(cells: int) -> int:
    return max(_SMALLEST, min(cells, _LARGEST))
