"""Run the console in this terminal, and give the terminal back whatever ends it."""

import asyncio
import signal
from typing import TYPE_CHECKING

from kusanya_console.cli.output import stop

if TYPE_CHECKING:
    from kusanya_console.app import ConsoleApp


def run_app(app: "ConsoleApp") -> None:
    """Run `app` until it is left; a signal to end leaves it in order, with the code 128 + signal.

    Raises Refused without words when the application did not end well.
    """
    asyncio.run(_run(app))
    if app.return_code:
        stop(app.return_code)


async def _run(app: "ConsoleApp") -> None:
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
        # The application is asked to leave, so that it restores the terminal itself.
        loop.add_signal_handler(number, app.exit, None, 128 + number)
    await app.run_async()
