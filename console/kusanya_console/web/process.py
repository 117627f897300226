"""One console in a process of its own, run as textual-serve runs one but with far less in it.

It gets the settings that it needs and nothing else of our environment; no shell reads anything, and
no setting stands on its command line. It ends with us in whatever way we end.
"""

import asyncio
import contextlib
import os
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import Mapping
from typing import Final

import msgspec
from aiohttp import web
from textual_serve.app_service import AppService
from textual_serve.download_manager import DownloadManager

from kusanya.domain.roles import Role
from kusanya_console.web.child import SETTINGS, WebSettings

_GIVEN: Final = ("HOME", "LANG", "LC_ALL", "LC_CTYPE", "TZ", "TMPDIR", "KUSANYA_CONFIG", "NO_COLOR")
"""What a console reads of its surroundings: folders, language, the key map's file."""
_GIVEN_FOR_POSTGRESQL: Final = (
    "PGPASSFILE", "PGPASSWORD", "PGSERVICE", "PGSERVICEFILE", "PGSSLMODE", "PGSSLROOTCERT",
    "PGSSLCERT", "PGSSLKEY",
)  # fmt: skip
_GIVEN_TO_ASK: Final = (
    "KUSANYA_API_KEY", "KUSANYA_API_KEY_FILE", "KUSANYA_BASE_URL", "CREDENTIALS_DIRECTORY"
)  # fmt: skip
_GIVEN_TO_ACT: Final = (
    "KUSANYA_DASHBOARD_URL", "KUSANYA_DASHBOARD_TOKEN", "KUSANYA_DASHBOARD_TOKEN_FILE"
)  # fmt: skip
"""Besides, for the console of a person who may ask the service, and who may act."""
_LEAVE_S: Final = 5.0
_SMALLEST, _LARGEST = 1, 1_000


def environment(
    settings: WebSettings, environ: Mapping[str, str], *, width: int, height: int
) -> dict[str, str]:
    """Return the whole environment of a console's process: named variables, no others."""
    names = [*_GIVEN]
    if settings.store.startswith("postgresql"):
        names += _GIVEN_FOR_POSTGRESQL
    for needed, more in ((Role.ASK, _GIVEN_TO_ASK), (Role.ACT, _GIVEN_TO_ACT)):
        if settings.role is not None and settings.role.includes(needed):
            names += more
    given = {name: environ[name] for name in names if name in environ}
    return given | {
        SETTINGS: msgspec.json.encode(settings).decode(),
        "TEXTUAL_DRIVER": "textual.drivers.web_driver:WebDriver",
        "TEXTUAL_COLOR_SYSTEM": "truecolor",
        "TERM": "xterm-256color",
        "COLUMNS": str(bounded(width)),
        "ROWS": str(bounded(height)),
    }


class ConsoleService(AppService):
    """A console and the visitor's socket; the socket is closed when the console ends."""

    def __init__(
        self,
        settings: WebSettings,
        environ: Mapping[str, str],
        *,
        socket: web.WebSocketResponse,
        downloads: DownloadManager,
    ) -> None:
        async def close() -> None:
            await socket.close()

        super().__init__(
            "",
            write_bytes=socket.send_bytes,
            write_str=socket.send_str,
            close=close,
            download_manager=downloads,
        )
        self._settings, self._environ = settings, environ
        self._lifeline = -1

    @property
    def pid(self) -> int | None:
        """Return the process id of a console that was started."""
        return None if self._process is None else self._process.pid

    async def _open_app_process(self, width: int = 80, height: int = 24) -> Process:
        # The base class would start a shell, with all of our environment.
        theirs, self._lifeline = os.pipe()
        try:
            process = await asyncio.create_subprocess_exec(
                sys.executable, "-m", "kusanya_console.web.child", str(theirs),
                stdin=PIPE,
                stdout=PIPE,
                stderr=PIPE,
                env=environment(self._settings, self._environ, width=width, height=height),
                pass_fds=(theirs,),
                # Ctrl-C in our terminal is ours to answer: consoles are stopped in order.
                start_new_session=True,
            )  # fmt: skip
        except BaseException:
            os.close(self._lifeline)
            raise
        finally:
            os.close(theirs)
        self._process, self._stdin = process, process.stdin
        return process

    async def run(self) -> None:
        """Show the console until it ends, then close the visitor's socket."""
        try:
            await super().run()
        finally:
            await self.remote_close()

    async def stop(self) -> None:
        """Ask the console to leave, and make sure that it is gone."""
        process = self._process
        if process is None:
            return
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_LEAVE_S):
                await super().stop()
        os.close(self._lifeline)  # its end stops a console that does not listen
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_LEAVE_S):
                await process.wait()
        if process.returncode is None:
            process.kill()
        await process.wait()


def bounded(cells: int) -> int:
    """Return a width or height that a terminal can have."""
    return max(_SMALLEST, min(cells, _LARGEST))
