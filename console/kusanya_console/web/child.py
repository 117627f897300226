"""A console without a terminal of its own, for a browser: `python -m kusanya_console.web.child FD`.

Its settings come in one environment variable, because a store's address may hold a password and
command lines are for all to see. It only reads. FD is a pipe that closes when the parent is gone.
"""

import os
import signal
import sys
import tempfile
import threading
from pathlib import Path
from typing import Final

import msgspec

from kusanya.wire import Mode

SETTINGS: Final = "KUSANYA_WEB_CONSOLE"
"""The variable that holds the settings."""


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """All that a console for a browser is told: no key, no token."""

    store: str
    mode: Mode
    profile: str
    clock: str
    ascii_only: bool = False

    def __repr__(self) -> str:
        # The address of a store may hold a password.
        return f"Settings(profile={self.profile!r}, mode={self.mode.value!r})"


def main() -> int:
    """Run one console until it is left; return its exit code."""
    settings = msgspec.json.decode(os.environ.pop(SETTINGS), type=Settings)
    _end_with_parent(int(sys.argv[1]))
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)  # what goes there would stand in our terminal
    from kusanya.profiles import has_bell, key_map
    from kusanya.service_clock import parse_clock
    from kusanya.store import Store
    from kusanya_console.app import ConsoleApp

    time = parse_clock(settings.clock, max_age_s=0.25)
    with (
        tempfile.TemporaryDirectory(prefix="kusanya-web-") as folder,
        Store.open(settings.store, clock=time, read_only=True) as store,
    ):
        app = ConsoleApp(
            store,
            mode=settings.mode,
            clock=time,
            profile=settings.profile,
            ascii=settings.ascii_only,
            virtual=settings.clock != "real",
            bell=has_bell(),
            folder=Path(folder),
        )
        app.set_keymap(key_map())
        app.run()
    return app.return_code or 0


def _end_with_parent(lifeline: int) -> None:
    def wait() -> None:
        while os.read(lifeline, 1):
            pass
        os.kill(os.getpid(), signal.SIGTERM)

    threading.Thread(target=wait, name="lifeline", daemon=True).start()


if __name__ == "__main__":
    sys.exit(main())
