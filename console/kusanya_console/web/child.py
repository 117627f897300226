"""A console without a terminal of its own, for a browser: `python -m kusanya_console.web.child FD`.

Its settings come in one environment variable, because a store's address may hold a password and
command lines are for all to see. It only reads, unless a proxy named somebody with a role that may
do more: then it acts in their name. FD is a pipe that closes when the parent is gone.
"""

import os
import signal
import sys
import tempfile
import threading
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import msgspec

from kusanya.domain.roles import Role
from kusanya.privacy.secret_url import SecretUrl
from kusanya.wire import Mode

if TYPE_CHECKING:
    from kusanya.clock import Clock
    from kusanya.store import Store

SETTINGS: Final = "KUSANYA_WEB_CONSOLE"
"""The variable that holds the settings."""


class WebSettings(msgspec.Struct, frozen=True, kw_only=True):
    """All that a console for a browser gets: no key, no token."""

    user: str = ""
    """Whom a proxy named; empty where people are not distinguished."""
    role: Role | None = None

    store: str
    mode: Mode
    profile: str
    clock: str
    ascii_only: bool = False

    def __repr__(self) -> str:
        # The address of a store may hold a password.
        return f"WebSettings(profile={self.profile!r}, mode={self.mode.value!r})"


def main() -> int:
    """Run one console until it is left; return its exit code."""
    settings = msgspec.json.decode(os.environ.pop(SETTINGS), type=WebSettings)
    _end_with_parent(int(sys.argv[1]))
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)  # what goes there would stand in our terminal
    from kusanya.profiles import has_bell, key_map
    from kusanya.store import Store
    from kusanya_console.actions.context import AppContext
    from kusanya_console.actions.results import NO_ROLE
    from kusanya_console.application.app import ConsoleApp
    from kusanya_console.sandbox.service_clock import parse_clock

    time = parse_clock(settings.clock, max_age_s=0.25)
    asks = settings.role is not None and settings.role.includes(Role.ASK)
    with ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="kusanya-web-"))
        store = stack.enter_context(
            Store.open(
                settings.store,
                clock=time,
                create=False,
                read_only=not asks,
                acting_as=settings.user,
            )
        )
        context = AppContext(
            store=store,
            mode=settings.mode,
            clock=time,
            profile=f"{settings.user}@{settings.profile}" if settings.user else settings.profile,
            folder=Path(folder),
            **(_of_role(settings, settings.role, store, time, stack) if settings.role else {}),
        )
        if settings.user:
            context.read_only_reason = NO_ROLE
        app = ConsoleApp(
            context,
            ascii=settings.ascii_only,
            virtual=settings.clock != "real",
            bell=has_bell(),
        )
        app.set_keymap(key_map())
        app.run()
    return app.return_code or 0


def _of_role(
    settings: WebSettings, role: Role, store: "Store", clock: "Clock", stack: ExitStack
) -> dict[str, Any]:
    """Return what asks and acts in the person's name, as far as the role goes."""
    from kusanya.profiles import load
    from kusanya_console.actions.factory import actions_for, client_for, queries_for

    found: dict[str, Any] = {}
    profile = msgspec.structs.replace(
        load(settings.profile), store=SecretUrl(settings.store), mode=settings.mode
    )
    client = client_for(profile, clock, stack) if role.includes(Role.ASK) else None
    if client is not None:
        found["queries"] = queries_for(store, client, clock)
    if role.includes(Role.ACT):
        found["actions"] = actions_for(profile, store, clock, client, stack, role=role)
    return found


def _end_with_parent(lifeline: int) -> None:
    def wait() -> None:
        while os.read(lifeline, 1):
            pass
        os.kill(os.getpid(), signal.SIGTERM)

    threading.Thread(target=wait, name="lifeline", daemon=True).start()


if __name__ == "__main__":
    sys.exit(main())
