"""Run the console in this terminal, and give the terminal back whatever ends it."""

import asyncio
import gc
import os
import select
import signal
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from kusanya.errors import KusanyaError
from kusanya.profiles import data_folder, interface_language, key_map, theme_name
from kusanya.text import safe
from kusanya_console.output import USAGE, Refused, stop
from kusanya_console.ui import language

if TYPE_CHECKING:
    from kusanya_console.application.app import ConsoleApp

ARRANGEMENTS: Final = "console-lists.json"
"""The file in the data folder in which the console keeps how its lists are arranged."""
_CHECK_EVERY_S: Final = 1.0
_STARTED_AFTER_S: Final = 2.0


def draws_in_ascii(*, asked: bool) -> bool:
    """Return whether to draw with ASCII alone: where it is asked for, or nothing else can be shown.

    Raises Refused for a terminal that cannot move its cursor.
    """
    if os.environ.get("TERM", "") == "dumb":
        raise Refused(
            "this terminal cannot show the console (TERM is dumb): kusanya talk says the same in "
            "lines; find, show and health print them",
            code=USAGE,
        )
    encoding = (getattr(sys.__stderr__, "encoding", None) or "ascii").replace("-", "").lower()
    return asked or encoding != "utf8"


def apply_settings(app: "ConsoleApp") -> None:
    """Give an application a person's keys, colours, language and columns.

    Raises ConfigurationError for what is wrong in config.toml.
    """
    app.set_keymap(key_map())
    app.use_theme(theme_name())
    language.use(interface_language())
    app.use_arrangements(data_folder() / ARRANGEMENTS)


def run_app(app: "ConsoleApp", *, check: Callable[[], None] | None = None) -> None:
    """Run `app` until it is left; a signal to end leaves it in order, with the code 128 + signal.

    `check` is called now and then; what it raises as a KusanyaError is shown on the screen.
    Raises Refused without words when the application did not end well.
    """
    asyncio.run(_run(app, check))
    if app.return_code:
        stop(app.return_code)


async def _run(app: "ConsoleApp", check: Callable[[], None] | None) -> None:
    loop = asyncio.get_running_loop()
    for name in ("SIGTERM", "SIGHUP", "SIGINT"):
        # The application is asked to leave, so that it restores the terminal itself. Windows has
        # no SIGHUP, and its event loops take no handlers: there Ctrl-C stays a key.
        if sys.platform != "win32":
            number = getattr(signal, name)
            loop.add_signal_handler(number, app.exit, None, 128 + number)
    # Nothing of a start is garbage: it is not searched then, and never again afterwards, so that
    # later searches are short and a key never waits for one.
    gc.disable()
    loop.call_later(_STARTED_AFTER_S, _collect_from_now_on)
    beside = [] if check is None else [asyncio.create_task(look_after(app, check))]
    if sys.platform != "win32" and sys.__stdin__ is not None and sys.__stdin__.isatty():
        beside.append(asyncio.create_task(leave_with_terminal(app, sys.__stdin__.fileno())))
    try:
        await app.run_async()
    finally:
        for task in beside:
            task.cancel()


async def leave_with_terminal(
    app: "ConsoleApp", descriptor: int, *, every_s: float = _CHECK_EVERY_S
) -> None:
    """Leave the console once its terminal is gone, as a hang-up would: not every way sends one.

    Textual reads from a terminal that is gone again and again, with all of a processor.
    """
    terminal = select.poll()
    terminal.register(descriptor, 0)  # a hang-up is reported without being asked for
    gone = False
    while not gone:
        await asyncio.sleep(every_s)
        gone = any(event & select.POLLHUP for _, event in terminal.poll(0))
    app.exit(None, 128 + signal.SIGHUP)


def _collect_from_now_on() -> None:
    gc.freeze()
    gc.enable()


async def look_after(
    app: "ConsoleApp", check: Callable[[], None], *, every_s: float = _CHECK_EVERY_S
) -> None:
    """Tell each complaint of `check` once, for as long as the console runs."""
    complaint = ""
    while True:
        await asyncio.sleep(every_s)
        try:
            check()
        except KusanyaError as error:
            said = safe(str(error), 400)
            if said != complaint:  # once each; what is shown goes on from the store
                app.call_later(app.show_notice, said)
            complaint = said
